/** Tables and functions of the PostgreSQL ledger, version 1. `$s` is the schema, quoted. */
export const V1 = `
-- Each round is remembered until its own expires_at. What settles or prolongs a round sees to it that all rounds of its
-- call stay long enough. The room in a page is for the settled row: it then needs no new entry in any index.
CREATE TABLE $s.parley_rounds (
  call text COLLATE "C" NOT NULL,
  round integer NOT NULL,
  answers text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  lease_until timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  attempt integer NOT NULL DEFAULT 1,
  steps bytea[],
  more_steps integer NOT NULL DEFAULT 0,
  outcome bytea,
  journal bytea,
  PRIMARY KEY (call, round)
) WITH (fillfactor = 70);
CREATE INDEX parley_rounds_expiry ON $s.parley_rounds (expires_at);
-- Steps that are large, or come after many: the row would be written anew with all of them for each.
CREATE TABLE $s.parley_more_steps (
  call text COLLATE "C" NOT NULL,
  round integer NOT NULL,
  step integer NOT NULL,
  entry bytea NOT NULL,
  PRIMARY KEY (call, round, step)
);
-- What is stored is sealed, and sealed bytes do not compress.
ALTER TABLE $s.parley_rounds ALTER steps SET STORAGE EXTERNAL, ALTER outcome SET STORAGE EXTERNAL,
  ALTER journal SET STORAGE EXTERNAL;
ALTER TABLE $s.parley_more_steps ALTER entry SET STORAGE EXTERNAL;

-- A round that is known already. Rows: the answer first ('won' with the attempt, 'running' with the ms left, 'settled'
-- with the outcome, 'other'), then 'step' and 'journal' in order. Bytes come as base64, which no setting or type parser
-- of a client changes.
CREATE FUNCTION $s.parley_claim(p_call text, p_round integer, p_answers text, p_owner text,
  p_lease double precision, p_keep double precision, p_journal boolean)
  RETURNS TABLE (kind text, number double precision, bytes text) LANGUAGE plpgsql AS $body$
#variable_conflict use_column
DECLARE
  lease interval := p_lease * interval '1 millisecond';
  keep interval := greatest(p_lease, p_keep) * interval '1 millisecond';
  moment timestamptz;
  known record;
  is_new boolean := false;
  next_attempt integer := 1;
BEGIN
  <<again>>
  LOOP
    -- First without a lock: whoever waits for a running round asks often and must not write. Then again, locked.
    FOR locked IN 0..1 LOOP
      IF locked = 0 THEN
        SELECT * INTO known FROM $s.parley_rounds r WHERE r.call = p_call AND r.round = p_round;
      ELSE
        SELECT * INTO known FROM $s.parley_rounds r WHERE r.call = p_call AND r.round = p_round FOR UPDATE;
      END IF;
      IF NOT FOUND THEN
        INSERT INTO $s.parley_rounds (call, round, answers, owner, lease_until, expires_at)
          VALUES (p_call, p_round, p_answers, p_owner, clock_timestamp() + lease, clock_timestamp() + keep * 1.25)
          ON CONFLICT DO NOTHING;
        is_new := FOUND;
        EXIT again WHEN is_new;
        CONTINUE again;
      END IF;
      moment := clock_timestamp();
      IF known.expires_at > moment THEN
        IF known.answers <> p_answers THEN
          kind := 'other';
          RETURN NEXT;
          RETURN;
        ELSIF known.outcome IS NOT NULL THEN
          kind := 'settled';
          bytes := encode(known.outcome, 'base64');
          RETURN NEXT;
          RETURN;
        ELSIF known.owner <> p_owner AND known.lease_until > moment THEN
          kind := 'running';
          number := extract(epoch FROM known.lease_until - moment) * 1000;
          RETURN NEXT;
          RETURN;
        END IF;
      END IF;
    END LOOP;

    IF known.expires_at <= moment THEN
      DELETE FROM $s.parley_more_steps s WHERE s.call = p_call AND s.round = p_round;
      UPDATE $s.parley_rounds r SET answers = p_answers, owner = p_owner, lease_until = moment + lease,
        expires_at = moment + keep * 1.25, attempt = 1, steps = NULL, more_steps = 0, outcome = NULL, journal = NULL
        WHERE r.call = p_call AND r.round = p_round;
      is_new := true;
    ELSE
      next_attempt := known.attempt + (known.owner IS DISTINCT FROM p_owner)::integer;
      UPDATE $s.parley_rounds r SET owner = p_owner, lease_until = moment + lease, attempt = next_attempt,
        expires_at = CASE WHEN r.expires_at < moment + keep THEN moment + keep * 1.25 ELSE r.expires_at END
        WHERE r.call = p_call AND r.round = p_round;
    END IF;
    EXIT;
  END LOOP;

  kind := 'won';
  number := next_attempt;
  RETURN NEXT;
  IF NOT is_new THEN
    RETURN QUERY SELECT 'step', NULL::double precision, encode(s.entry, 'base64')
      FROM unnest(known.steps) WITH ORDINALITY s (entry, step) ORDER BY s.step;
    RETURN QUERY SELECT 'step', NULL::double precision, encode(s.entry, 'base64') FROM $s.parley_more_steps s
      WHERE s.call = p_call AND s.round = p_round ORDER BY s.step;
  END IF;
  IF p_journal THEN
    RETURN QUERY SELECT 'journal', NULL::double precision, encode(r.journal, 'base64') FROM $s.parley_rounds r
      WHERE r.call = p_call AND r.round < p_round AND r.journal IS NOT NULL AND r.expires_at > clock_timestamp()
      ORDER BY r.round;
  END IF;
END $body$;

-- Says whether p_owner has the round, 'running' or 'ended', or has 'lost' it. While it runs, every round of the call
-- stays at least p_ms longer: a quarter more than asked, so that the rounds of a quick call do not all move it.
-- Rounds are locked in their order, and none is touched that was not; whatever else holds one waits for no other, so
-- nothing here can deadlock.
CREATE FUNCTION $s.parley_hold(p_call text, p_round integer, p_owner text, p_ms double precision)
  RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
  stay interval := p_ms * interval '1 millisecond';
  moment timestamptz := clock_timestamp();
  locked integer[];
  known record;
BEGIN
  SELECT array_agg(l.round) INTO locked FROM (
    SELECT r.round FROM $s.parley_rounds r
      WHERE r.call = p_call AND (r.round = p_round OR r.expires_at < moment + stay)
      ORDER BY r.round FOR UPDATE) l;
  moment := clock_timestamp();
  SELECT r.expires_at, r.outcome IS NOT NULL AS ended INTO known
    FROM $s.parley_rounds r WHERE r.call = p_call AND r.round = p_round AND r.owner = p_owner;
  IF NOT FOUND OR known.expires_at <= moment THEN
    RETURN 'lost';
  ELSIF known.ended THEN
    RETURN 'ended';
  END IF;
  UPDATE $s.parley_rounds r SET expires_at = moment + stay * 1.25
    WHERE r.call = p_call AND r.round = ANY (locked) AND r.expires_at > moment AND r.expires_at < moment + stay;
  RETURN 'running';
END $body$;

CREATE FUNCTION $s.parley_step(p_call text, p_round integer, p_owner text, p_lease double precision, p_entry bytea)
  RETURNS boolean LANGUAGE plpgsql AS $body$
DECLARE
  number integer;
BEGIN
  IF $s.parley_hold(p_call, p_round, p_owner, p_lease) <> 'running' THEN
    RETURN false;
  END IF;
  UPDATE $s.parley_rounds r SET more_steps = r.more_steps + 1,
    lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
    WHERE r.call = p_call AND r.round = p_round RETURNING r.more_steps INTO number;
  INSERT INTO $s.parley_more_steps (call, round, step, entry) VALUES (p_call, p_round, number, p_entry);
  RETURN true;
END $body$;

CREATE FUNCTION $s.parley_renew(p_call text, p_round integer, p_owner text, p_lease double precision)
  RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  IF $s.parley_hold(p_call, p_round, p_owner, p_lease) <> 'running' THEN
    RETURN false;
  END IF;
  UPDATE $s.parley_rounds r SET lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
    WHERE r.call = p_call AND r.round = p_round;
  RETURN true;
END $body$;

CREATE FUNCTION $s.parley_settle(p_call text, p_round integer, p_owner text, p_keep double precision,
  p_outcome bytea, p_journal bytea) RETURNS boolean LANGUAGE plpgsql AS $body$
DECLARE
  state text := $s.parley_hold(p_call, p_round, p_owner, p_keep);
BEGIN
  IF state = 'running' THEN
    UPDATE $s.parley_rounds r SET outcome = p_outcome, journal = p_journal WHERE r.call = p_call AND r.round = p_round;
  END IF;
  RETURN state <> 'lost';
END $body$;

CREATE FUNCTION $s.parley_release(p_call text, p_round integer, p_owner text)
  RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  IF $s.parley_hold(p_call, p_round, p_owner, 0) <> 'running' THEN
    RETURN false;
  END IF;
  UPDATE $s.parley_rounds r SET owner = NULL WHERE r.call = p_call AND r.round = p_round;
  RETURN true;
END $body$;

-- Drops at most p_count expired rounds that nobody is using.
CREATE FUNCTION $s.parley_sweep(p_count integer) RETURNS integer LANGUAGE plpgsql AS $body$
DECLARE
  moment timestamptz := clock_timestamp();
  dropped integer;
BEGIN
  WITH dead AS MATERIALIZED (
    SELECT r.call, r.round FROM $s.parley_rounds r WHERE r.expires_at <= moment
      ORDER BY r.expires_at LIMIT p_count FOR UPDATE SKIP LOCKED
  ), steps AS (
    DELETE FROM $s.parley_more_steps s USING dead d WHERE s.call = d.call AND s.round = d.round
  )
  DELETE FROM $s.parley_rounds r USING dead d WHERE r.call = d.call AND r.round = d.round;
  GET DIAGNOSTICS dropped = ROW_COUNT;
  RETURN dropped;
END $body$;
`;
