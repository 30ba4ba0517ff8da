import { describe, expect, test } from "vitest";
import { capabilitiesOf } from "../../src/calls/capabilities.ts";
import { systemClock } from "../../src/calls/clock.ts";
import { resolveOptions } from "../../src/calls/options.ts";
import { nextSpan, randomHex } from "../../src/calls/trace.ts";
import { done, inOrder, scripted } from "./calls-peer.ts";

const server = "files";
const ask = async () => ({ action: "cancel" as const });

test("defaults are resolved in one place", () => {
  expect(resolveOptions({ server, maxRounds: undefined } as never)).toMatchObject({
    legTimeoutMs: 60_000,
    humanTimeoutMs: 604_800_000,
    totalTimeoutMs: Number.POSITIVE_INFINITY,
    maxRounds: 25,
    maxQuestions: 64,
    pacing: { initialMs: 250, factor: 2, maxMs: 5000, jitter: 0.2 },
    restartRefusedState: true,
    resendLostLegs: 1,
    maxRequestStateBytes: 1_048_576,
  });
});

test.each<[string, unknown, string]>([
  ["no options", undefined, "options"],
  ["no server", {}, "server"],
  ["an empty server", { server: "" }, "server"],
  ["an unknown option", { server, maxRound: 3 }, "maxRound"],
  ["an endless leg", { server, legTimeoutMs: Number.POSITIVE_INFINITY }, "legTimeoutMs"],
  ["a text for a duration", { server, humanTimeoutMs: "1s" }, "humanTimeoutMs"],
  ["no rounds", { server, maxRounds: 0 }, "maxRounds"],
  ["no questions", { server, maxQuestions: 0 }, "maxQuestions"],
  ["half a resend", { server, resendLostLegs: 0.5 }, "resendLostLegs"],
  ["shrinking pauses", { server, pacing: { factor: 0.5 } }, "pacing.factor"],
  ["a small longest pause", { server, pacing: { maxMs: 1 } }, "pacing.maxMs"],
  ["an unknown pacing", { server, pacing: { ms: 1 } }, "pacing.ms"],
  ["a responder that is no function", { server, responders: { form: true } }, "responders.form"],
  ["tools without sampling", { server, responders: { sampleTools: true } }, "responders.sampleTools"],
  ["a hook that is no function", { server, onEvent: {} }, "onEvent"],
])("%s is a configuration error that names the option", (_, options, option) => {
  const resolve = () => resolveOptions(options as never);
  expect(resolve).toThrow(expect.objectContaining({ code: "configuration", details: { option } }));
});

test.each([
  [{}, {}],
  [{ form: ask }, { elicitation: { form: {} } }],
  [{ url: ask }, { elicitation: { url: {} } }],
  [{ form: ask, url: ask }, { elicitation: { form: {}, url: {} } }],
  [{ sample: ask as never }, { sampling: {} }],
  [{ sample: ask as never, sampleTools: true }, { sampling: { tools: {} } }],
  [{ roots: ask as never }, { roots: {} }],
])("B16, D24: capabilities of %j are %j", (responders, capabilities) => {
  expect(capabilitiesOf(responders)).toEqual(capabilities);
});

describe("what a call is given", () => {
  test.each<[string, unknown, string]>([
    ["no name", { arguments: {} }, "params.name"],
    ["an answer", { name: "x", inputResponses: {} }, "params.inputResponses"],
    ["a state", { name: "x", requestState: "s" }, "params.requestState"],
    ["_meta that is text", { name: "x", _meta: "text" }, "params._meta"],
    ["arguments that are a list", { name: "x", arguments: [] }, "params.arguments"],
    ["a bigint", { name: "x", arguments: { n: 1n } }, "params"],
  ])("%s in params is a configuration error", async (_, params, option) => {
    const peer = await scripted(inOrder(done()));
    const call = peer.calls().callTool(params as never);
    await expect(call).rejects.toMatchObject({ code: "configuration", details: { option } });
    expect(peer.requests).toHaveLength(0);
  });

  test("L12: changing the params after the call began changes nothing, and responders cannot change them", async () => {
    const peer = await scripted(inOrder({ resultType: "input_required", requestState: "s" }, done()));
    const params = { name: "x", arguments: { list: [1] } };
    const call = peer.calls({ pacing: { initialMs: 1 } }).callTool(params);
    params.arguments.list.push(2);
    await call;
    for (const request of peer.requests) expect(request.params["arguments"]).toEqual({ list: [1] });
  });
});

test("the system clock chains delays that a timer cannot hold, and takes them back", async () => {
  let fired = false;
  const cancel = systemClock.after(3_000_000_000, () => {
    fired = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect(fired).toBe(false);
  cancel();
  await new Promise<void>((resolve) => systemClock.after(1, resolve));
});

test("I15: a span id is never all zero", () => {
  expect(randomHex(8, () => 0)).toBe("0000000000000001");
  const next = nextSpan("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", () => 0.999);
  expect(next).toBe("00-0af7651916cd43dd8448eb211c80319c-ffffffffffffffff-01");
});
