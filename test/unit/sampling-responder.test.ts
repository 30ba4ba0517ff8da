import { describe, expect, test, vi } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import { type SamplingApproval, samplingResponder } from "../../src/present/index.ts";
import type { SamplingParams, SamplingResult } from "../../src/protocol/types.ts";
import { type Model, samplingLimits } from "../../src/sampling/index.ts";
import { done, inOrder, interim, sampling, scripted } from "./calls-peer.ts";
import { contextOf } from "./present-fake-terminal.ts";

const PROMPT: SamplingParams = {
  maxTokens: 50,
  messages: [{ role: "user", content: { type: "text", text: "Sum up." } }],
};
const TOOLS = [{ name: "t", inputSchema: { type: "object" as const } }];
const said = (text: string): SamplingResult => ({ role: "assistant", model: "m", content: { type: "text", text } });
const uses: SamplingResult = {
  role: "assistant",
  model: "m",
  content: [{ type: "tool_use", id: "1", name: "t", input: {}, _meta: { "x/y": 1 } }],
};
const YES: SamplingApproval = { request: async (_view, params) => params, response: async (_view, result) => result };

function asking(
  options: { approve?: Partial<SamplingApproval>; model?: Model; limits?: ReturnType<typeof samplingLimits> } = {},
) {
  const model = vi.fn<Model>(options.model ?? (async () => said("Fine.")));
  const approve = { ...YES, ...options.approve };
  const { sample } = samplingResponder({ model, approve, ...(options.limits && { limits: options.limits }) });
  return {
    model,
    ask: (params: Partial<SamplingParams> = {}, context = {}) => sample!({ ...PROMPT, ...params }, contextOf(context)),
  };
}

describe("F13/S1: request and answer are approved apart", () => {
  test("both see who asks and the whole text; what they give back is what counts", async () => {
    const seen: string[] = [];
    const { ask, model } = asking({
      model: async () => said("long"),
      approve: {
        request: async (view, params) => {
          seen.push(`${view.server.id} ${view.call.target} ${view.sampling.parts[0]?.text.text}`);
          return { ...params, maxTokens: 5 };
        },
        response: async (view, result) => {
          seen.push(`${view.server.id} ${view.call.target} ${view.sampling.parts[0]?.text.text}`);
          return { ...result, content: { type: "text", text: "short" } } as SamplingResult;
        },
      },
    });
    expect(await ask()).toEqual(said("short"));
    expect(model.mock.calls[0]?.[0]).toEqual({ ...PROMPT, maxTokens: 5 });
    expect(seen).toEqual(["deploy-server deploy Sum up.", "deploy-server deploy long"]);
  });

  test.each<["request" | "response", "decline" | "cancel", string, number]>([
    ["request", "decline", "input_declined", 0],
    ["request", "cancel", "input_cancelled", 0],
    ["response", "decline", "input_declined", 1],
    ["response", "cancel", "input_cancelled", 1],
  ])("F21: a refused %s (%s) ends the call", async (stage, refusal, code, runs) => {
    const { ask, model } = asking({ approve: { [stage]: async () => refusal } });
    await expect(ask()).rejects.toMatchObject({ code, key: "window" });
    expect(model).toHaveBeenCalledTimes(runs);
  });

  test("F21/B21: nothing goes back to the server for a refusal", async () => {
    const peer = await scripted(inOrder(interim({ sum: sampling() }, "s"), done()));
    const { sample } = samplingResponder({
      model: async () => said("x"),
      approve: { ...YES, response: async () => "decline" },
    });
    const call = peer.calls({ responders: { sample: sample! } }).callTool({ name: "t" });
    await expect(call).rejects.toMatchObject({ code: "unanswerable", cause: { code: "input_declined" } });
    expect(peer.requests).toHaveLength(1);
  });

  test("S1: an answer that cannot be shown whole is not put to anybody, and not sent", async () => {
    const response = vi.fn(YES.response);
    const { ask } = asking({ model: async () => said("x".repeat(200_001)), approve: { response } });
    await expect(ask()).rejects.toMatchObject({
      code: "unanswerable",
      message: expect.stringContaining("too large to be reviewed"),
    });
    expect(response).not.toHaveBeenCalled();
  });

  test("a call that ends while the model works asks nobody", async () => {
    const call = new AbortController();
    const response = vi.fn(YES.response);
    const reason = new ParleyError("human_timeout", "Too late.");
    const { ask } = asking({
      model: async () => {
        call.abort(reason);
        return said("x");
      },
      approve: { response },
    });
    await expect(ask({}, { signal: call.signal })).rejects.toBe(reason);
    expect(response).not.toHaveBeenCalled();
  });
});

