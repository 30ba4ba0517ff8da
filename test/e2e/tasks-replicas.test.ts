/**
 * Four replicas on PostgreSQL or Redis, tasks with two questions each, and a replica that dies every second.
 * `npm run tasks:thousand` runs a thousand of them, and prints how fast they are.
 */
import { Redis } from "ioredis";
import pg from "pg";
import { expect, it } from "vitest";
import { POSTGRES_URL, REDIS_URL, whenReachable } from "../contract/servers.ts";
import { driveTask, TaskReplicas, type TaskReplicasStore } from "./tasks-replicas-world.ts";

const TASKS = Number(process.env["PARLEY_TASKS"] ?? 24);
/** Tasks that are driven at the same time. */
const AT_ONCE = 100;
const LIMIT_MS = 120_000 + TASKS * 500;
const STORES: readonly (readonly [TaskReplicasStore, number])[] = [
  ["postgres", TASKS],
  ["redis", Math.ceil(TASKS / 2)],
];

const run = await whenReachable(`PostgreSQL at ${POSTGRES_URL} or Redis at ${REDIS_URL}`, async () => {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 1_000 });
  await client.connect();
  await client.end();
  const redis = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
  redis.on("error", () => {});
  await redis.connect();
  redis.disconnect();
});

run("tasks under kills", () => {
  it.each(STORES)(
    "%s: %i tasks end with their own answers; no step counts twice, and no answer is lost",
    async (store, tasks) => {
      const replicas = new TaskReplicas(1_500, store);
      try {
        await replicas.start(4);
        const answeredAt = new Map<string, number>();
        const startedAt = performance.now();
        let killing: Promise<unknown> = Promise.resolve();
        const killer = setInterval(() => {
          killing = killing.then(() => replicas.kill());
        }, 1_000);
        const results: unknown[] = [];
        try {
          const waiting = Array.from({ length: tasks }, (_, n) => n);
          // At least one of them must meet a death.
          const first = replicas.kill();
          const work = async () => {
            for (let n = waiting.shift(); n !== undefined; n = waiting.shift())
              results[n] = await driveTask(replicas, n, answeredAt);
          };
          await Promise.all([first, ...Array.from({ length: AT_ONCE }, work)]);
        } finally {
          clearInterval(killer);
          await killing;
        }
        const seconds = (performance.now() - startedAt) / 1_000;
        expect(results).toEqual(Array.from({ length: tasks }, (_, n) => [n, 2 * n, 3 * n]));

        const effects = await replicas.pool.query(
          `SELECT task, step, count(*)::int AS count FROM ${replicas.schema}.effects GROUP BY task, step`,
        );
        expect(effects.rows).toHaveLength(3 * tasks);
        expect(effects.rows.filter(({ count }) => count !== 1)).toEqual([]);
        expect(replicas.kills).toBeGreaterThan(0);

        const { rows } = await replicas.pool.query(`SELECT count(*)::int AS runs FROM ${replicas.schema}.runs`);
        // A step runs again only where a death came between it and its record.
        const again = rows[0].runs - 3 * tasks;
        expect(again).toBeLessThanOrEqual(replicas.kills * 16);
        process.stderr.write(`${await report(replicas, answeredAt, seconds, again, tasks)}\n`);
      } finally {
        await replicas.end();
      }
    },
    LIMIT_MS,
  );
});

async function report(
  { pool, schema, kills, events }: TaskReplicas,
  answeredAt: ReadonlyMap<string, number>,
  seconds: number,
  again: number,
  tasks: number,
): Promise<string> {
  const { rows } = await pool.query(
    `SELECT task, step, extract(epoch FROM at) * 1000 AS at FROM ${schema}.effects WHERE step <> 'first'`,
  );
  const waits = rows
    .map(({ task, step, at }) => Number(at) - (answeredAt.get(`${task} ${step}`) ?? Number(at)))
    .sort((a, b) => a - b);
  const at = (share: number) => Math.round(waits[Math.floor(share * (waits.length - 1))] ?? 0);
  return [
    `${tasks} tasks in ${seconds.toFixed(1)} s (${(tasks / seconds).toFixed(0)}/s), ${kills} replicas killed,`,
    `${events["taken_over"] ?? 0} take-overs, ${again} steps run again;`,
    `answer to next step: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, longest ${at(1)} ms`,
  ].join(" ");
}
