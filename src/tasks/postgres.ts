/**
 * Tasks in PostgreSQL 13 or later: any process runs any task. One statement per operation, so one round trip, and what
 * makes a task ready also tells a queue.
 */
import { ParleyError } from "../errors.ts";
import { checkNames } from "../internal/options.ts";
import { asBuffer } from "../store/bytes.ts";
import { Deadlines } from "../store/deadlines.ts";
import { isPlace, resolveTimeout, type StoreOptions } from "../store/options.ts";
import { migratePostgres, openPostgres } from "../store/postgres.ts";
import type { TaskAnswer, TaskPhase, TaskStore } from "./contract.ts";
import { GraphileQueue } from "./graphile.ts";
import { taskOperations } from "./guard.ts";
import type { TasksPool } from "./postgres-client.ts";
import { SCHEMA } from "./postgres-schema.ts";

export type { StoreOptions } from "../store/options.ts";
export type * from "./contract.ts";
export type { TasksClient, TasksPool, TasksQuery } from "./postgres-client.ts";

export interface PostgresTasksOptions extends StoreOptions {
  /** Schema that holds the table and functions; created when it is missing. Default `"parley"`. */
  readonly schema?: string;
  /**
   * `"graphile-worker"`: processes are told at once of what is ready (the package must be installed; its tables are in
   * `<schema>_queue`). `"none"`: they find it when they look next (`tasks.lookMs`). Default `"graphile-worker"`.
   */
  readonly queue?: "graphile-worker" | "none";
}

const NAMES: Record<keyof PostgresTasksOptions, true> = { timeoutMs: true, schema: true, queue: true };
const SOURCE = { where: "connectionString", method: "connect", client: "a pg Pool" };

/** How to make a pool. */
interface PoolPlace {
  readonly connectionString: string;
  readonly max?: number;
}

/**
 * @param source A pg `Pool`; or how to make one (`pg` must be installed), which `close` ends.
 * @throws ParleyError `configuration`; the first operation rejects with it when the schema in the database is newer
 */
