/** The driver with calls that go on as tasks, against a server that can also be wrong. */
import { expect, test } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import {
  accept,
  CAPABILITIES,
  form,
  HandClock,
  interim,
  link,
  type Reply,
  type Seen,
  scripted,
  settle,
} from "./calls-peer.ts";

const name = "build";
const ID = "task-1";
const TASKS = { "io.modelcontextprotocol/tasks": {} };
const ACK: Reply = { resultType: "complete" };
const times = { createdAt: "2026-01-01T00:00:00Z", lastUpdatedAt: "2026-01-01T00:00:00Z", ttlMs: null };
const begun = (more: object = {}): Reply => ({ resultType: "task", taskId: ID, status: "working", ...times, ...more });
const now = (status: string, more: object = {}): Reply => ({
  resultType: "complete",
  taskId: ID,
  status,
  ...times,
  ...more,
});
const completed = now("completed", { result: { resultType: "complete", content: [{ type: "text", text: "built" }] } });

/** Answers `tools/call` from one list and `tasks/get` from another; the last ones repeat. */
function server(calls: Reply[], gets: Reply[]) {
  const counts = new Map<string, number>();
  return ({ method }: Seen): Reply => {
    const count = counts.get(method) ?? 0;
    counts.set(method, count + 1);
    const replies = method === "tools/call" ? calls : method === "tasks/get" ? gets : [ACK];
    return replies[Math.min(count, replies.length - 1)] as Reply;
  };
}
const methods = (requests: readonly Seen[]) => requests.map(({ method }) => method);
const asked = () => {
  const keys: string[] = [];
  const responders = {
    form: async (_params: unknown, { key }: { key: string }) => {
      keys.push(key);
      return accept();
    },
  };
  return { keys, responders };
};

test("H4: a task on the first round or on a later one is looked after to its result", async () => {
  for (const calls of [[begun()], [interim({ a: form() }, "s"), begun()]]) {
    const peer = await scripted(server(calls, [completed]));
    const result = await peer.calls({ responders: asked().responders }).callTool({ name });
    expect(result).toEqual({ content: [{ type: "text", text: "built" }] });
    expect(methods(peer.requests).at(-1)).toBe("tasks/get");
  }
});

test("H1: the extension is declared on every request of a tool call, and on no other method's", async () => {
  const peer = await scripted(server([begun()], [now("input_required", { inputRequests: { a: form() } }), completed]));
  const { responders } = asked();
  await peer.calls({ responders }).callTool({ name });
  for (const { params } of peer.requests)
    expect(params._meta[CAPABILITIES]).toEqual({ elicitation: { form: {} }, extensions: TASKS });
  expect(methods(peer.requests)).toEqual(["tools/call", "tasks/get", "tasks/update", "tasks/get"]);
  const prompts = await scripted(() => ({ resultType: "complete", messages: [] }));
  await prompts.calls({ responders }).getPrompt({ name });
  expect(prompts.requests[0]?.params._meta[CAPABILITIES]).toEqual({ elicitation: { form: {} } });
});

test("B48 (field case), H23: a question is put once however often it is seen, and answered with one update", async () => {
  const k = now("input_required", { inputRequests: { k: form() } });
  const both = now("input_required", { inputRequests: { k: form(), k2: form() } });
  const gets = [k, k, now("reticulating"), k, k, k, both, completed];
  const peer = await scripted(server([begun({ pollIntervalMs: 1 })], gets));
  const { keys, responders } = asked();
  await peer.calls({ responders }).callTool({ name });
  expect(keys).toEqual(["k", "k2"]);
  const updates = peer.requests.filter(({ method }) => method === "tasks/update");
  expect(updates.map(({ params }) => [params["taskId"], Object.keys(params["inputResponses"] as object)])).toEqual([
    [ID, ["k"]],
    [ID, ["k2"]],
  ]);
});

