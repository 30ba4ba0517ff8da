import { expect, test } from "vitest";
import type { Call } from "../../src/calls/index.ts";
import {
  accept,
  CAPABILITIES,
  done,
  form,
  HandClock,
  inOrder,
  interim,
  link,
  sampling,
  scripted,
  settle,
} from "./calls-peer.ts";

const name = "deploy";
const text = { type: "string" };
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };

test("B20, D25, L30: a call is answered step by step; accept, decline and cancel go out as they were given", async () => {
  const questions = {
    a: form({ env: text }, ["env"]),
    b: form(),
    c: link(),
    r: { method: "roots/list" },
    s: sampling(),
  };
  const peer = await scripted(inOrder(interim(questions, "s1"), done()));
  const call = await peer.calls().open("tools/call", { name }, { capabilities });
  expect(call.questions.map(({ key, kind }) => [key, kind])).toEqual([
    ["a", "form"],
    ["b", "form"],
    ["c", "url"],
    ["r", "roots"],
    ["s", "sample"],
  ]);
  call.answer("a", accept({ env: "prod" }));
  call.answer("b", { action: "decline", content: { typed: "x" } });
  call.cancel("c");
  call.answer("r", { roots: [{ uri: "file:///w" }] });
  expect(call.unanswered).toEqual(["s"]);
  await expect(call.continue()).rejects.toMatchObject({ code: "call_state" });
  expect(peer.requests).toHaveLength(1);
  const sampled = { role: "assistant" as const, content: { type: "text" as const, text: "Hi" }, model: "m" };
  call.answer("s", { ...sampled, resultType: "complete" } as never);
  await call.continue();
  expect(call.status).toBe("complete");
  expect(call.result?.content).toEqual([{ type: "text", text: "done" }]);
  expect(peer.requests[1]?.params["inputResponses"]).toEqual({
    a: { action: "accept", content: { env: "prod" } },
    b: { action: "decline" },
    c: { action: "cancel" },
    r: { roots: [{ uri: "file:///w" }] },
    s: sampled,
  });
});

test("D21: an answer that does not fit names its field, is not repeated and is not sent; D19: it may be replaced", async () => {
  const peer = await scripted(inOrder(interim({ a: form({ env: { ...text, minLength: 4 } }, ["env"]) }), done()));
  const call = await peer.calls().open("tools/call", { name }, { capabilities });
  const refused = (response: unknown) => {
    try {
      call.answer("a", response as never);
    } catch (error) {
      return error;
    }
    return undefined;
  };
  expect(refused(accept({ env: "PIN" }))).toMatchObject({
    code: "invalid_content",
    details: { key: "a", field: "env" },
  });
  expect(String(refused(accept({ env: "PIN" })))).not.toContain("PIN");
  expect(refused(accept())).toMatchObject({ details: { field: "env" } });
  expect(refused({ action: "accept" })).toMatchObject({ details: { field: "env" } });
  expect(refused({ action: "yes" })).toMatchObject({ details: { field: "action" } });
  expect(refused({ method: "elicitation/create", result: { action: "accept" } })).toMatchObject({
    code: "invalid_content",
  });
  expect(refused(null)).toMatchObject({ code: "invalid_content" });
  expect(call.unanswered).toEqual(["a"]);
  call.answer("a", accept({ env: "prod" }));
  call.answer("a", accept({ env: "test" }));
  await call.continue();
  expect(peer.requests[1]?.params["inputResponses"]).toEqual({ a: accept({ env: "test" }) });
});

test("B23: an accept without content is an accept of an empty form", async () => {
  const peer = await scripted(inOrder(interim({ a: form(), u: link() }), done()));
  const call = await peer.calls().open("tools/call", { name }, { capabilities });
  call.answer("a", { action: "accept" });
  call.answer("u", { action: "accept", content: { x: 1 } });
  await call.continue();
  expect(peer.requests[1]?.params["inputResponses"]).toEqual({ a: accept(), u: { action: "accept" } });
});