export function postgresTasks(source: TasksPool | PoolPlace, options: PostgresTasksOptions = {}): TaskStore {
  checkNames("postgresTasks", options, NAMES);
  const timeoutMs = resolveTimeout("postgresTasks", options.timeoutMs);
  const name = options.schema ?? "parley";
  if (!/^[a-z_][a-z0-9_]{0,55}$/.test(name)) {
    throw new ParleyError(
      "configuration",
      "postgresTasks: option schema must be lower-case letters, digits and _, at most 56.",
    );
  }
  const schema = `"${name}"`;
  const own = isPlace<PoolPlace>("postgresTasks", source, SOURCE);
  const opened = own ? openPostgres<TasksPool>(source, "postgresTasks", timeoutMs) : undefined;
  const pool = opened ?? (source as TasksPool);
  const queue = options.queue === "none" ? undefined : new GraphileQueue(pool, `${name}_queue`);
  const operations = taskOperations("postgres", new Deadlines(timeoutMs));
  let migrated: Promise<void> | undefined;

  async function migrate(): Promise<void> {
    const client = await pool.connect();
    try {
      await migratePostgres(client, schema, SCHEMA);
      if (queue === undefined) return;
      // graphile-worker's own migrations do not take turns, and replicas start together.
      await client.query(`SELECT pg_advisory_lock(${QUEUE_LOCK})`);
      await queue.migrate().finally(() => client.query(`SELECT pg_advisory_unlock(${QUEUE_LOCK})`));
    } finally {
      client.release();
    }
  }

  /** Once per process. A failure is forgotten, so that the next operation tries again. */
  function ready(): Promise<void> {
    migrated ??= migrate().catch((error: unknown) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  }

  function rows(operation: string, text: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    return operations.run(operation, async () => {
      await ready();
      return (await pool.query({ text: text.replaceAll("$s.", `${schema}.`), values })).rows;
    });
  }

  /** A statement whose rows `(id, wake_at)` are tasks that have become ready, and whatever else it returns. */
  function announced(operation: string, statement: string, columns: string, values: unknown[]) {
    if (queue === undefined)
      return rows(operation, `WITH changed AS (${statement}) SELECT ${columns} FROM changed`, values);
    const text = `WITH changed AS (${statement}),
      told AS (SELECT ${queue.add("id", "wake_at")} FROM changed WHERE is_ready)
      SELECT ${columns}, (SELECT count(*) FROM told) AS told FROM changed`;
    return rows(operation, text, values);
  }

  return {
    async create({ id, kind, owner, head, body, lifeMs, keepMs, maxOpen }) {
      const statement = `SELECT $1::text AS id, now() AS wake_at, outcome, outcome = 'created' AS is_ready
        FROM $s.parley_task_create($1, $2, $3, $4, $5, $6, $7, $8) AS outcome`;
      const values = [id, kind, owner, asBuffer(head), asBuffer(body), lifeMs, keepMs, maxOpen];
      const [row] = await announced("create", statement, "outcome", values);
      return row?.["outcome"] as "created" | "exists" | "full";
    },
    async read(id) {
      const [row] = await rows(
        "read",
        `SELECT owner, head, body, note, phase, cancelled, answers, ${LIFE_LEFT} FROM $s.parley_tasks
         WHERE id = $1 AND drop_at > now()`,
        [id],
      );
      if (row === undefined) return undefined;
      return {
        owner: String(row["owner"]),
        head: row["head"] as Buffer,
        body: row["body"] as Buffer,
        note: (row["note"] ?? undefined) as Buffer | undefined,
        phase: row["phase"] as TaskPhase,
        cancelled: row["cancelled"] === true,
        answers: answersIn(row["answers"]),
        lifeLeftMs: Number(row["life_left"]),
      };
    },
    async answer(id, answers) {
      const given = Object.fromEntries(answers.map(({ key, answer }) => [key, asBuffer(answer).toString("base64")]));
      const statement = `UPDATE $s.parley_tasks SET answers = $2::jsonb || answers,
          wake_at = CASE phase WHEN 'waiting' THEN now() ELSE wake_at END,
          phase = CASE phase WHEN 'waiting' THEN 'ready' ELSE phase END
        WHERE id = $1 AND phase <> 'ended' AND drop_at > now() RETURNING id, wake_at, phase = 'ready' AS is_ready`;
      await announced("answer", statement, "id", [id, JSON.stringify(given)]);
    },
    async cancel(id, body) {
      const [row] = await rows(
        "cancel",
        `UPDATE $s.parley_tasks SET
          cancelled = (holder IS NOT NULL AND lease_until > now()),
          body = CASE WHEN ${HELD} THEN body ELSE $2 END,
          phase = CASE WHEN ${HELD} THEN phase ELSE 'ended' END,
          holder = CASE WHEN ${HELD} THEN holder END,
          note = CASE WHEN ${HELD} THEN note END,
          steps = CASE WHEN ${HELD} THEN steps ELSE '{}' END,
          answers = CASE WHEN ${HELD} THEN answers ELSE '{}' END
        WHERE id = $1 AND phase <> 'ended' AND drop_at > now() RETURNING phase`,
        [id, asBuffer(body)],
      );
      if (row === undefined) return "nothing";
      return row["phase"] === "ended" ? "ended" : "asked";
    },
    async claim({ holder, kinds, leaseMs, perOwner }) {
      const [row] = await rows(
        "claim",
        `SELECT id, kind, head, body, steps, answers, attempt, cancelled, ${LIFE_LEFT}
         FROM $s.parley_task_claim($1, $2, $3, $4)`,
        [holder, kinds, leaseMs, perOwner],
      );
      if (row === undefined) return undefined;
      return {
        id: String(row["id"]),
        kind: String(row["kind"]),
        head: row["head"] as Buffer,
        body: row["body"] as Buffer,
        steps: row["steps"] as Buffer[],
        answers: answersIn(row["answers"]),
        attempt: Number(row["attempt"]),
        cancelled: row["cancelled"] === true,
        lifeLeftMs: Number(row["life_left"]),
      };
    },
    async record({ id, holder }, entry, leaseMs) {
      const done = await rows(
        "record",
        `UPDATE $s.parley_tasks SET steps = steps || $3::bytea, lease_until = now() + $4 * interval '1 millisecond'
         WHERE id = $1 AND holder = $2 RETURNING id`,
        [id, holder, asBuffer(entry), leaseMs],
      );
      return done.length > 0;
    },
    async renew({ id, holder }, leaseMs, note) {
      const [row] = await rows(
        "renew",
        `UPDATE $s.parley_tasks SET lease_until = now() + $3 * interval '1 millisecond', note = coalesce($4, note)
         WHERE id = $1 AND holder = $2 RETURNING cancelled`,
        [id, holder, leaseMs, note === undefined ? null : asBuffer(note)],
      );
      if (row === undefined) return "lost";
      return row["cancelled"] === true ? "cancelled" : "held";
    },
    async settle({ id, holder }, { body, phase, wakeMs = 0, open }) {
      const statement = `UPDATE $s.parley_tasks t SET body = $3, note = NULL, holder = NULL, steps = '{}', attempt = 0,
          answers = CASE WHEN $4 = 'ended' THEN '{}' ELSE kept.answers END,
          phase = CASE WHEN $4 <> 'ended' AND kept.urgent THEN 'ready' ELSE $4 END,
          wake_at = now() + CASE WHEN kept.urgent THEN 0 ELSE $6 END * interval '1 millisecond'
        FROM (
          SELECT answers, cancelled OR answers <> '{}' AS urgent FROM (
            SELECT cancelled, coalesce((SELECT jsonb_object_agg(e.key, e.value) FROM jsonb_each(answers) e
              WHERE e.key = ANY ($5)), '{}'::jsonb) AS answers
            FROM $s.parley_tasks WHERE id = $1 AND holder = $2 FOR UPDATE) locked) kept
        WHERE t.id = $1 AND t.holder = $2 RETURNING t.id, t.wake_at, t.phase = 'ready' AS is_ready`;
      const values = [id, holder, asBuffer(body), phase, open, wakeMs];
      return (await announced("settle", statement, "id", values)).length > 0;
    },
    async release({ id, holder }, wakeMs) {
      const statement = `UPDATE $s.parley_tasks SET holder = NULL,
          attempt = attempt - CASE WHEN $3::float8 IS NULL THEN 0 ELSE 1 END,
          wake_at = coalesce(now() + $3::float8 * interval '1 millisecond', wake_at)
        WHERE id = $1 AND holder = $2 RETURNING id, greatest(wake_at, now()) AS wake_at, true AS is_ready`;
      await announced("release", statement, "id", [id, holder, wakeMs ?? null]);
    },
    ...(queue !== undefined && {
      watch: (take: () => Promise<void>, slots: number) => {
        let stop: (() => Promise<void>) | undefined;
        // Its tables must be there; until they are, what is ready is found by looking.
        const started = ready().then(
          () => {
            stop = queue.watch(take, slots);
          },
          () => undefined,
        );
        return async () => {
          await started;
          await stop?.();
        };
      },
    }),
    close: () =>
      operations.close(async () => {
        await opened?.end();
      }),
  };
}

/** Any constant: migrations of all queues in a database take turns. */
const QUEUE_LOCK = 7_270_531_929;
const LIFE_LEFT = "extract(epoch FROM ends_at - now()) * 1000 AS life_left";
const HELD = "holder IS NOT NULL AND lease_until > now()";

function answersIn(answers: unknown): TaskAnswer[] {
  return Object.entries(answers as Record<string, string>).map(([key, answer]) => ({
    key,
    answer: Buffer.from(answer, "base64"),
  }));
}