test("H19: looks as often as the server said last", async () => {
  const clock = new HandClock();
  const gets = [now("working", { pollIntervalMs: 500 }), now("working", { pollIntervalMs: 2_000 }), completed];
  const peer = await scripted(server([begun({ pollIntervalMs: 9_999 })], gets));
  const call = peer.calls({ clock }).callTool({ name });
  await settle();
  const gotten = () => peer.requests.filter(({ method }) => method === "tasks/get").length;
  expect(gotten()).toBe(1);
  await clock.pass(499);
  expect(gotten()).toBe(1);
  await clock.pass(1);
  expect(gotten()).toBe(2);
  await clock.pass(1_999);
  expect(gotten()).toBe(2);
  await clock.pass(1);
  await expect(call).resolves.toBeDefined();
});

test("H15: a failed task fails the call as its own error would have", async () => {
  const failed = now("failed", { error: { code: -31_500, message: "broken", data: { why: 1 } } });
  const peer = await scripted(server([begun()], [failed]));
  await expect(peer.calls().callTool({ name })).rejects.toMatchObject({
    code: -31_500,
    message: "broken",
    data: { why: 1 },
  });
});

test("a task that somebody else cancelled ends the call by name", async () => {
  const peer = await scripted(server([begun()], [now("cancelled")]));
  await expect(peer.calls().callTool({ name })).rejects.toMatchObject({ code: "task_cancelled" });
});

test("H28, H29: aborting the call cancels the task, and sends no cancellation of a request", async () => {
  const peer = await scripted(server([begun()], [now("input_required", { inputRequests: { a: form() } })]));
  const call = await peer.calls({ responders: asked().responders }).open("tools/call", { name });
  expect([call.status, call.unanswered, call.task]).toEqual([
    "asking",
    ["a"],
    { taskId: ID, status: "input_required", pollIntervalMs: 1000, ttlMs: null },
  ]);
  call.abort();
  await settle();
  expect(peer.requests.at(-1)).toMatchObject({ method: "tasks/cancel", params: { taskId: ID } });
  expect(peer.notifications).toEqual([]);
  expect(call.status).toBe("aborted");
  expect(peer.events.slice(-2)).toMatchObject([{ type: "aborted" }, { type: "task_cancel", acknowledged: true }]);
});

test("H28: who waits for an aborted call hears of it once its server has, or could not", async () => {
  for (const [cancelled, acknowledged] of [
    [ACK, true],
    [{ error: { code: -32_602, message: "no such task" } }, false],
  ] as const) {
    const peer = await scripted((request) =>
      request.method === "tasks/cancel" ? cancelled : server([begun()], [now("working")])(request),
    );
    const stop = new AbortController();
    const running = peer.calls().callTool({ name }, { signal: stop.signal });
    await settle();
    expect(methods(peer.requests)).toEqual(["tools/call", "tasks/get"]);
    stop.abort();
    await expect(running).rejects.toMatchObject({ code: "aborted" });
    expect(peer.events.at(-1)).toMatchObject({ type: "task_cancel", acknowledged });
  }
});

test("H28: who ends the call at a task's question is told, too, once the server has heard of it", async () => {
  let acknowledge = () => {};
  const heard = new Promise<void>((resolve) => {
    acknowledge = resolve;
  });
  const asks = now("input_required", { inputRequests: { a: form() } });
  const peer = await scripted(async (request) => {
    if (request.method === "tasks/cancel") await heard;
    return server([begun()], [asks])(request);
  });
  const leave = async () => {
    throw new ParleyError("aborted", "Ctrl-C");
  };
  let over = false;
  const running = peer.calls({ responders: { form: leave } }).callTool({ name });
  const ended = running.catch((error: unknown) => {
    over = true;
    return error;
  });
  await settle();
  expect([methods(peer.requests).at(-1), over]).toEqual(["tasks/cancel", false]);
  acknowledge();
  expect(await ended).toMatchObject({ code: "aborted", message: "Ctrl-C" });
});

