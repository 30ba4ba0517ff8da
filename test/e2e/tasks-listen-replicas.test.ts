/** H30 beyond one process: what another replica changed, and a store that was away. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { type AnyFlow, createParley, type TaskStore, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { postgresTasks } from "../../src/tasks/postgres.ts";
import { sqliteTasks } from "../../src/tasks/sqlite.ts";
import { POSTGRES_URL, whenReachable } from "../contract/servers.ts";
import { openListen } from "../helpers/listen.ts";
import { serveFlows } from "../helpers/mounts.ts";
import { TaskWire, textIn, yes } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const closers: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** One replica; without flows it serves their tasks, and runs none. */
async function replica(store: TaskStore, flows: readonly AnyFlow[], pollIntervalMs = 50) {
  const parley = createParley({
    keys: [Buffer.from("0123456789abcdef0123456789abcdef")],
    callers: "anonymous",
    tasks: { store, pollIntervalMs, lookMs: 20 },
  });
  const server = await serveFlows("native", parley, flows);
  closers.push(async () => {
    await server.close();
    await parley.close();
    await store.close();
  });
  return { url: server.url, wire: new TaskWire(server.url) };
}

const ask = tool("ask", { background: {} }, async (_args, flow) => {
  await flow.progress({ progress: 1, message: "begun" });
  const sure = await flow.confirm("sure", "Sure?");
  return { content: [{ type: "text", text: `sure ${sure}` }] };
});

async function hearFromTheOther(open: () => TaskStore): Promise<void> {
  const [runs, tells] = [await replica(open(), [ask]), await replica(open(), [])];
  const taskId = await runs.wire.begin("ask");
  const stream = await openListen(tells.url, { taskIds: [taskId] });
  expect(await stream.acknowledged()).toEqual({ taskIds: [taskId] });
  await until(() => stream.statuses().includes("input_required") || undefined);
  // Answered at the one, run at the one, and heard of at the other.
  await runs.wire.update(taskId, { sure: yes });
  await until(() => stream.ended || undefined);
  expect(textIn(stream.tasks().at(-1)?.["result"])).toBe("sure true");
  const told = stream.statuses();
  expect(told.filter((status) => status === "completed")).toHaveLength(1);
}

describe("two replicas on one SQLite file", () => {
  it("H30 what one changes is heard of at the other, at the task's pace", async () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-listen-"));
    closers.push(() => rmSync(folder, { recursive: true, force: true }));
    await hearFromTheOther(() => sqliteTasks({ path: join(folder, "tasks.sqlite") }));
  });
});

const run = await whenReachable(`PostgreSQL at ${POSTGRES_URL}`, async () => {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 1_000 });
  await client.connect();
  await client.end();
});

run("two replicas on PostgreSQL", () => {
  it("H30 what one changes is heard of at the other, at the task's pace", async () => {
    const schema = `parley_test_${randomUUID().replaceAll("-", "").slice(0, 20)}`;
    const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 4 });
    closers.push(async () => {
      await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await pool.end();
    });
    await hearFromTheOther(() => postgresTasks(pool, { schema, queue: "none" }));
  });
});

describe("a store that comes back", () => {
  it("H30 a read that fails ends nothing: the next one tells", async () => {
    const memory = memoryTasks();
    let away = false;
    const read: TaskStore["read"] = (id) => (away ? Promise.reject(new Error("away")) : memory.read(id));
    const answer: TaskStore["answer"] = async (id, answers) => {
      await memory.answer(id, answers);
      away = true;
    };
    const { url, wire } = await replica({ ...memory, read, answer }, [ask], 10);
    const taskId = await wire.begin("ask");
    await wire.questions(taskId);
    const stream = await openListen(url, { taskIds: [taskId] });
    await until(() => stream.tasks()[0]);
    await wire.update(taskId, { sure: yes });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(stream.ended).toBe(false);
    const refused = await openListen(url, { taskIds: [taskId] });
    await until(() => refused.ended || undefined);
    expect(refused.messages).toMatchObject([{ error: { code: -32603, data: { reason: "tasks_unavailable" } } }]);
    away = false;
    await until(() => stream.ended || undefined);
    expect(stream.statuses().at(-1)).toBe("completed");
  });
});