test.each<[string, object, unknown, string]>([
  ["F23 a root that is no file", { method: "roots/list" }, { roots: [{ uri: "https://x/" }] }, "roots[0].uri"],
  ["roots that are no list", { method: "roots/list" }, { roots: {} }, "roots"],
  ["F18 a sample without model", sampling(), { role: "assistant", content: { type: "text", text: "" } }, "model"],
  ["F18 a sample without content", sampling(), { role: "assistant", model: "m" }, "content"],
  ["B21 a decline of sampling", sampling(), { action: "decline" }, "role"],
  [
    "F19 no tool use though one is required",
    sampling({ tools: [], toolChoice: { mode: "required" } }),
    { role: "assistant", content: { type: "text", text: "" }, model: "m" },
    "content",
  ],
  [
    "F19 a tool use though none is allowed",
    sampling({ tools: [], toolChoice: { mode: "none" } }),
    { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }], model: "m" },
    "content",
  ],
])("%s is refused", async (_, entry, answer, field) => {
  const peer = await scripted(inOrder(interim({ k: entry })));
  const declared = { ...capabilities, sampling: { tools: {} } };
  const call = await peer.calls().open("tools/call", { name }, { capabilities: declared });
  expect(() => call.answer("k", answer as never)).toThrow(expect.objectContaining({ code: "invalid_content" }));
  try {
    call.answer("k", answer as never);
  } catch (error) {
    expect(error).toMatchObject({ details: { key: "k", field } });
  }
});

test("a leg that timed out can be tried again with the same answers and state", async () => {
  const clock = new HandClock();
  const peer = await scripted(inOrder(interim({ a: form() }, "s1"), "silence", done()));
  const call = await peer.calls({ clock, legTimeoutMs: 1000 }).open("tools/call", { name }, { capabilities });
  call.answer("a", accept());
  const first = expect(call.continue()).rejects.toMatchObject({ code: "leg_timeout" });
  await settle();
  expect(() => call.decline("a")).toThrow(/in flight/);
  await clock.pass(1000);
  await first;
  expect(call.status).toBe("asking");
  await call.continue();
  expect(call.status).toBe("complete");
  const [, second, third] = peer.requests;
  for (const field of ["inputResponses", "requestState", "name"])
    expect(third?.params[field]).toEqual(second?.params[field]);
  expect(third?.id).not.toBe(second?.id);
});

test("a call that is over says so", async () => {
  const peer = await scripted(inOrder(interim({ a: form() }, "s1"), done()));
  const call = await peer.calls().open("tools/call", { name }, { capabilities });
  expect(() => call.decline("b")).toThrow(/no question "b"/);
  call.abort();
  expect(call.status).toBe("aborted");
  expect(call.questions).toEqual([]);
  for (const attempt of [() => call.decline("a"), () => call.toJSON()]) expect(attempt).toThrow();
  await expect(call.continue()).rejects.toMatchObject({ code: "aborted" });
  await expect(call.run()).rejects.toMatchObject({ code: "aborted" });
  expect(peer.notifications).toHaveLength(0);
});