test("H28: a server that does not answer keeps who aborted for five seconds, not for ever", async () => {
  const clock = new HandClock();
  const peer = await scripted((request) =>
    request.method === "tasks/cancel" ? "silence" : server([begun()], [now("working")])(request),
  );
  const stop = new AbortController();
  const running = peer.calls({ clock }).callTool({ name }, { signal: stop.signal });
  await settle();
  stop.abort();
  let over = false;
  const ended = running.catch(() => {
    over = true;
  });
  await clock.pass(4_999);
  expect(over).toBe(false);
  await clock.pass(1);
  await ended;
  expect(peer.events.at(-1)).toMatchObject({ type: "task_cancel", acknowledged: false });
  expect(clock.pending).toBe(0);
});

test("H19: a call that is let go of leaves its task running, and goes on where it was saved", async () => {
  const peer = await scripted(server([begun()], [now("working"), completed]));
  const clock = new HandClock();
  const calls = peer.calls({ clock, followTasks: false });
  const call = await calls.open("tools/call", { name });
  const saved = JSON.stringify(call);
  call.leave();
  await settle();
  expect([call.status, clock.pending]).toEqual(["aborted", 0]);
  expect(peer.events.at(-1)).toMatchObject({ type: "aborted", left: true });
  await expect(call.continue()).rejects.toMatchObject({ code: "aborted" });
  expect(methods(peer.requests)).toEqual(["tools/call"]);
  const running = calls.resume(saved).run();
  await settle();
  await clock.pass(1_000);
  await expect(running).resolves.toMatchObject({ content: [{ text: "built" }] });
});

test("H19: a call is saved before it is let go of, and says so afterwards", async () => {
  const peer = await scripted(server([begun()], [now("working")]));
  const call = await peer.calls({ followTasks: false }).open("tools/call", { name });
  expect(call.toJSON().task?.taskId).toBe(ID);
  call.leave();
  expect(() => call.toJSON()).toThrow(/let go of: save it before leave\(\)/);
});

test("H19: without followTasks a call comes back once it is a task, and then after each exchange", async () => {
  const asks = now("input_required", { inputRequests: { a: form() } });
  const peer = await scripted(server([begun({ ttlMs: 60_000 })], [now("working"), asks, asks, completed]));
  const clock = new HandClock();
  const call = await peer
    .calls({ responders: asked().responders, clock, followTasks: false })
    .open("tools/call", { name });
  const sent = () => methods(peer.requests.splice(0));
  expect([sent(), call.status, call.task]).toEqual([
    ["tools/call"],
    "asking",
    { taskId: ID, status: "working", pollIntervalMs: 1000, ttlMs: 60_000 },
  ]);
  await call.continue();
  expect([sent(), call.unanswered]).toEqual([["tasks/get"], []]);
  await call.continue();
  expect([sent(), call.unanswered]).toEqual([["tasks/get"], ["a"]]);
  call.answer("a", accept());
  await call.continue();
  // The answer is with the server: what is saved now does not hold it any more (H23).
  expect([sent(), call.toJSON().answers, call.toJSON().task?.answered]).toEqual([["tasks/update"], {}, ["a"]]);
  await call.continue();
  expect([sent(), call.unanswered, call.status]).toEqual([["tasks/get"], [], "asking"]);
  await call.continue();
  expect([call.status, clock.pending]).toEqual(["complete", 0]);
});

test("H19, B24: a server that is away for a while costs a task nothing; one that stays away fails the call", async () => {
  const clock = new HandClock();
  let away = false;
  const peer = await scripted(server([begun()], [now("working")]));
  const send = peer.client.transport?.send.bind(peer.client.transport);
  Object.assign(peer.client.transport as object, {
    send: (...args: Parameters<NonNullable<typeof send>>) => {
      if (away) throw new TypeError("unreachable");
      return send?.(...args);
    },
  });
  const running = peer.calls({ clock, taskOutageMs: 60_000 }).callTool({ name });
  const ended = running.catch((error: unknown) => error);
  await settle();
  away = true;
  for (let second = 0; second < 50; second++) await clock.pass(1_000);
  expect(peer.events.filter(({ type }) => type === "resent").length).toBeGreaterThan(40);
  away = false;
  await clock.pass(1_000);
  const looks = () => methods(peer.requests).filter((method) => method === "tasks/get").length;
  await settle();
  expect(looks()).toBeGreaterThan(1);
  const words = () => peer.events.filter(({ type }) => type === "task").map((event) => Object(event).back);
  expect(words(), "its first word says that it is back").toEqual([undefined, true]);
  await clock.pass(5_000);
  expect(words()).toHaveLength(2);
  away = true;
  for (let second = 0; second < 70; second++) await clock.pass(1_000);
  expect(await ended).toBeInstanceOf(TypeError);
  expect(clock.pending).toBe(0);
});

