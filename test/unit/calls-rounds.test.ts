import { expect, test, vi } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import { accept, CAPABILITIES, done, form, inOrder, interim, link, type Reply, scripted } from "./calls-peer.ts";

const name = "deploy";
const text = { type: "string" };

test("B1, B3, B5, B11 to B14: each retry carries the original params, this round's answers and the latest state", async () => {
  const peer = await scripted(
    inOrder(
      interim({ a: form({ env: text }), b: form({}) }, "s1"),
      interim({ c: form({}) }, " s2\u00e9\u0301 "),
      done("ok"),
    ),
  );
  const calls = peer.calls({ responders: { form: async (_, { key }) => accept(key === "a" ? { env: "prod" } : {}) } });
  const params = { name, arguments: { z: 1, a: [1, 2] } };
  const result = await calls.callTool(params);
  expect(result.content).toEqual([{ type: "text", text: "ok" }]);
  const [first, second, third] = peer.requests.map(({ params }) => params);
  expect(first).not.toHaveProperty("inputResponses");
  expect(first).not.toHaveProperty("requestState");
  expect(second).toMatchObject({ name, arguments: params.arguments, requestState: "s1" });
  expect(second?.["inputResponses"]).toEqual({ a: accept({ env: "prod" }), b: accept() });
  expect(third?.["inputResponses"]).toEqual({ c: accept() });
  expect(third?.["requestState"]).toBe(" s2\u00e9\u0301 ");
  expect(params).toEqual({ name, arguments: { z: 1, a: [1, 2] } });
});

test("B8, B9: every leg has an id of its own, and I1: a progress token of its own", async () => {
  const peer = await scripted(inOrder(interim(undefined, "s"), interim(undefined, "s"), done()));
  const onProgress = vi.fn();
  const calls = peer.calls({ pacing: { initialMs: 0 } });
  await calls.callTool({ name }, { onProgress, meta: { progressToken: "mine" } });
  expect(new Set(peer.requests.map(({ id }) => id)).size).toBe(3);
  expect(new Set(peer.requests.map(({ params }) => params._meta["progressToken"])).size).toBe(3);
  await calls.callTool({ name }, { meta: { progressToken: "mine" } });
  expect(peer.requests.at(-1)?.params._meta).not.toHaveProperty("progressToken");
});

test("B7: a round without state is retried without one, though an earlier round had it", async () => {
  const peer = await scripted(inOrder(interim({ a: form() }, "s1"), interim({ b: form() }), done()));
  await peer.calls({ responders: { form: async () => accept() } }).callTool({ name });
  expect(peer.requests[1]?.params["requestState"]).toBe("s1");
  expect(peer.requests[2]?.params).not.toHaveProperty("requestState");
});

test("L10: an empty state is a state and is echoed; an empty map is no map", async () => {
  const peer = await scripted(inOrder(interim({ a: form() }, ""), interim({}, "s"), done()));
  await peer.calls({ responders: { form: async () => accept() }, pacing: { initialMs: 0 } }).callTool({ name });
  expect(peer.requests[1]?.params["requestState"]).toBe("");
  expect(peer.requests[2]?.params).toMatchObject({ requestState: "s" });
  expect(peer.requests[2]?.params).not.toHaveProperty("inputResponses");
});

test.each<[string, Reply]>([
  ["with _meta", { resultType: "input_required", _meta: {}, inputRequests: { k: form() }, requestState: "s1" }],
  ["without _meta", { resultType: "input_required", inputRequests: { k: form() }, requestState: "s1" }],
  ["with content", { content: [], resultType: "input_required", inputRequests: { k: form() }, requestState: "s1" }],
  ["in another order", { requestState: "s1", inputRequests: { k: form() }, _meta: {}, resultType: "input_required" }],
])("B01: an interim result %s is an interim result", async (_, reply) => {
  const peer = await scripted(inOrder(reply));
  const call = await peer.calls({ responders: { form: async () => accept() } }).open("tools/call", { name });
  expect(call.status).toBe("asking");
  expect(call.questions).toMatchObject([{ key: "k", kind: "form", repeated: false }]);
  expect(call.toJSON().requestState).toBe("s1");
});

test("B1, L20: a result without resultType is complete, with a warning; only for the driver's own requests", async () => {
  const peer = await scripted(inOrder({ content: [{ type: "text", text: "old" }] }));
  const result = await peer.calls().callTool({ name });
  expect(result.content).toEqual([{ type: "text", text: "old" }]);
  expect(peer.events).toContainEqual(expect.objectContaining({ type: "warning", warning: "missing_result_type" }));
  await expect(peer.client.callTool({ name })).rejects.toMatchObject({ data: { violation: "missing-resultType" } });
});

test.each(["task", "later", "", 7])("B2, B26: resultType %j makes the result invalid", async (resultType) => {
  const peer = await scripted(inOrder({ resultType, content: [] } as unknown as Reply));
  await expect(peer.calls().callTool({ name })).rejects.toMatchObject({ code: "invalid_result" });
  expect(peer.requests).toHaveLength(1);
});