describe("section F, both ways", () => {
  test.each<[string, Partial<SamplingParams>, string]>([
    ["F5", { maxTokens: 0 }, "maxTokens must be a positive integer"],
    ["F6", { messages: [{ role: "system" as never, content: { type: "text", text: "x" } }] }, "a role"],
    ["F8", { messages: [{ role: "assistant", content: uses.content }] }, "not followed by its result"],
  ])("%s: a request that breaks it is put to nobody", async (rule, params, reason) => {
    const request = vi.fn(YES.request);
    const { ask, model } = asking({ approve: { request } });
    const error = await ask(params).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ code: "invalid_interim", message: expect.stringContaining(rule) });
    expect((error as Error).message).toContain(reason);
    expect([request.mock.calls.length, model.mock.calls.length]).toEqual([0, 0]);
  });

  test.each<[string, Partial<SamplingParams>, SamplingResult, string | undefined]>([
    ["F19 required: with a use", { tools: TOOLS, toolChoice: { mode: "required" } }, uses, undefined],
    ["F19 required: without", { tools: TOOLS, toolChoice: { mode: "required" } }, said("x"), "must use a tool"],
    ["F19 none: without", { tools: TOOLS, toolChoice: { mode: "none" } }, said("x"), undefined],
    ["F19 none: with a use", { tools: TOOLS, toolChoice: { mode: "none" } }, uses, "may not use tools"],
    ["no tools offered, one used", {}, uses, "may not use tools"],
    [
      "F18 no model",
      {},
      { role: "assistant", content: { type: "text", text: "x" } } as never,
      "model must be a string",
    ],
    ["F18 no content", {}, { role: "assistant", model: "m", content: [] } as never, "content must be"],
    ["F18 a foreign role", {}, { ...said("x"), role: "system" } as never, "role must be"],
  ])("%s", async (_name, params, result, reason) => {
    const { ask } = asking({ model: async () => result });
    // F20: what passes is passed on as it is, `_meta` of its blocks included.
    if (reason === undefined) return expect(await ask(params)).toEqual(result);
    return expect(ask(params)).rejects.toMatchObject({
      code: "model_failed",
      message: expect.stringContaining(reason),
    });
  });

  test.each<[string, Partial<SamplingApproval>, string]>([
    [
      "F15: more tokens",
      { request: async (_v, params) => ({ ...params, maxTokens: 51 }) },
      "maxTokens may only be lowered",
    ],
    ["F6: no content", { request: async (_v, params) => ({ ...params, messages: [{} as never] }) }, "content blocks"],
    [
      "F18: an edited answer",
      { response: async (_v, result) => ({ ...result, content: [] }) as never },
      "content must be",
    ],
  ])("an approval may not break a rule either: %s", async (_name, approve, reason) => {
    await expect(asking({ approve }).ask()).rejects.toMatchObject({
      code: "invalid_content",
      message: expect.stringContaining(reason),
    });
  });
});

describe("F14: limits", () => {
  test("a passed limit fails before anybody is asked, as the call's reason", async () => {
    const request = vi.fn(YES.request);
    const { sample } = samplingResponder({
      model: async () => said("x"),
      approve: { ...YES, request },
      limits: samplingLimits({ maxTokensPerRequest: 9 }),
    });
    const peer = await scripted(inOrder(interim({ sum: sampling() }, "s"), done()));
    const call = peer.calls({ responders: { sample: sample! } }).callTool({ name: "t" });
    await expect(call).rejects.toMatchObject({
      code: "unanswerable",
      message: expect.stringMatching(/"sum" for "files".+9 tokens in one request.+raise maxTokensPerRequest/),
      cause: { code: "limit_exceeded" },
    });
    expect(request).not.toHaveBeenCalled();
    expect(peer.requests).toHaveLength(1);
  });

  test("over the rounds of one call it is one budget; the next call starts anew", async () => {
    const { sample } = samplingResponder({
      model: async () => said("x"),
      approve: YES,
      limits: samplingLimits({ maxTokensPerCall: 25 }),
    });
    const peer = await scripted((_request, count) => (count % 4 === 0 ? done() : interim({ sum: sampling() }, "s")));
    const tool = () => peer.calls({ responders: { sample: sample! } }).callTool({ name: "t" });
    await expect(tool()).rejects.toMatchObject({ message: expect.stringContaining("raise maxTokensPerCall") });
    expect(peer.requests).toHaveLength(3);
    await expect(tool()).resolves.toMatchObject({ content: [{ text: "done" }] });
  });

  test.each<[string, Partial<SamplingApproval>, Model, number]>([
    ["a refused request costs nothing", { request: async () => "decline" }, async () => said("x"), 100],
    ["a refused answer cost what it cost", { response: async () => "decline" }, async () => said("x"), 50],
    ["a model that failed may have cost all", {}, async () => Promise.reject(new Error("down")), 50],
  ])("%s", async (_name, approve, model, left) => {
    const limits = samplingLimits({ maxTokensPerCall: 100, maxConcurrent: 1 });
    await expect(asking({ approve, model, limits }).ask({}, { callId: "c" })).rejects.toThrow();
    const next = { ...PROMPT, maxTokens: left + 1 };
    expect(() => limits.check(next, contextOf({ callId: "c" }))).toThrow("raise maxTokensPerCall");
    limits.check({ ...PROMPT, maxTokens: left }, contextOf({ callId: "c" }));
  });
});

test("B30: tools are declared only when they are served; a bad option is named", () => {
  const model = async () => said("x");
  expect(Object.keys(samplingResponder({ model, approve: YES }))).toEqual(["sample"]);
  expect(samplingResponder({ model, approve: YES, tools: true }).sampleTools).toBe(true);
  expect(() => samplingResponder({ model } as never)).toThrow("approve must have request and response");
  expect(() => samplingResponder({ approve: YES } as never)).toThrow("model must be a function");
});
