/** Functions of the PostgreSQL ledger that do many operations as one transaction, version 1. `$s` is the schema, quoted. */
export const GROUPED_V1 = `
-- Many claims, steps and settles as one transaction, each by the plain statement that does it or does nothing: a text with
-- '1' for what was done and '0' for what was not. They come in order of call and round, which is the order of all locks.
CREATE FUNCTION $s.parley_claims(p_calls text[], p_rounds integer[], p_answers text[], p_owners text[],
  p_leases double precision[], p_stays double precision[]) RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
  done text := '';
BEGIN
  FOR i IN 1..cardinality(p_calls) LOOP
    INSERT INTO $s.parley_rounds (call, round, answers, owner, lease_until, expires_at)
      VALUES (p_calls[i], p_rounds[i], p_answers[i], p_owners[i],
        now() + p_leases[i] * interval '1 millisecond', now() + p_stays[i] * interval '1 millisecond')
      ON CONFLICT DO NOTHING;
    done := done || FOUND::integer;
  END LOOP;
  RETURN done;
END $body$;

CREATE FUNCTION $s.parley_steps(p_calls text[], p_rounds integer[], p_owners text[], p_leases double precision[],
  p_entries bytea[]) RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
  done text := '';
BEGIN
  FOR i IN 1..cardinality(p_calls) LOOP
    UPDATE $s.parley_rounds r SET steps = array_append(r.steps, p_entries[i]),
      lease_until = now() + p_leases[i] * interval '1 millisecond'
      WHERE r.call = p_calls[i] AND r.round = p_rounds[i] AND r.owner = p_owners[i] AND r.outcome IS NULL
        AND r.more_steps = 0 AND (r.steps IS NULL OR pg_column_size(r.steps) < 1000)
        AND NOT EXISTS (SELECT FROM $s.parley_rounds o
          WHERE o.call = p_calls[i] AND o.expires_at < now() + p_leases[i] * interval '1 millisecond');
    done := done || FOUND::integer;
  END LOOP;
  RETURN done;
END $body$;

CREATE FUNCTION $s.parley_settles(p_calls text[], p_rounds integer[], p_owners text[], p_keeps double precision[],
  p_outcomes bytea[], p_journals bytea[]) RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
  done text := '';
BEGIN
  FOR i IN 1..cardinality(p_calls) LOOP
    UPDATE $s.parley_rounds r SET outcome = p_outcomes[i], journal = p_journals[i]
      WHERE r.call = p_calls[i] AND r.round = p_rounds[i] AND r.owner = p_owners[i] AND r.outcome IS NULL
        AND NOT EXISTS (SELECT FROM $s.parley_rounds o
          WHERE o.call = p_calls[i] AND o.expires_at < now() + p_keeps[i] * interval '1 millisecond');
    done := done || FOUND::integer;
  END LOOP;
  RETURN done;
END $body$;
`;
