/** Tables and functions of the PostgreSQL ledger, and their versions. */
import { ParleyError } from "../errors.ts";
import { newerSchema } from "../store/schema-version.ts";
import type { PostgresClient } from "./postgres-client.ts";

/** Any constant: migrations of all Parley schemas in a database take turns. */
const MIGRATION_LOCK = 7_270_531_926;

/** `MIGRATIONS[n]` brings a schema of version n to n + 1. Never edit one that was released; add one. `$s` is the schema. */
const MIGRATIONS = [
  `
CREATE TABLE $s.parley_calls (
  call text COLLATE "C" PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX parley_calls_expiry ON $s.parley_calls (expires_at);
CREATE TABLE $s.parley_rounds (
  call text COLLATE "C" NOT NULL,
  round integer NOT NULL,
  answers text COLLATE "C" NOT NULL,
  owner text COLLATE "C",
  lease_until timestamptz NOT NULL,
  attempt integer NOT NULL,
  steps integer NOT NULL DEFAULT 0,
  outcome bytea,
  journal bytea,
  PRIMARY KEY (call, round)
) WITH (fillfactor = 70);
CREATE TABLE $s.parley_steps (
  call text COLLATE "C" NOT NULL,
  round integer NOT NULL,
  step integer NOT NULL,
  entry bytea NOT NULL,
  PRIMARY KEY (call, round, step)
);
-- What is stored is sealed, and sealed bytes do not compress.
ALTER TABLE $s.parley_rounds ALTER outcome SET STORAGE EXTERNAL, ALTER journal SET STORAGE EXTERNAL;
ALTER TABLE $s.parley_steps ALTER entry SET STORAGE EXTERNAL;

-- Rows: the answer first ('won' with the attempt, 'running' with the ms left, 'settled' with the outcome, 'other'),
-- then 'step' and 'journal' in order. Bytes come as base64, which no setting or type parser of a client changes.
CREATE FUNCTION $s.parley_claim(p_call text, p_round integer, p_owner text, p_answers text,
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
      IF locked = 1 THEN
        PERFORM 1 FROM $s.parley_calls c WHERE c.call = p_call FOR UPDATE;
      END IF;
      moment := clock_timestamp();
      SELECT c.expires_at, r.answers, r.owner, r.lease_until, r.attempt, r.outcome, r.round INTO known
        FROM $s.parley_calls c LEFT JOIN $s.parley_rounds r ON r.call = c.call AND r.round = p_round
        WHERE c.call = p_call;
      IF NOT FOUND THEN
        -- It stays a quarter longer than asked, so that the rounds of a quick call do not all move it.
        INSERT INTO $s.parley_calls (call, expires_at) VALUES (p_call, moment + keep * 1.25) ON CONFLICT DO NOTHING;
        CONTINUE again WHEN NOT FOUND;
        -- A round without its call can only be what a claim left that slept until the call was swept: nobody's.
        INSERT INTO $s.parley_rounds AS r (call, round, answers, owner, lease_until, attempt)
          VALUES (p_call, p_round, p_answers, p_owner, moment + lease, 1)
          ON CONFLICT (call, round) DO UPDATE SET answers = p_answers, owner = p_owner, lease_until = moment + lease,
            attempt = 1, steps = 0, outcome = NULL, journal = NULL;
        is_new := true;
      ELSIF known.expires_at > moment AND known.round IS NOT NULL THEN
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
      ELSIF known.expires_at >= moment + keep THEN
        -- A new round of a call that stays: nothing to change on the call, so no lock.
        INSERT INTO $s.parley_rounds (call, round, answers, owner, lease_until, attempt)
          VALUES (p_call, p_round, p_answers, p_owner, moment + lease, 1) ON CONFLICT DO NOTHING;
        is_new := FOUND;
      END IF;
      EXIT again WHEN is_new;
    END LOOP;

    IF known.expires_at <= moment THEN
      DELETE FROM $s.parley_steps s WHERE s.call = p_call;
      DELETE FROM $s.parley_rounds r WHERE r.call = p_call;
      known.round := NULL;
    END IF;
    IF known.expires_at < moment + keep THEN
      UPDATE $s.parley_calls c SET expires_at = moment + keep * 1.25 WHERE c.call = p_call;
    END IF;
    IF known.round IS NULL THEN
      INSERT INTO $s.parley_rounds (call, round, answers, owner, lease_until, attempt)
        VALUES (p_call, p_round, p_answers, p_owner, moment + lease, 1) ON CONFLICT DO NOTHING;
      -- Somebody was faster, without the lock.
      CONTINUE again WHEN NOT FOUND;
    ELSE
      next_attempt := known.attempt + (known.owner IS DISTINCT FROM p_owner)::integer;
      UPDATE $s.parley_rounds r SET owner = p_owner, lease_until = moment + lease, attempt = next_attempt
        WHERE r.call = p_call AND r.round = p_round;
    END IF;
    EXIT;
  END LOOP;

  kind := 'won';
  number := next_attempt;
  RETURN NEXT;
  IF NOT is_new THEN
    RETURN QUERY SELECT 'step', NULL::double precision, encode(s.entry, 'base64') FROM $s.parley_steps s
      WHERE s.call = p_call AND s.round = p_round ORDER BY s.step;
  END IF;
  IF p_journal THEN
    RETURN QUERY SELECT 'journal', NULL::double precision, encode(r.journal, 'base64') FROM $s.parley_rounds r
      WHERE r.call = p_call AND r.round < p_round AND r.journal IS NOT NULL ORDER BY r.round;
  END IF;
END $body$;

-- Locks the call, makes it stay at least p_ms longer, and says whether p_owner has the round. Calls are always locked
-- before their rounds, so nothing here can deadlock.
CREATE FUNCTION $s.parley_hold(p_call text, p_round integer, p_owner text, p_ms double precision)
  RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
  expiry timestamptz;
  state text;
BEGIN
  SELECT c.expires_at INTO expiry FROM $s.parley_calls c WHERE c.call = p_call FOR UPDATE;
  IF NOT FOUND OR expiry <= clock_timestamp() THEN
    RETURN 'lost';
  END IF;
  SELECT CASE WHEN r.outcome IS NULL THEN 'running' ELSE 'ended' END INTO state
    FROM $s.parley_rounds r WHERE r.call = p_call AND r.round = p_round AND r.owner = p_owner;
  IF NOT FOUND THEN
    RETURN 'lost';
  END IF;
  IF state = 'running' AND expiry < clock_timestamp() + p_ms * interval '1 millisecond' THEN
    UPDATE $s.parley_calls c SET expires_at = clock_timestamp() + p_ms * 1.25 * interval '1 millisecond'
      WHERE c.call = p_call;
  END IF;
  RETURN state;
END $body$;

CREATE FUNCTION $s.parley_step(p_call text, p_round integer, p_owner text, p_lease double precision, p_entry bytea)
  RETURNS boolean LANGUAGE plpgsql AS $body$
DECLARE
  number integer;
BEGIN
  IF $s.parley_hold(p_call, p_round, p_owner, p_lease) <> 'running' THEN
    RETURN false;
  END IF;
  UPDATE $s.parley_rounds r SET steps = r.steps + 1, lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
    WHERE r.call = p_call AND r.round = p_round RETURNING r.steps INTO number;
  INSERT INTO $s.parley_steps (call, round, step, entry) VALUES (p_call, p_round, number, p_entry);
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

-- Drops at most p_count expired calls that nobody is using.
CREATE FUNCTION $s.parley_sweep(p_count integer) RETURNS integer LANGUAGE plpgsql AS $body$
DECLARE
  dead text[];
BEGIN
  SELECT array_agg(d.call) INTO dead FROM (
    SELECT c.call FROM $s.parley_calls c WHERE c.expires_at <= clock_timestamp()
      ORDER BY c.expires_at LIMIT p_count FOR UPDATE SKIP LOCKED) d;
  DELETE FROM $s.parley_steps s WHERE s.call = ANY (dead);
  DELETE FROM $s.parley_rounds r WHERE r.call = ANY (dead);
  DELETE FROM $s.parley_calls c WHERE c.call = ANY (dead);
  RETURN coalesce(array_length(dead, 1), 0);
END $body$;
`,
];