test("B30, L24: a saved call goes on in another process, days later", async () => {
  const clock = new HandClock();
  const questions = { a: form({ env: text }), u: link(), b: form() };
  const first = await scripted(inOrder(interim(questions, "s1")));
  const options = { clock, responders: { form: async () => accept(), url: async () => accept() } };
  const open = await first.calls(options).open("tools/call", { name, arguments: { x: [1] } }, { meta: { "a/b": 1 } });
  open.answer("a", accept({ env: "prod" }));
  const saved = JSON.stringify(open);

  await clock.pass(3 * 24 * 3_600_000);
  const second = await scripted(inOrder(interim({ u: link() }, "s2"), done("late")));
  const seen: unknown[] = [];
  const url = async (_: unknown, context: { params: unknown; repeated?: boolean; round: number }) => {
    seen.push([context.params, context.repeated, context.round]);
    return { action: "accept" as const };
  };
  const call = second.calls({ clock, responders: { form: async () => accept(), url } }).resume(saved);
  expect(second.requests).toHaveLength(0);
  expect(call.unanswered).toEqual(["u", "b"]);
  expect(call.id).toBe(open.id);
  await expect(call.run()).resolves.toMatchObject({ content: [{ text: "late" }] });
  const params = { name, arguments: { x: [1] }, _meta: { "a/b": 1 } };
  expect(second.requests[0]?.params).toMatchObject({ ...params, requestState: "s1" });
  expect(second.requests[0]?.params["inputResponses"]).toMatchObject({ a: accept({ env: "prod" }), b: accept() });
  const extensions = { "io.modelcontextprotocol/tasks": {} };
  expect(second.requests[0]?.params._meta[CAPABILITIES]).toEqual({ elicitation: { form: {}, url: {} }, extensions });
  expect(seen).toEqual([
    [params, undefined, 1],
    [params, true, 2],
  ]);
});

test("a resumed call keeps its deadlines: past the human limit no answer is taken", async () => {
  const clock = new HandClock();
  const peer = await scripted(inOrder(interim({ a: form() }, "s1"), done()));
  const calls = peer.calls({ clock, humanTimeoutMs: 1000 });
  const saved = (await calls.open("tools/call", { name }, { capabilities })).toJSON();
  await clock.pass(999);
  calls.resume(saved).decline("a");
  await clock.pass(1);
  const late = calls.resume(saved);
  expect(() => late.decline("a")).toThrow(expect.objectContaining({ code: "human_timeout" }));
  expect(late.status).toBe("failed");
});

test.each<[string, (saved: Record<string, unknown>) => unknown, string]>([
  ["text that is no JSON", () => "{state: s1", ""],
  ["a number", () => 7, ""],
  ["another format", (saved) => ({ ...saved, format: "x" }), "format"],
  ["another version", (saved) => ({ ...saved, version: 2 }), "version"],
  ["another server", (saved) => ({ ...saved, server: "other" }), "server"],
  ["another method", (saved) => ({ ...saved, method: "tools/list" }), "method"],
  ["params that are none", (saved) => ({ ...saved, params: [] }), "params"],
  ["params without a name", (saved) => ({ ...saved, params: {} }), "params.name"],
  ["a name that is none", (saved) => ({ ...saved, params: { name: 1 } }), "params.name"],
  ["a uri where a name belongs", (saved) => ({ ...saved, params: { uri: "x" } }), "params.name"],
  ["no uri", (saved) => ({ ...saved, method: "resources/read" }), "params.uri"],
  ["arguments that are none", (saved) => ({ ...saved, params: { name, arguments: [1] } }), "params.arguments"],
  ["_meta that is text", (saved) => ({ ...saved, params: { name, _meta: "text" } }), "params._meta"],
  ["_meta that is a list", (saved) => ({ ...saved, params: { name, _meta: [] } }), "params._meta"],
  ["_meta that is null", (saved) => ({ ...saved, params: { name, _meta: null } }), "params._meta"],
  [
    "a traceparent that is none",
    (saved) => ({ ...saved, params: { name, _meta: { traceparent: 7 } } }),
    "params._meta.traceparent",
  ],
  ["a state among its params", (saved) => ({ ...saved, params: { name, requestState: "x" } }), "params.requestState"],
  [
    "answers among its params",
    (saved) => ({ ...saved, params: { name, inputResponses: {} } }),
    "params.inputResponses",
  ],
  ["a name of its own that is none", (saved) => ({ ...saved, callId: "x\ny" }), "callId"],
  ["an end before all time", (saved) => ({ ...saved, endBy: -1 }), "endBy"],
  ["a limit before all time", (saved) => ({ ...saved, answerBy: -1 }), "answerBy"],
  ["a state that is none", (saved) => ({ ...saved, requestState: 1 }), "requestState"],
  ["a broken question", (saved) => ({ ...saved, questions: { a: { method: "x" } } }), "questions"],
  ["an undeclared question", (saved) => ({ ...saved, capabilities: {} }), "questions"],
  ["an answer to nothing", (saved) => ({ ...saved, answers: { z: accept() } }), "answers.z"],
  ["an answer that does not fit", (saved) => ({ ...saved, answers: { a: { action: "yes" } } }), "answers.a"],
  ["a round that is none", (saved) => ({ ...saved, round: 0 }), "round"],
  ["a deadline that is none", (saved) => ({ ...saved, answerBy: "soon" }), "answerBy"],
  ["urls that are none", (saved) => ({ ...saved, acceptedUrls: { a: 1 } }), "acceptedUrls"],
])("a saved call with %s is not resumed, and the field is named", async (_, change, field) => {
  const peer = await scripted(inOrder(interim({ a: form() }, "s1")));
  const calls = peer.calls();
  const saved = (await calls.open("tools/call", { name }, { capabilities })).toJSON();
  expect(calls.resume(saved).unanswered).toEqual(["a"]);
  const resume = () => calls.resume(change({ ...saved }));
  expect(resume).toThrow(expect.objectContaining({ code: "invalid_resume", details: { field } }));
  expect(resume).not.toThrow(/s1/);
});

