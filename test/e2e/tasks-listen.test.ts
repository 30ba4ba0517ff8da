/** Task notifications at the wire, on both mounts: who may listen, what is told, and when it ends (H6, H13, H30 to H32). */

import { isTaskStatusNotificationV2, readAcceptedTaskIdsV2 } from "@modelcontextprotocol/ext-tasks/core/v2";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { type AuthInfo, createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createParley, type Parley, type ParleyHandler, type TasksOptions, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import type { TestServer } from "../helpers/http.ts";
import { type Listening, type ListenOptions, listenRequest, openListen, SUBSCRIPTION_ID } from "../helpers/listen.ts";
import { MOUNTS, type Mount, serveFlows } from "../helpers/mounts.ts";
import { TASKS, TaskWire, textIn, yes } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const people: Record<string, AuthInfo> = {
  ann: { token: "ann", clientId: "app", scopes: [], extra: { iss: "https://id", sub: "ann" } },
  bob: { token: "bob", clientId: "app", scopes: [], extra: { iss: "https://id", sub: "bob" } },
};
/** So long that nothing is heard by looking. */
const NEVER = 3_600_000;

/** One gate for each name. */
class Gates {
  readonly #open = new Map<string, () => void>();
  readonly passed = (name: string) => new Promise<void>((resolve) => this.#open.set(name, resolve));
  async open(name: string): Promise<void> {
    (await until(() => this.#open.get(name)))();
  }
}

interface World {
  readonly url: string;
  readonly parley: Parley;
  readonly handler: Pick<ParleyHandler, "notify" | "close" | "fetch">;
  readonly gates: Gates;
  readonly ann: TaskWire;
  readonly bob: TaskWire;
  readonly reads: () => number;
  listen(notifications: unknown, options?: ListenOptions): Promise<Listening>;
}

const closers: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function world(mount: Mount, tasks: Partial<TasksOptions> = {}, keepAliveMs = 15_000): Promise<World> {
  const gates = new Gates();
  const flows = [
    tool("works", { background: {}, inputSchema: z.object({ gate: z.string() }) }, async ({ gate }, flow) => {
      await flow.progress({ progress: 1, total: 2, message: "begun" });
      await flow.step("work", () => gates.passed(gate));
      return text(`through ${gate}`);
    }),
    tool("asks", { background: {} }, async (_args, flow) => {
      const [a, b] = await Promise.all([flow.confirm("a", "A?"), flow.confirm("b", "B?")]);
      return text(`${a} ${b}`);
    }),
    tool("waits", { background: {} }, async (_args, flow) => text(String(await flow.confirm("go", "Go?")))),
    tool("then", { background: {} }, async (_args, flow) => {
      await flow.step("before", () => gates.passed("before"));
      return text(String(await flow.confirm("go", "Go?")));
    }),
    tool("says", { background: {} }, async (_args, flow) => {
      await flow.step("before", () => gates.passed("before"));
      await flow.progress({ progress: 1, total: 2, message: "half" });
      await flow.step("after", () => gates.passed("after"));
      return text("said");
    }),
    tool("many", { background: {} }, async (_args, flow) => {
      for (let n = 0; n < 20; n++) await flow.confirm(`q${n}`, `${n}?`);
      return text("through");
    }),
    tool("short", { background: { ttlMs: 60, pollIntervalMs: 20 } }, async (_args, flow) => {
      await flow.confirm("a", "A?");
      return text("late");
    }),
  ];
  const memory = memoryTasks();
  let reads = 0;
  const read = (id: string) => {
    reads++;
    return memory.read(id);
  };
  const store = { ...memory, read };
  const parley = createParley({
    keys: [Buffer.from("0123456789abcdef0123456789abcdef")],
    callers: "authenticated",
    tasks: { store, pollIntervalMs: NEVER, lookMs: 20, ...tasks },
    onEvent: () => undefined,
  });
  let handler: World["handler"] | undefined;
  const server: TestServer = await serveFlows(mount, parley, flows, {
    callers: (token) => people[token ?? ""],
    onHandler: (made) => {
      handler = made;
    },
    handler: { keepAliveMs },
  });
  const open: Listening[] = [];
  closers.push(async () => {
    for (const one of open) one.drop();
    await server.close();
    await parley.close();
  });
  return {
    url: server.url,
    parley,
    handler: handler as World["handler"],
    gates,
    ann: new TaskWire(server.url, { token: "ann" }),
    bob: new TaskWire(server.url, { token: "bob" }),
    reads: () => reads,
    listen: async (notifications, options = {}) => {
      const one = await openListen(server.url, notifications, { token: "ann", ...options });
      open.push(one);
      return one;
    },
  };
}

describe.each(MOUNTS)("task notifications, on the %s mount", (mount) => {
  it("H30 are acknowledged first, tell every change of the task as tasks/get does, and end with it", async () => {
    const { listen, ann, gates } = await world(mount);
    const taskId = await ann.begin("works", { gate: "g" });
    await ann.when(taskId, ({ statusMessage }) => statusMessage === "begun");
    const stream = await listen({ taskIds: [taskId] }, { id: "sub-1" });
    expect({ status: stream.status, type: stream.headers["content-type"] }).toMatchObject({
      status: 200,
      type: "text/event-stream",
    });
    expect(await stream.acknowledged()).toEqual({ taskIds: [taskId] });
    await until(() => stream.tasks()[0]);
    const working = (await ann.get(taskId)).result as object;
    await gates.open("g");
    await until(() => stream.ended || undefined);
    const ended = (await ann.get(taskId)).result as object;
    const [acknowledged, ...rest] = stream.messages;
    expect(acknowledged).toMatchObject({ method: "notifications/subscriptions/acknowledged" });
    const last = rest.pop();
    expect(last).toEqual({
      jsonrpc: "2.0",
      id: "sub-1",
      result: { resultType: "complete", _meta: expect.objectContaining({ [SUBSCRIPTION_ID]: "sub-1" }) },
    });
    const notification = (task: object) => {
      const { resultType: _, _meta: __, ...params } = task as Record<string, unknown>;
      return {
        jsonrpc: "2.0",
        method: "notifications/tasks",
        params: { ...params, _meta: { [SUBSCRIPTION_ID]: "sub-1" } },
      };
    };
    expect(rest).toEqual([notification(working), notification(ended)]);
    // The official schemas, too.
    expect(rest.map((message) => isTaskStatusNotificationV2(message))).toEqual([true, true]);
    expect(readAcceptedTaskIdsV2((acknowledged as { params: object }).params)).toEqual([taskId]);
    expect(textIn((ended as { result: unknown }).result)).toBe("through g");
  });

  it("H30 H17 tell of questions, of each answer, and of a result, without anybody looking", async () => {
    const { listen, ann } = await world(mount);
    const taskId = await ann.begin("asks");
    const stream = await listen({ taskIds: [taskId] });
    const keys = () => stream.tasks().map(({ inputRequests = {} }) => Object.keys(inputRequests as object).join());
    await until(() => keys().includes("a,b") || undefined);
    await ann.update(taskId, { b: yes });
    await until(() => keys().at(-1) === "a" || undefined);
    await ann.update(taskId, { a: yes });
    await until(() => stream.ended || undefined);
    const statuses = stream.statuses().filter((status, at, all) => status !== all[at - 1]);
    expect(statuses.slice(statuses.indexOf("input_required"))).toEqual(["input_required", "working", "completed"]);
    expect(textIn(stream.tasks().at(-1)?.["result"])).toBe("true true");
  });

  it("H28 H20 tell of a cancellation, and of an expiry that nobody told of", async () => {
    const { listen, ann } = await world(mount);
    const [waits, short] = [await ann.begin("waits"), await ann.begin("short")];
    const stream = await listen({ taskIds: [waits, short] });
    await until(() => stream.tasks(waits).find(({ status }) => status === "input_required"));
    await ann.cancel(waits);
    await until(() => stream.ended || undefined);
    expect(stream.statuses(waits).at(-1)).toBe("cancelled");
    expect(stream.tasks(short).at(-1)).toMatchObject({ status: "failed", error: { data: { reason: "expired" } } });
  });

  it("H13 L36 leave ids out that are unknown or somebody else's, all alike, and hear nothing of them", async () => {
    const { listen, ann, bob, gates } = await world(mount);
    const [own, foreign] = [await ann.begin("works", { gate: "own" }), await bob.begin("works", { gate: "foreign" })];
    const stream = await listen({ taskIds: [foreign, "nobody's", own, own] });
    expect(await stream.acknowledged()).toEqual({ taskIds: [own] });
    await gates.open("foreign");
    await bob.ended(foreign);
    await gates.open("own");
    await until(() => stream.ended || undefined);
    expect(stream.text).not.toContain(foreign);
    // Nothing is left to tell: as with the SDK's own subscriptions, that is said and the stream ends.
    for (const taskIds of [[foreign], ["nobody's"], []]) {
      const nothing = await listen({ taskIds });
      await until(() => nothing.ended || undefined);
      expect(nothing.messages).toMatchObject([
        { params: { notifications: { taskIds: [] } } },
        { id: 7, result: { resultType: "complete" } },
      ]);
    }
    const stranger = await listen({ taskIds: [own] }, { token: "nobody" });
    await until(() => stranger.ended || undefined);
    expect(stranger.messages).toMatchObject([{ error: { code: -32600 } }]);
  });

  it("H6 refuse a request that did not declare the extension, and one that is malformed", async () => {
    const { listen, ann } = await world(mount, { idsPerSubscription: 2 });
    const taskId = await ann.begin("waits");
    const undeclared = await listen({ taskIds: [taskId] }, { capabilities: { elicitation: {} } });
    await until(() => undeclared.ended || undefined);
    expect(undeclared.status).toBe(400);
    expect(undeclared.messages).toMatchObject([
      { id: 7, error: { code: -32021, data: { requiredCapabilities: TASKS } } },
    ]);
    for (const taskIds of ["t", [1], {}, ["a", "b", "c"]]) {
      const malformed = await listen({ taskIds });
      await until(() => malformed.ended || undefined);
      expect(malformed.messages).toMatchObject([
        { id: 7, error: { code: -32602, message: expect.stringContaining("taskIds must") } },
      ]);
    }
    // The SDK's own checks come first, and a listen without taskIds is the SDK's alone.
    const other = await listen({ taskIds: [taskId], toolsListChanged: "yes" });
    await until(() => other.ended || undefined);
    expect(other.messages).toMatchObject([{ error: { code: -32602 } }]);
    const plain = await listen({ toolsListChanged: true }, { capabilities: {} });
    expect(await plain.acknowledged()).toEqual({ toolsListChanged: true });
  });

  it("A11 L15 L18 end with what the request lacks to be asked, at once or when it is asked", async () => {
    const { listen, ann, gates } = await world(mount);
    const taskId = await ann.begin("waits");
    await ann.questions(taskId);
    const missing = { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } };
    const atOnce = await listen({ taskIds: [taskId] }, { capabilities: TASKS });
    await until(() => atOnce.ended || undefined);
    expect([atOnce.status, atOnce.messages]).toMatchObject([400, [{ id: 7, error: missing }]]);
    const [later, other] = [await ann.begin("then"), await ann.begin("works", { gate: "g" })];
    const stream = await listen({ taskIds: [later, other] }, { capabilities: TASKS });
    await until(() => stream.tasks(later)[0]);
    await gates.open("before");
    await until(() => stream.ended || undefined);
    expect(stream.messages.at(-1)).toMatchObject({ id: 7, error: missing });
    expect(stream.text).not.toContain("elicitation/create");
    await gates.open("g");
  });

  it("SUB one stream tells of list changes and of tasks, and each part ends by itself", async () => {
    const { listen, ann, gates, handler } = await world(mount);
    const taskId = await ann.begin("works", { gate: "g" });
    const stream = await listen({ toolsListChanged: true, taskIds: [taskId], promptsListChanged: true });
    // There are no prompts, so their changes are not agreed to.
    expect(await stream.acknowledged()).toEqual({ toolsListChanged: true, taskIds: [taskId] });
    handler.notify.toolsChanged();
    await until(() => stream.of("notifications/tools/list_changed")[0]);
    await gates.open("g");
    await until(() => stream.statuses().includes("completed") || undefined);
    handler.notify.toolsChanged();
    await until(() => stream.of("notifications/tools/list_changed")[1]);
    expect(stream.ended).toBe(false);
    await handler.close();
    await until(() => stream.ended || undefined);
    expect(stream.messages.at(-1)).toMatchObject({ id: 7, result: { resultType: "complete" } });
    const ids = stream.messages.slice(0, -1).map(({ params }) => (params as { _meta: object })._meta);
    expect(new Set(ids.map((meta) => JSON.stringify(meta)))).toEqual(new Set([`{"${SUBSCRIPTION_ID}":7}`]));
  });

  it("H31 progress is the task's status message, told at once; no progress and no message is sent", async () => {
    const { listen, ann, gates } = await world(mount);
    const taskId = await ann.begin("says");
    const stream = await listen({ taskIds: [taskId] });
    await until(() => stream.tasks()[0]);
    expect(stream.tasks()).toMatchObject([{ status: "working" }]);
    await gates.open("before");
    await until(() => stream.tasks().find(({ statusMessage }) => statusMessage === "half"));
    await gates.open("after");
    await until(() => stream.ended || undefined);
    const methods = new Set(stream.messages.map(({ method }) => method));
    expect(methods).toEqual(new Set(["notifications/subscriptions/acknowledged", "notifications/tasks", undefined]));
  });

  it("end in order when the server stops, or this process hands its tasks on", async () => {
    for (const stop of ["handler", "parley"] as const) {
      const made = await world(mount, { drainMs: 50 });
      const taskId = await made.ann.begin("waits");
      const stream = await made.listen({ taskIds: [taskId] });
      await until(() => stream.statuses().includes("input_required") || undefined);
      await made[stop].close();
      await until(() => stream.ended || undefined);
      expect(stream.messages.at(-1), stop).toMatchObject({ id: 7, result: { resultType: "complete" } });
    }
  });

  it("H30 tell of what ends while this process gives its tasks back", async () => {
    const { listen, ann, gates, parley } = await world(mount);
    const [ends, stays] = [await ann.begin("works", { gate: "g" }), await ann.begin("waits")];
    const stream = await listen({ taskIds: [ends, stays] });
    await until(() => stream.tasks(ends).find(({ statusMessage }) => statusMessage === "begun"));
    const closing = parley.close();
    await gates.open("g");
    await closing;
    await until(() => stream.ended || undefined);
    expect([stream.statuses(ends).at(-1), stream.statuses(stays).at(-1)]).toEqual(["completed", "input_required"]);
    expect(stream.messages.at(-1)).toMatchObject({ id: 7, result: { resultType: "complete" } });
  });

  it("a client that is gone costs nothing more: no reads, no place", async () => {
    const { listen, ann, reads } = await world(mount, { pollIntervalMs: 5, subscriptionsPerCaller: 2 });
    const taskId = await ann.begin("waits");
    await ann.questions(taskId);
    const streams = [await listen({ taskIds: [taskId] }), await listen({ taskIds: [taskId] })];
    const before = reads();
    await until(() => reads() > before + 3 || undefined);
    const full = await listen({ taskIds: [taskId] });
    await until(() => full.ended || undefined);
    expect(full.messages).toMatchObject([{ error: { code: -32603, data: { reason: "limit_exceeded" } } }]);
    for (const stream of streams) stream.drop();
    await until(async () => {
      const again = await listen({ taskIds: [taskId] });
      await until(() => again.messages[0]);
      const admitted = again.messages[0]?.["method"] !== undefined;
      again.drop();
      return admitted || undefined;
    });
    await until(async () => {
      const then = reads();
      await new Promise((resolve) => setTimeout(resolve, 60));
      return reads() === then || undefined;
    });
  });

  it("H30 a slow reader misses what was in between, gets the last of it, and nothing piles up for it", async () => {
    const { handler, ann } = await world(mount);
    const taskId = await ann.begin("many");
    const { headers, body } = listenRequest({ taskIds: [taskId] });
    const authInfo = people["ann"] as AuthInfo;
    const request = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(body) });
    const response = await handler.fetch(request, { authInfo });
    for (let n = 0; n < 20; n++) {
      await ann.when(taskId, ({ inputRequests }) => `q${n}` in Object(inputRequests));
      await ann.update(taskId, { [`q${n}`]: yes });
    }
    await ann.ended(taskId);
    const events = (await response.text()).split("\n\n").filter((event) => event.includes("notifications/tasks"));
    expect(events.length).toBeLessThanOrEqual(2);
    expect(events.at(-1)).toContain("through");
  });

  it("a reader that cancels is a client that is gone", async () => {
    const { handler, ann, reads } = await world(mount, { pollIntervalMs: 5 });
    const taskId = await ann.begin("waits");
    const { headers, body } = listenRequest({ taskIds: [taskId] });
    const request = new Request("http://127.0.0.1/mcp", { method: "POST", headers, body: JSON.stringify(body) });
    const response = await handler.fetch(request, { authInfo: people["ann"] as AuthInfo });
    const before = reads();
    await until(() => reads() > before + 3 || undefined);
    await response.body?.cancel();
    const then = reads();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(reads()).toBeLessThanOrEqual(then + 1);
  });

  it("bounds all callers together", async () => {
    const { listen, ann, bob } = await world(mount, { subscriptions: 1 });
    const taskId = await ann.begin("waits");
    const first = await listen({ taskIds: [taskId] });
    await first.acknowledged();
    const second = await listen({ taskIds: [await bob.begin("waits")] }, { token: "bob" });
    await until(() => second.ended || undefined);
    expect(second.messages).toMatchObject([{ error: { message: "Subscription limit reached" } }]);
    first.drop();
    await until(async () => {
      const third = await listen({ taskIds: [taskId] });
      await until(() => third.messages[0]);
      return third.messages[0]?.["method"];
    });
  });

  it("H13 end with the credentials they were opened with", async () => {
    people["eve"] = { ...people["ann"], token: "eve", expiresAt: Date.now() / 1_000 + 0.15 } as AuthInfo;
    const { listen, ann } = await world(mount);
    const taskId = await ann.begin("waits");
    await ann.questions(taskId);
    const [brief, lasting] = [
      await listen({ taskIds: [taskId] }, { token: "eve" }),
      await listen({ taskIds: [taskId] }),
    ];
    await until(() => brief.ended || undefined);
    expect(brief.messages.at(-1)).toMatchObject({ id: 7, result: { resultType: "complete" } });
    expect(lasting.ended).toBe(false);
  });
});

it("taskSubscriptions takes what createMcpHandler made, and leaves it alone where there are no tasks", () => {
  const handler = createMcpHandler(() => new McpServer({ name: "s", version: "1.0.0" }));
  const keys = [Buffer.from("0123456789abcdef0123456789abcdef")];
  const plain = createParley({ keys, callers: "anonymous" });
  expect(plain.taskSubscriptions(handler)).toBe(handler);
  const parley = createParley({ keys, callers: "anonymous", tasks: memoryTasks() });
  const wrong = (rule: RegExp) =>
    expect.objectContaining({ code: "configuration", message: expect.stringMatching(rule) });
  expect(() => parley.taskSubscriptions(toNodeHandler(handler) as never)).toThrow(wrong(/createMcpHandler made/));
  expect(() => parley.taskSubscriptions(handler, { keepAliveMs: -1 })).toThrow(wrong(/keepAliveMs/));
});

it("G29 a stream of tasks alone is kept alive with comments", async () => {
  const { listen, ann } = await world("native", {}, 10);
  const stream = await listen({ taskIds: [await ann.begin("waits")] });
  await until(() => stream.text.split(": keepalive\n\n").length > 3 || undefined);
});
