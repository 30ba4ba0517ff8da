/** The table and functions of the PostgreSQL task store, and their versions. */
import type { PostgresSchema } from "../store/postgres.ts";

/** Any constant: claims take turns, so that what runs of one owner is counted right. */
const CLAIM_LOCK = 7_270_531_928;

const migrations = [
  `
CREATE TABLE $s.parley_tasks (
  id text COLLATE "C" PRIMARY KEY,
  kind text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  head bytea NOT NULL,
  body bytea NOT NULL,
  note bytea,
  phase text NOT NULL DEFAULT 'ready',
  wake_at timestamptz NOT NULL DEFAULT now(),
  holder text COLLATE "C",
  lease_until timestamptz NOT NULL DEFAULT '-infinity',
  attempt integer NOT NULL DEFAULT 0,
  cancelled boolean NOT NULL DEFAULT false,
  -- Sealed bytes in base64 by key: the first answer to a key counts.
  answers jsonb NOT NULL DEFAULT '{}',
  steps bytea[] NOT NULL DEFAULT '{}',
  ends_at timestamptz NOT NULL,
  drop_at timestamptz NOT NULL
) WITH (fillfactor = 70);
ALTER TABLE $s.parley_tasks ALTER head SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL;
CREATE INDEX parley_tasks_ready ON $s.parley_tasks (wake_at) WHERE phase = 'ready';
CREATE INDEX parley_tasks_open ON $s.parley_tasks (owner) WHERE phase <> 'ended';
CREATE INDEX parley_tasks_held ON $s.parley_tasks (owner, lease_until) WHERE holder IS NOT NULL;
CREATE INDEX parley_tasks_drop ON $s.parley_tasks (drop_at);

CREATE FUNCTION $s.parley_task_create(p_id text, p_kind text, p_owner text, p_head bytea, p_body bytea,
  p_life double precision, p_keep double precision, p_open integer) RETURNS text LANGUAGE plpgsql AS $body$
DECLARE
  life interval := p_life * interval '1 millisecond';
BEGIN
  -- Two creations of one owner take turns, so that neither misses the other in its count.
  PERFORM pg_advisory_xact_lock(hashtextextended(p_owner, ${CLAIM_LOCK}));
  DELETE FROM $s.parley_tasks WHERE id IN
    (SELECT id FROM $s.parley_tasks WHERE drop_at <= now() LIMIT 16 FOR UPDATE SKIP LOCKED);
  IF EXISTS (SELECT 1 FROM $s.parley_tasks WHERE id = p_id) THEN RETURN 'exists'; END IF;
  IF (SELECT count(*) FROM $s.parley_tasks WHERE owner = p_owner AND phase <> 'ended' AND ends_at > now()) >= p_open
    THEN RETURN 'full';
  END IF;
  INSERT INTO $s.parley_tasks (id, kind, owner, head, body, ends_at, drop_at)
    VALUES (p_id, p_kind, p_owner, p_head, p_body, now() + life, now() + life + p_keep * interval '1 millisecond');
  RETURN 'created';
END $body$;

CREATE FUNCTION $s.parley_task_claim(p_holder text, p_kinds text[], p_lease double precision, p_per_owner integer)
  RETURNS SETOF $s.parley_tasks LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM pg_advisory_xact_lock(${CLAIM_LOCK});
  RETURN QUERY UPDATE $s.parley_tasks SET holder = p_holder, attempt = attempt + 1,
      lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
    WHERE id = (
      SELECT t.id FROM $s.parley_tasks t
      WHERE t.phase = 'ready' AND t.wake_at <= clock_timestamp() AND t.ends_at > clock_timestamp()
        AND (t.holder IS NULL OR t.lease_until <= clock_timestamp()) AND t.kind = ANY (p_kinds)
        AND (SELECT count(*) FROM $s.parley_tasks o WHERE o.owner = t.owner AND o.holder IS NOT NULL
             AND o.lease_until > clock_timestamp()) < p_per_owner
      ORDER BY t.wake_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING *;
END $body$;
`,
  // What runs is few: it is looked up once, and not for every task that is ready.
  `
CREATE OR REPLACE FUNCTION $s.parley_task_claim(p_holder text, p_kinds text[], p_lease double precision,
  p_per_owner integer) RETURNS SETOF $s.parley_tasks LANGUAGE plpgsql AS $body$
DECLARE
  full_owners text[];
BEGIN
  PERFORM pg_advisory_xact_lock(${CLAIM_LOCK});
  full_owners := ARRAY(SELECT o.owner FROM $s.parley_tasks o
    WHERE o.holder IS NOT NULL AND o.lease_until > clock_timestamp()
    GROUP BY o.owner HAVING count(*) >= p_per_owner);
  RETURN QUERY UPDATE $s.parley_tasks SET holder = p_holder, attempt = attempt + 1,
      lease_until = clock_timestamp() + p_lease * interval '1 millisecond'
    WHERE id = (
      SELECT t.id FROM $s.parley_tasks t
      WHERE t.phase = 'ready' AND t.wake_at <= clock_timestamp() AND t.ends_at > clock_timestamp()
        AND (t.holder IS NULL OR t.lease_until <= clock_timestamp()) AND t.kind = ANY (p_kinds)
        AND t.owner <> ALL (full_owners)
      ORDER BY t.wake_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING *;
END $body$;
`,
];

export const SCHEMA: PostgresSchema = { store: "postgresTasks", row: "tasks", migrations };
