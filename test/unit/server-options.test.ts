/** Options of servers: a name that nothing reads, and a value that is no option at all, are told before anything starts. */
import { McpServer } from "@modelcontextprotocol/server";
import { describe, expect, it } from "vitest";
import { createParley, ParleyError, tool } from "../../src/index.ts";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { postgresTasks } from "../../src/tasks/postgres.ts";
import { redisTasks } from "../../src/tasks/redis.ts";
import { sqliteTasks } from "../../src/tasks/sqlite.ts";
import { playFlow } from "../../src/testing.ts";

const keys = [Uint8Array.from({ length: 32 }, (_, at) => at)];
const result = { content: [] };
const parley = (options: object) => createParley({ keys, callers: "anonymous", ...options });
const server = (options: object) => parley({}).handler({ name: "s", version: "1", ...options });
const toolWith = (config: unknown) => tool("job", config as never, () => result);
const store = memoryTasks();

/** Option named -> what names it, and the same set right. */
const unknown: [option: string, wrong: () => unknown, right: () => unknown][] = [
  ["ledgr", () => parley({ ledgr: memoryLedger() }), () => parley({ ledger: memoryLedger() })],
  ["limits.round", () => parley({ limits: { round: 1 } }), () => parley({ limits: { rounds: 1 } })],
  [
    "ledger.lease",
    () => parley({ ledger: { store: memoryLedger(), lease: 1 } }),
    () => parley({ ledger: { store: memoryLedger(), leaseMs: 1 } }),
  ],
  ["tasks.ttl", () => parley({ tasks: { store, ttl: 1 } }), () => parley({ tasks: { store, ttlMs: 1 } })],
  ["host", () => server({ host: "any" }), () => server({ allowedHosts: "any" })],
  ["inputschema", () => toolWith({ inputschema: {} }), () => toolWith({ scopeChallenge: () => undefined, _meta: {} })],
  ["background.ttl", () => toolWith({ background: { ttl: 1 } }), () => toolWith({ background: { ttlMs: 1 } })],
  ["clock", () => memoryTasks({ clock: Date.now } as never), () => memoryTasks({ now: Date.now })],
  [
    "timeout",
    () => sqliteTasks({ path: ":memory:" }, { timeout: 1 } as never),
    () => sqliteTasks({ path: ":memory:" }, { timeoutMs: 1 }),
  ],
  ["scheme", () => postgresTasks({ connectionString: "postgres://x" }, { scheme: "x" } as never), () => undefined],
  ["pefix", () => redisTasks({ url: "redis://x" }, { pefix: "x" } as never), () => undefined],
];

describe("an option that nothing reads is refused, and those that there are named", () => {
  it.each(unknown)("%s", (option, wrong, right) => {
    expect(right).not.toThrow();
    const message = expect.stringMatching(/: option [\w.]+ is unknown; there are \w+/);
    expect(wrong).toThrow(expect.objectContaining({ code: "configuration", message, details: { option } }));
  });

  it("in flow.background() it fails the call that comes there", async () => {
    const at = (options: object) => tool("job", {}, (_args, flow) => flow.background(options).then(() => result));
    expect(await playFlow(at({ ttlMs: 1 }))).toMatchObject({ result });
    await expect(playFlow(at({ ttl: 1 }))).rejects.toThrow("flow.background: option ttl is unknown; there are ttlMs");
  });
});

it.each<[option: string, wrong: () => unknown, rule: RegExp]>([
  ["tasks", () => parley({ tasks: true }), /must be a task store, such as sqliteTasks/],
  ["tasks", () => parley({ tasks: "tasks.sqlite" }), /must be a task store, such as sqliteTasks/],
  ["tasks.store", () => parley({ tasks: {} }), /must be a task store, such as sqliteTasks/],
  ["ledger", () => parley({ ledger: true }), /must be a ledger/],
  ["options", () => createParley(null as never), /^createParley: options must be an object/],
  ["options", () => parley({}).handler(undefined as never), /^handler: options must be an object/],
  ["options", () => toolWith(undefined), /^tool "job": options must be an object/],
  ["background", () => toolWith({ background: true }), /must be an object; {} takes the defaults/],
  ["path", () => sqliteTasks(undefined as never), /must be { path: "\.\.\." } or a better-sqlite3 database/],
  ["path", () => sqliteTasks("tasks.sqlite" as never), /must be { path: "\.\.\." } or a better-sqlite3 database/],
  ["path", () => sqliteTasks({ file: "x" } as never), /must be { path: "\.\.\." } or a better-sqlite3 database/],
  ["url", () => redisTasks("redis://x" as never), /must be { url: "\.\.\." } or an ioredis client/],
  ["connectionString", () => postgresTasks({} as never), /must be { connectionString: "\.\.\." } or a pg Pool/],
])("a value that is no %s at all is refused with the remedy", (option, wrong, rule) => {
  const message = expect.stringMatching(rule);
  expect(wrong).toThrow(expect.objectContaining({ code: "configuration", message, details: { option } }));
});

it("runTasks takes an array of flows, as register does", () => {
  const job = toolWith({});
  const ours = parley({ tasks: { store, lookMs: 60_000 } });
  expect(() => ours.register(new McpServer({ name: "s", version: "1" }), job as never)).toThrow(ParleyError);
  expect(() => ours.runTasks(job as never)).toThrow(
    expect.objectContaining({ code: "configuration", message: expect.stringContaining("runTasks([flow])") }),
  );
});