test("B11: a resumed call's progress token is left out as a new call's is", async () => {
  const peer = await scripted(inOrder(interim({ a: form() }, "s1"), done()));
  const calls = peer.calls();
  const saved = (await calls.open("tools/call", { name }, { capabilities })).toJSON();
  const call = calls.resume({ ...saved, params: { name, _meta: { progressToken: "stolen", "a/b": 1 } } });
  call.decline("a");
  await call.continue();
  expect(peer.requests[1]?.params._meta).toMatchObject({ "a/b": 1 });
  expect(peer.requests[1]?.params._meta).not.toHaveProperty("progressToken");
});

test("L24: a resumed call whose time is up says so in words that hold for this host's options", async () => {
  const clock = new HandClock();
  const peer = await scripted(inOrder(interim({ a: form() }, "s1"), done()));
  const saved = (
    await peer.calls({ clock, totalTimeoutMs: 1000 }).open("tools/call", { name }, { capabilities })
  ).toJSON();
  await clock.pass(1000);
  const call = peer.calls({ clock }).resume(saved);
  call.decline("a");
  const failure = await call.continue().catch((error: Error) => error);
  expect(failure).toMatchObject({ code: "total_timeout" });
  expect(peer.requests).toHaveLength(1);
  expect(String(failure)).not.toContain("Infinity");
});

test("B22: aborting from an observer leaves one story: complete if the result was there, aborted if not", async () => {
  for (const [at, status] of [
    ["complete", "complete"],
    ["answered", "aborted"],
    ["interim", "aborted"],
  ] as const) {
    const peer = await scripted(inOrder(interim({ a: form() }), done()));
    const owner = new AbortController();
    const types: string[] = [];
    const onEvent = ({ type }: { type: string }) => {
      types.push(type);
      if (type === at) owner.abort();
    };
    const calls = peer.calls({ onEvent, responders: { form: async () => accept() } });
    const call = await calls.open("tools/call", { name }, { signal: owner.signal }).catch((error: unknown) => error);
    const outcome = call instanceof Error ? call : await (call as Call).run().catch((error: unknown) => error);
    expect(types.filter((type) => ["complete", "failed", "aborted"].includes(type))).toEqual([status]);
    expect(outcome).toMatchObject(status === "complete" ? { content: [{ text: "done" }] } : { code: "aborted" });
    if (!(call instanceof Error)) expect((call as Call).status).toBe(status);
  }
});
