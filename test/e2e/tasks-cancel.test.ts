/** A task that runs in one process, and is cancelled at another. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { type AnyFlow, createParley, type TaskStore, type TasksOptions, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { postgresTasks } from "../../src/tasks/postgres.ts";
import { redisTasks } from "../../src/tasks/redis.ts";
import { sqliteTasks } from "../../src/tasks/sqlite.ts";
import { POSTGRES_URL, REDIS_URL, whenReachable } from "../contract/servers.ts";
import { serveFlows } from "../helpers/mounts.ts";
import { TaskWire } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");

interface World {
  /** One more process's way to the same tasks. */
  open(): TaskStore;
  end(): Promise<void>;
}

async function serve(flows: readonly AnyFlow[], tasks: TasksOptions) {
  const parley = createParley({ keys: [KEY], callers: "anonymous", tasks });
  const server = await serveFlows("native", parley, flows);
  const close = async () => {
    await server.close();
    await parley.close();
    await tasks.store.close();
  };
  return { wire: new TaskWire(server.url), close };
}

function hearsCancellation(name: string, start: () => World, run: typeof describe): void {
  run(`cancelled elsewhere, ${name}`, () => {
    it.each([
      ["by default within a second or so", {}, 3_000],
      // A third of the lease.
      ["as often as it may look", { lookMs: 60_000, leaseMs: 900 }, 3_000],
    ])("H28: the step's signal fires: %s", async (_what, tasks, withinMs) => {
      const world = start();
      let heardAt: number | undefined;
      let begun = false;
      const job = tool("job", { background: {} }, async (_args, flow) => {
        await flow.step("work", ({ signal }) => {
          begun = true;
          return new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => {
              heardAt = performance.now();
              reject(signal.reason);
            });
          });
        });
        return { content: [] };
      });
      const other = tool("other", {}, () => ({ content: [] }));
      const running = await serve([job], { store: world.open(), ...tasks });
      const front = await serve([other], { store: world.open() });
      try {
        const taskId = await running.wire.begin("job");
        await until(() => (begun ? true : undefined));
        const cancelledAt = performance.now();
        await front.wire.cancel(taskId);
        const after = (await until(() => heardAt)) - cancelledAt;
        expect(after).toBeLessThan(withinMs);
        expect(await front.wire.ended(taskId)).toMatchObject({ status: "cancelled" });
      } finally {
        await front.close();
        await running.close();
        await world.end();
      }
    });
  });
}

it("asks about a task that runs as often as the server says", async () => {
  const store = memoryTasks();
  let asked = 0;
  const renew: TaskStore["renew"] = (...args) => {
    asked++;
    return store.renew(...args);
  };
  let letGo = () => {};
  const job = tool("job", { background: {} }, async (_args, flow) => {
    await flow.step("work", () => new Promise<void>((resolve) => (letGo = resolve)));
    return { content: [] };
  });
  const { wire, close } = await serve([job], { store: { ...store, renew }, lookMs: 20 });
  const begunAt = performance.now();
  const taskId = await wire.begin("job");
  await until(() => (asked >= 5 ? true : undefined));
  expect(performance.now() - begunAt).toBeLessThan(4_000);
  letGo();
  await wire.ended(taskId);
  await close();
});

hearsCancellation(
  "sqlite",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-cancel-"));
    return {
      open: () => sqliteTasks({ path: join(folder, "tasks.sqlite") }),
      end: async () => rmSync(folder, { recursive: true, force: true }),
    };
  },
  describe,
);

hearsCancellation(
  "postgres",
  () => {
    const schema = `parley_cancel_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
    return {
      open: () => postgresTasks({ connectionString: POSTGRES_URL }, { schema }),
      end: async () => {
        const admin = new pg.Client({ connectionString: POSTGRES_URL });
        await admin.connect();
        await admin.query(`DROP SCHEMA ${schema} CASCADE`);
        await admin.query(`DROP SCHEMA ${schema}_queue CASCADE`);
        await admin.end();
      },
    };
  },
  await whenReachable(`PostgreSQL at ${POSTGRES_URL}`, async () => {
    const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 1_000 });
    await client.connect();
    await client.end();
  }),
);

hearsCancellation(
  "redis",
  () => {
    const prefix = `parley-test-${randomUUID()}:`;
    return {
      open: () => redisTasks({ url: REDIS_URL }, { prefix }),
      end: async () => {
        const admin = new Redis(REDIS_URL);
        for await (const keys of admin.scanStream({ match: `{${prefix}*`, count: 1_000 }))
          if (keys.length > 0) await admin.del(...(keys as string[]));
        admin.disconnect();
      },
    };
  },
  await whenReachable(`Redis at ${REDIS_URL}`, async () => {
    const probe = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
    probe.on("error", () => {});
    await probe.connect();
    probe.disconnect();
  }),
);
