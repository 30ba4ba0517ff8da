import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { postgresLedger } from "../../src/ledger/postgres.ts";
import { postgresTasks } from "../../src/tasks/postgres.ts";
import { until } from "../helpers/until.ts";
import { POSTGRES_URL, whenReachable } from "./servers.ts";
import { newTask, testTasks } from "./tasks-suite.ts";

const run = await whenReachable(`PostgreSQL at ${POSTGRES_URL}`, async () => {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 1_000 });
  await client.connect();
  await client.end();
});

const newSchema = () => `parley_test_${randomUUID().replaceAll("-", "").slice(0, 20)}`;

for (const queue of ["none", "graphile-worker"] as const) {
  testTasks(
    `postgres, queue ${queue}`,
    async () => {
      const schema = newSchema();
      const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 4 });
      pool.on("error", () => {});
      return {
        open: () => postgresTasks(pool, { schema, queue }),
        pass: (ms) => sleep(ms),
        end: async () => {
          await pool.query(`DROP SCHEMA ${schema} CASCADE`);
          await pool.query(`DROP SCHEMA IF EXISTS ${schema}_queue CASCADE`);
          await pool.end();
        },
      };
    },
    run,
  );
}

run("postgres task store", () => {
  const schema = newSchema();
  let admin: pg.Pool;
  beforeAll(() => {
    admin = new pg.Pool({ connectionString: POSTGRES_URL, max: 2 });
  });
  afterAll(async () => {
    await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await admin.query(`DROP SCHEMA IF EXISTS ${schema}_queue CASCADE`);
    await admin.end();
  });

  it("tells another process at once of what is ready: created, answered, and in its time", async () => {
    const [here, there] = [1, 2].map(() => postgresTasks({ connectionString: POSTGRES_URL }, { schema })) as [
      ReturnType<typeof postgresTasks>,
      ReturnType<typeof postgresTasks>,
    ];
    const task = newTask();
    const taken: string[] = [];
    const stop = there.watch?.(async () => {
      const holder = randomUUID();
      const claimed = await there.claim({ holder, kinds: [task.kind], leaseMs: 60_000, perOwner: 10 });
      if (claimed === undefined) return;
      taken.push(`${claimed.answers.length}`);
      const phase = taken.length < 3 ? "waiting" : "ended";
      await there.settle({ id: task.id, holder }, { body: task.body, phase, open: ["q"] });
    }, 2);
    await here.create(task);
    await until(() => (taken.length === 1 ? true : undefined));
    await until(async () => ((await here.read(task.id))?.phase === "waiting" ? true : undefined));
    await here.answer(task.id, [{ key: "q", answer: task.body }]);
    await until(() => (taken.length >= 2 ? true : undefined));
    expect(taken.slice(0, 2)).toEqual(["0", "1"]);
    await stop?.();
    await here.close();
    await there.close();
  });

  it("refuses tables of a newer release, and names of schemas that are none", async () => {
    const store = postgresTasks(admin, { schema, queue: "none" });
    await store.read("x");
    await admin.query(`UPDATE ${schema}.parley_meta SET value = 99 WHERE name = 'tasks'`);
    await expect(postgresTasks(admin, { schema, queue: "none" }).read("x")).rejects.toMatchObject({
      code: "configuration",
      message: expect.stringMatching(/^postgresTasks: .*version 99/),
    });
    expect(() => postgresTasks(admin, { schema: 'x"; DROP' })).toThrow(
      expect.objectContaining({ code: "configuration" }),
    );
  });

  it("makes its tables beside a ledger's, when processes that have both start at once", async () => {
    const shared = newSchema();
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 16 });
    const hold = { call: "call", round: 0, owner: "owner" };
    const starts = Array.from({ length: 8 }, () =>
      Promise.all([
        postgresTasks(pool, { schema: shared, queue: "none" }).read("x"),
        postgresLedger(pool, { schema: shared }).renew(hold, 1_000),
      ]),
    );
    for (const first of await Promise.all(starts)) expect(first).toEqual([undefined, false]);
    await pool.query(`DROP SCHEMA ${shared} CASCADE`);
    await pool.end();
  });

  it("fails closed by name when its server is away", async () => {
    const store = postgresTasks(
      { connectionString: "postgres://root@127.0.0.1:1/test" },
      { queue: "none", timeoutMs: 500 },
    );
    await expect(store.read("x")).rejects.toMatchObject({ code: "tasks_unavailable" });
    await store.close();
  });
});