test("H19: a saved call goes on with its task in another process, and asks what was not answered", async () => {
  const gets = [now("input_required", { inputRequests: { a: form(), b: form() } })];
  const first = await scripted(server([begun({ pollIntervalMs: 7 })], gets));
  const open = await first.calls({ responders: asked().responders }).open("tools/call", { name });
  open.answer("a", accept());
  const saved = JSON.stringify(open);
  const kept = { taskId: ID, since: expect.any(Number), ttlMs: null, pollIntervalMs: 7, answered: [] };
  expect(JSON.parse(saved).task).toEqual(kept);
  const second = await scripted(
    server([], [now("input_required", { inputRequests: { a: form(), b: form() } }), completed]),
  );
  const { keys, responders } = asked();
  const call = second.calls({ responders }).resume(saved);
  await expect(call.run()).resolves.toMatchObject({ content: [{ text: "built" }] });
  expect(keys).toEqual(["b"]);
  expect(methods(second.requests)).toEqual(["tasks/update", "tasks/get", "tasks/get"]);
  expect(Object.keys(second.requests[0]?.params["inputResponses"] as object)).toEqual(["a", "b"]);
});

test.each([
  ["no id", { taskId: 1 }],
  ["no list of answered keys", { answered: "a" }],
  ["a negative interval", { pollIntervalMs: -1 }],
  ["a beginning that is no time", { since: "today" }],
  ["a life that is no time", { ttlMs: -1 }],
])("refuses to resume a task with %s", async (_what, wrong) => {
  const peer = await scripted(server([begun()], [now("input_required", { inputRequests: { a: form() } })]));
  const calls = peer.calls({ responders: asked().responders });
  const saved = (await calls.open("tools/call", { name })).toJSON();
  expect(() => calls.resume(saved)).not.toThrow();
  const bent = { ...saved, task: { ...saved.task, ...wrong } };
  expect(() => calls.resume(bent)).toThrow(
    expect.objectContaining({ code: "invalid_resume", details: { field: "task" } }),
  );
});

test.each([
  ["H4: on a method that cannot become one", "prompts/get", {}, begun()],
  ["H3: on a call that declared none", "tools/call", { tasks: false }, begun()],
  ["H8: without an id", "tools/call", {}, begun({ taskId: undefined })],
] as const)("a task is invalid %s", async (_what, method, options, reply) => {
  const peer = await scripted(() => reply);
  await expect(peer.calls(options).open(method, { name })).rejects.toMatchObject({ code: "invalid_result" });
  expect(peer.requests).toHaveLength(1);
});

test("A11, B18: what a task asks is checked like what a round asks, before anybody sees it", async () => {
  const peer = await scripted(server([begun()], [now("input_required", { inputRequests: { u: link() } })]));
  const { keys, responders } = asked();
  await expect(peer.calls({ responders }).callTool({ name })).rejects.toMatchObject({ code: "invalid_interim" });
  expect(keys).toEqual([]);
});

test("H20: a question of a task waits until its task ends, or as long as the host waits, whichever is sooner", async () => {
  const day = 86_400_000;
  const question = (ttlMs: number | null) => now("input_required", { inputRequests: { a: form() }, ttlMs });
  for (const [ttlMs, humanTimeoutMs, waits] of [
    [day, 7 * day, day],
    [day, 1_000, 1_000],
    [null, 7 * day, 7 * day],
  ] as const) {
    const clock = new HandClock();
    const told: (number | undefined)[] = [];
    const responders = {
      form: async (_params: unknown, { answerBy }: { answerBy?: number }) => {
        told.push(answerBy);
        return accept();
      },
    };
    const peer = await scripted(server([begun({ ttlMs })], [question(ttlMs), completed]));
    const startedAt = clock.now();
    await peer.calls({ clock, humanTimeoutMs, responders }).callTool({ name });
    expect(told).toEqual([startedAt + waits]);
  }
});