/** The identifier, quoted. @throws ParleyError `configuration` */
export function quoteSchema(name: unknown): string {
  if (typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)) return `"${name}"`;
  throw new ParleyError(
    "configuration",
    "postgresLedger: option schema must be 1 to 63 letters, digits and underscores, not starting with a digit.",
  );
}

/** Creates or migrates what is missing; any number of processes may do it at once. @throws ParleyError `configuration` if newer */
export async function migrate(client: PostgresClient, schema: string): Promise<void> {
  if ((await versionOf(client, schema)) === MIGRATIONS.length) return;
  // Not the default of the database: after the wait for the lock, what another process made must be visible.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    // Asked first: "IF NOT EXISTS" demands the right to create schemas even where there is nothing to create.
    const { rows } = await client.query("SELECT to_regnamespace($1) IS NULL AS missing", [schema]);
    if (rows[0]?.["missing"] === true) await client.query(`CREATE SCHEMA ${schema}`);
    const version = await versionOf(client, schema);
    if (version > MIGRATIONS.length) throw newerSchema("postgresLedger", version, MIGRATIONS.length);
    if (version === 0)
      await client.query(
        `CREATE TABLE IF NOT EXISTS ${schema}.parley_meta (name text PRIMARY KEY, value integer NOT NULL)`,
      );
    for (const step of MIGRATIONS.slice(version)) await client.query(step.replaceAll("$s.", `${schema}.`));
    await client.query(
      `INSERT INTO ${schema}.parley_meta (name, value) VALUES ('schema', $1)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [MIGRATIONS.length],
    );
    await client.query("COMMIT");
  } catch (error) {
    // The first error counts; a connection that is lost rolls back by itself.
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** 0 for a schema without our tables. */
async function versionOf(client: PostgresClient, schema: string): Promise<number> {
  const table = `${schema}.parley_meta`;
  const exists = await client.query("SELECT to_regclass($1) IS NOT NULL AS found", [table]);
  if (exists.rows[0]?.["found"] !== true) return 0;
  const { rows } = await client.query(`SELECT value FROM ${table} WHERE name = 'schema'`);
  return Number(rows[0]?.["value"] ?? 0);
}