test("B16, B17: capabilities are what the responders give, asked once per call and the same on every leg", async () => {
  const peer = await scripted((_, count) => (count % 2 === 1 ? interim({ a: form() }, "s") : done()));
  let surfaces = 0;
  const calls = peer.calls({
    declare: { extensions: { "x/y": {} } },
    responders: () => (surfaces++ === 0 ? { form: async () => accept() } : { url: async () => accept() }),
  });
  await calls.callTool({ name });
  await expect(calls.callTool({ name })).rejects.toMatchObject({ code: "invalid_interim" });
  const declared = peer.requests.map(({ params }) => params._meta[CAPABILITIES]);
  const extensions = { "x/y": {}, "io.modelcontextprotocol/tasks": {} };
  const formOnly = { elicitation: { form: {} }, extensions };
  expect(declared).toEqual([formOnly, formOnly, { elicitation: { url: {} }, extensions }]);
});

test("B30 (field case): without responders nothing is declared, whatever the client was made with", async () => {
  const peer = await scripted(inOrder(done()));
  await peer.calls({ tasks: false }).callTool({ name });
  expect(peer.requests[0]?.params._meta[CAPABILITIES]).toEqual({});
});

test("B10, B14: two calls in flight share nothing", async () => {
  const peer = await scripted(({ params }) => {
    const tool = String(params["name"]);
    return params["requestState"] === undefined ? interim({ [tool]: form() }, `state-${tool}`) : done(tool);
  });
  const form10Ms = async () => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return accept();
  };
  const calls = peer.calls({ responders: { form: form10Ms } });
  const results = await Promise.all([calls.callTool({ name: "one" }), calls.callTool({ name: "two" })]);
  expect(results.map(({ content }) => (content[0] as { text: string }).text)).toEqual(["one", "two"]);
  for (const { params } of peer.requests.slice(2)) {
    expect(params["requestState"]).toBe(`state-${params["name"]}`);
    expect(Object.keys(params["inputResponses"] as object)).toEqual([params["name"]]);
  }
});

test("I15: each leg is a span of its own in the caller's trace", async () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const peer = await scripted(inOrder(interim(undefined, "s"), done()));
  const calls = peer.calls({ pacing: { initialMs: 0 } });
  await calls.callTool({ name }, { meta: { traceparent } });
  const sent = peer.requests.map(({ params }) => String(params._meta["traceparent"]));
  expect(new Set([traceparent, ...sent]).size).toBe(3);
  for (const span of sent) expect(span).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/);
  await expect(calls.callTool({ name }, { meta: { traceparent: "no" } })).rejects.toThrow(/traceparent/);
});

test("B44, L13: a refused state restarts the call once, without state, and the person is asked again", async () => {
  const refused = {
    error: { code: -32602, message: "Invalid or expired requestState", data: { reason: "invalid_request_state" } },
  };
  const asked = vi.fn(async () => accept());
  const peer = await scripted(inOrder(interim({ a: form() }, "s1"), refused, interim({ a: form() }, "s2"), done("ok")));
  const result = await peer.calls({ responders: { form: asked } }).callTool({ name, arguments: { x: 1 } });
  expect(result.content).toEqual([{ type: "text", text: "ok" }]);
  expect(asked).toHaveBeenCalledTimes(2);
  const again = peer.requests[2]?.params;
  expect(again).toMatchObject({ name, arguments: { x: 1 } });
  expect(again).not.toHaveProperty("requestState");
  expect(again).not.toHaveProperty("inputResponses");
  expect(peer.events.filter(({ type }) => type === "restarted")).toHaveLength(1);

  const twice = await scripted(inOrder(interim({ a: form() }, "s1"), refused, interim({ a: form() }, "s2"), refused));
  await expect(twice.calls({ responders: { form: asked } }).callTool({ name })).rejects.toMatchObject({ code: -32602 });
  expect(twice.requests).toHaveLength(4);
});

test("L13: who is asked again after a restart is told why, until it is answered, in another process too", async () => {
  const refused = { error: { code: -32602, message: "no", data: { reason: "invalid_request_state" } } };
  const asked = interim({ a: form() }, "s");
  const replies = inOrder(asked, refused, interim(undefined, "s"), asked, asked, done());
  const told: unknown[] = [];
  const responders = {
    form: async (_params: unknown, { startedOver }: { startedOver?: boolean }) => {
      told.push(startedOver);
      return accept();
    },
  };
  const pacing = { initialMs: 0 };
  await (await scripted(replies)).calls({ responders, pacing }).callTool({ name });
  expect(told).toEqual([undefined, true, undefined]);

  const peer = await scripted(replies);
  const calls = peer.calls({ responders, pacing });
  const call = await calls.open("tools/call", { name });
  expect(call.toJSON()).not.toHaveProperty("startedOver");
  call.answer("a", accept());
  await call.continue();
  const saved = JSON.stringify(call);
  told.length = 0;
  await calls.resume(saved).run();
  expect(told).toEqual([true, undefined]);
  expect(() => calls.resume({ ...JSON.parse(saved), startedOver: "yes" })).toThrow(/startedOver/);
});