test("H20: nobody is asked longer than the task lives, nor in another process", async () => {
  const clock = new HandClock();
  const question = now("input_required", { inputRequests: { a: form() }, ttlMs: 60_000 });
  const peer = await scripted(server([begun({ ttlMs: 60_000 })], [now("working", { ttlMs: 60_000 }), question]));
  const responders = { form: () => new Promise<never>(() => {}) };
  const calls = peer.calls({ clock, responders, followTasks: false });
  const call = await calls.open("tools/call", { name });
  const saved = JSON.stringify(call);
  call.leave();
  await clock.pass(30_000);
  const ended = calls
    .resume(saved)
    .run()
    .catch((error: unknown) => error);
  await clock.pass(29_999);
  expect(peer.events.map(({ type }) => type)).toContain("question");
  expect(peer.events.map(({ type }) => type)).not.toContain("failed");
  await clock.pass(1);
  expect(await ended).toMatchObject({ code: "human_timeout" });
});

test("H37: a task's method that answers as a round would has no result", async () => {
  const peer = await scripted(server([begun()], [interim({ a: form() }, "s")]));
  await expect(peer.calls({ responders: asked().responders }).callTool({ name })).rejects.toMatchObject({
    code: "invalid_result",
  });
});

test("B25: a task that asks without end is left after the allowed rounds", async () => {
  let count = 0;
  const peer = await scripted(({ method }) => {
    if (method === "tools/call") return begun({ pollIntervalMs: 1 });
    return method === "tasks/get" ? now("input_required", { inputRequests: { [`k${count++}`]: form() } }) : ACK;
  });
  const call = peer.calls({ responders: asked().responders, maxRounds: 3 }).callTool({ name });
  await expect(call).rejects.toMatchObject({ code: "rounds_exceeded" });
});

test("tells an observer how the task stands, once for each change", async () => {
  const gets = [now("working", { statusMessage: "1 of 2" }), now("working", { statusMessage: "1 of 2" }), completed];
  const peer = await scripted(server([begun({ pollIntervalMs: 1 })], gets));
  await peer.calls().callTool({ name });
  const told = peer.events
    .filter(({ type }) => type === "task")
    .map((event) => [Object(event).status, Object(event).statusMessage]);
  expect(told).toEqual([
    ["working", undefined],
    ["working", "1 of 2"],
    ["completed", undefined],
  ]);
});

test.each<[string, Reply]>([
  ["no object", now("completed")],
  ["no content", now("completed", { result: { resultType: "complete" } })],
  ["content that is none", now("completed", { result: { content: 5 } })],
  ["a question", now("completed", { result: { resultType: "input_required", content: [] } })],
  ["a task", now("completed", { result: { resultType: "task", taskId: "other", content: [] } })],
  ["another task's", now("completed", { taskId: "other", result: { content: [] } })],
])("H16, B01: a task's result is judged as the call's own would be: %s is none", async (_, end) => {
  const peer = await scripted(server([begun()], [end]));
  await expect(peer.calls().callTool({ name })).rejects.toMatchObject({ code: "invalid_result" });
});

test("B48: a status that is no word is none that is known, and an error's code that is no integer counts as none", async () => {
  const deep = JSON.parse(`${"[".repeat(5_000)}${"]".repeat(5_000)}`);
  for (const status of [{ toString: 1, valueOf: 1 }, deep, undefined]) {
    const peer = await scripted(server([begun({ status })], [completed]));
    expect(await peer.calls().callTool({ name })).toMatchObject({ content: [{ text: "built" }] });
    expect(peer.events.find(({ type }) => type === "task")).toMatchObject({ status: "unknown" });
  }
  const failed = now("failed", { error: { code: Number.POSITIVE_INFINITY, message: "no" } });
  const peer = await scripted(server([begun()], [failed]));
  await expect(peer.calls().callTool({ name })).rejects.toMatchObject({ code: -32603, message: "no" });
});