test("L13: nothing else restarts a call: no state, another code, another reason, or the option off", async () => {
  const error = (code: number, reason: string): Reply => ({ error: { code, message: "no", data: { reason } } });
  const cases: [Reply, Reply][] = [
    [interim({ a: form() }), error(-32602, "invalid_request_state")],
    [interim({ a: form() }, "s"), error(-32603, "invalid_request_state")],
    [interim({ a: form() }, "s"), error(-32602, "other")],
  ];
  for (const [first, second] of cases) {
    const peer = await scripted(inOrder(first, second, done()));
    const calls = peer.calls({ responders: { form: async () => accept() } });
    await expect(calls.callTool({ name })).rejects.toHaveProperty("code");
    expect(peer.requests).toHaveLength(2);
  }
  const peer = await scripted(inOrder(interim({ a: form() }, "s"), error(-32602, "invalid_request_state"), done()));
  const calls = peer.calls({ responders: { form: async () => accept() }, restartRefusedState: false });
  await expect(calls.callTool({ name })).rejects.toMatchObject({ code: -32602 });
});

test("B07: -32021 reaches the caller with what is missing", async () => {
  const data = { requiredCapabilities: { elicitation: { url: {} } } };
  const peer = await scripted(inOrder({ error: { code: -32021, message: "missing", data } }));
  await expect(peer.calls().callTool({ name })).rejects.toMatchObject({ code: -32021, data });
});

test("E24: a url that comes back under its key after an accept is marked repeated; after a decline it is not", async () => {
  const replies = [
    interim({ a: link(), b: link() }, "1"),
    interim(undefined, "2"),
    interim({ a: link(), b: link() }, "3"),
  ];
  const peer = await scripted(inOrder(...replies, interim({ a: link("https://example.com/other") }, "4"), done()));
  const seen: [string, boolean | undefined][] = [];
  const url = async (_: unknown, { key, repeated }: { key: string; repeated?: boolean }) => {
    seen.push([key, repeated]);
    return { action: key === "a" ? ("accept" as const) : ("decline" as const) };
  };
  await peer.calls({ responders: { url }, pacing: { initialMs: 0 } }).callTool({ name });
  expect(seen).toEqual([
    ["a", undefined],
    ["b", undefined],
    ["a", true],
    ["b", undefined],
    ["a", undefined],
  ]);
});

test("E24: a url that was accepted, then declined, is asked for like a new one", async () => {
  const peer = await scripted(inOrder(interim({ a: link() }), interim({ a: link() }), interim({ a: link() }), done()));
  const repeated: (boolean | undefined)[] = [];
  const url = async (_: unknown, context: { repeated?: boolean; round: number }) => {
    repeated.push(context.repeated);
    return { action: context.round === 2 ? ("decline" as const) : ("accept" as const) };
  };
  await peer.calls({ responders: { url } }).callTool({ name });
  expect(repeated).toEqual([undefined, true, undefined]);
});

test("events name keys, kinds and sizes; no state, no answer and no result is in them", async () => {
  const peer = await scripted(inOrder(interim({ a: form({ pin: text }) }, "SECRET-STATE"), done("SECRET-RESULT")));
  const responders = { form: async () => accept({ pin: "SECRET-ANSWER" }) };
  await peer.calls({ responders }).callTool({ name, arguments: { x: "SECRET-ARGUMENT" } });
  expect(peer.events.map(({ type }) => type)).toEqual(["leg", "interim", "question", "answered", "leg", "complete"]);
  expect(peer.events[1]).toMatchObject({ round: 1, stateBytes: 12, questions: [{ key: "a", kind: "form" }] });
  expect(JSON.stringify(peer.events)).not.toContain("SECRET");
  const loud = peer.calls({
    onEvent: () => {
      throw new Error("observer");
    },
  });
  await expect(loud.callTool({ name })).resolves.toBeDefined();
});

test("D1: a responder that throws aborted ends the call as its owner would: nothing is sent, no decline, no cancel", async () => {
  const peer = await scripted(inOrder(interim({ a: form(), b: form() }, "s"), done()));
  const interrupted = new ParleyError("aborted", "Interrupted.");
  let signal: AbortSignal | undefined;
  const responders = {
    form: async (_: unknown, context: { key: string; signal: AbortSignal }) => {
      if (context.key === "a") throw interrupted;
      signal = context.signal;
      return new Promise<never>(() => {});
    },
  };
  const call = await peer.calls({ responders }).open("tools/call", { name });
  await expect(call.run()).rejects.toBe(interrupted);
  expect(call.status).toBe("aborted");
  expect(signal?.aborted).toBe(true);
  expect(peer.requests).toHaveLength(1);
  expect(peer.events.at(-1)?.type).toBe("aborted");
  await expect(call.run()).rejects.toMatchObject({ code: "aborted" });
});
