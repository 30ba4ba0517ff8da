/** A model behind the chat completions format, over real HTTP on loopback. */
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SamplingParams, SamplingResult } from "../../src/protocol/types.ts";
import { type OpenAiModelOptions, openAiModel } from "../../src/sampling/index.ts";
import { usageOf } from "../../src/sampling/model.ts";
import {
  completion,
  type ModelReply,
  type ModelRequest,
  type ModelServer,
  modelServer,
  refusal,
} from "../helpers/model-server.ts";
import { HandClock } from "./calls-peer.ts";
import { contextOf } from "./present-fake-terminal.ts";

const KEY = "sk-the-key-nobody-may-see";
const PROMPT = "the prompt nobody may see";
const ask = (more: Partial<SamplingParams> = {}): SamplingParams => ({
  maxTokens: 50,
  messages: [{ role: "user", content: { type: "text", text: PROMPT } }],
  ...more,
});
const tool = (name: string) => ({ name, description: "Does it", inputSchema: { type: "object" as const } });
const called = (name: string, args: unknown, id = "call_1") => ({
  content: null,
  tool_calls: [{ id, type: "function", function: { name, arguments: args } }],
});

let server: ModelServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(reply: ModelReply | ((request: ModelRequest, count: number) => ModelReply)) {
  server = await modelServer((request, count) => {
    // A function of two is asked for each request's reply; one of one writes the response itself.
    return typeof reply === "function" && reply.length === 2
      ? (reply as (r: ModelRequest, n: number) => ModelReply)(request, count)
      : (reply as ModelReply);
  });
  const model = (options: Partial<OpenAiModelOptions> = {}) =>
    openAiModel({ baseUrl: server!.url, model: "m", apiKey: KEY, ...options });
  return {
    model,
    requests: server.requests,
    run: (params = ask(), options = {}) => model(options)(params, contextOf()),
  };
}

/** The error, which must hold neither the key, the prompt nor what the endpoint said. */
async function failure(promise: Promise<SamplingResult>): Promise<{ code: string; message: string }> {
  const error = await promise.then(
    (result) => new Error(`answered: ${JSON.stringify(result)}`),
    (reason: unknown) => reason,
  );
  const told = `${(error as Error).stack} ${JSON.stringify(error)} ${String((error as Error).cause)}`;
  expect(told).not.toContain(KEY);
  expect(told).not.toContain(PROMPT);
  return error as never;
}

describe("what is asked for", () => {
  test("text, system prompt and the bounds; the key as a bearer token; F15: maxTokens as it was asked", async () => {
    const { run, requests } = await serve(completion({ content: "Fine." }));
    const result = await run(
      ask({
        systemPrompt: "Be brief.",
        temperature: 0.2,
        stopSequences: ["END"],
        metadata: { a: 1 },
        includeContext: "none",
      }),
      { headers: { "x-org": "acme" } },
    );
    expect(result).toEqual({
      role: "assistant",
      content: { type: "text", text: "Fine." },
      model: "served-model",
      stopReason: "endTurn",
    });
    expect(requests[0]?.path).toBe("/v1/chat/completions");
    expect(requests[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-org": "acme" });
    expect(requests[0]?.body).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: PROMPT },
      ],
      max_tokens: 50,
      temperature: 0.2,
      stop: ["END"],
      stream: false,
    });
  });

  test("the other name of the token limit, and no key where there is none", async () => {
    const { run, requests } = await serve(completion({ content: "x" }));
    const { apiKey: _none, ...options } = { apiKey: undefined, tokenLimitField: "max_completion_tokens" as const };
    await openAiModel({ baseUrl: server!.url, model: "m", ...options })(ask(), contextOf());
    expect(requests[0]?.body).toMatchObject({ max_completion_tokens: 50 });
    expect(requests[0]?.body).not.toHaveProperty("max_tokens");
    expect(requests[0]?.headers).not.toHaveProperty("authorization");
    await run();
    expect(requests[1]?.headers).toHaveProperty("authorization");
  });

  test("images and audio go where the format has a place for them", async () => {
    const { run, requests } = await serve(completion({ content: "x" }));
    await run(
      ask({
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "image", mimeType: "image/png", data: "aGk=" },
              { type: "audio", mimeType: "audio/mpeg", data: "aGk=" },
            ],
          },
        ],
      }),
    );
    expect(requests[0]?.body.messages[0]?.content).toEqual([
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
      { type: "input_audio", input_audio: { data: "aGk=", format: "mp3" } },
    ]);
  });

  test.each<[string, SamplingParams["messages"]]>([
    [
      "audio that is neither WAV nor MP3",
      [{ role: "user", content: { type: "audio", mimeType: "audio/ogg", data: "" } }],
    ],
    ["image of the assistant", [{ role: "assistant", content: { type: "image", mimeType: "image/png", data: "" } }]],
    ["an image of an unknown type", [{ role: "user", content: { type: "image", mimeType: "image/a;b", data: "" } }]],
    [
      "image in a tool result",
      [
        { role: "assistant", content: { type: "tool_use", id: "1", name: "t", input: {} } },
        {
          role: "user",
          content: {
            type: "tool_result",
            toolUseId: "1",
            content: [{ type: "image", mimeType: "image/png", data: "" }],
          },
        },
      ],
    ],
  ])("%s has no place: it fails by name, and nothing is sent", async (what, messages) => {
    const { run, requests } = await serve(completion({ content: "x" }));
    const error = await failure(run(ask({ messages })));
    expect(error).toMatchObject({ code: "unanswerable", message: expect.stringContaining(what) });
    expect(requests).toEqual([]);
  });

  test("F7 to F9: a tool loop's history; a name the format refuses gets a stand-in and comes back", async () => {
    const { run, requests } = await serve(
      completion(called("notes_read", '{"day":"monday"}'), { finish: "tool_calls" }),
    );
    const result = await run(
      ask({
        tools: [tool("notes.read"), tool("notes_list")],
        toolChoice: { mode: "required" },
        messages: [
          { role: "user", content: { type: "text", text: "Go" } },
          {
            role: "assistant",
            content: [
              { type: "text", text: "Reading." },
              { type: "tool_use", id: "a", name: "notes.read", input: { day: "sunday" } },
              { type: "tool_use", id: "b", name: "notes_list", input: {} },
            ],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", toolUseId: "a", content: [{ type: "text", text: "Rain." }] },
              { type: "tool_result", toolUseId: "b", content: [{ type: "text", text: "Gone." }], isError: true },
            ],
          },
        ],
      }),
    );
    expect(requests[0]?.body).toMatchObject({
      tool_choice: "required",
      tools: [
        { type: "function", function: { name: "notes_read", description: "Does it", parameters: { type: "object" } } },
        { type: "function", function: { name: "notes_list" } },
      ],
    });
    const use = (id: string, name: string, input: object) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    });
    expect(requests[0]?.body.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: "Reading.",
        tool_calls: [use("a", "notes_read", { day: "sunday" }), use("b", "notes_list", {})],
      },
      { role: "tool", tool_call_id: "a", content: "Rain." },
      { role: "tool", tool_call_id: "b", content: "The tool failed.\nGone." },
    ]);
    expect(result).toMatchObject({
      content: { type: "tool_use", id: "call_1", name: "notes.read", input: { day: "monday" } },
      stopReason: "toolUse",
    });
  });
});

describe("F18: what comes back", () => {
  test.each<[string, object, object]>([
    ["endTurn", completion({ content: "x" }), { stopReason: "endTurn" }],
    ["maxTokens", completion({ content: "x" }, { finish: "length" }), { stopReason: "maxTokens" }],
    ["stopSequence", completion({ content: "x" }, { choice: { stop_reason: "END" } }), { stopReason: "stopSequence" }],
    [
      "a reason of the endpoint's own",
      completion({ content: "x" }, { finish: "content_filter" }),
      { stopReason: "content_filter" },
    ],
    ["no reason", completion({ content: "x" }, { choice: { finish_reason: null } }), {}],
    [
      "toolUse, also where the endpoint says stop",
      completion(called("t", "{}")),
      { stopReason: "toolUse", content: { type: "tool_use", id: "call_1", name: "t", input: {} } },
    ],
    [
      "a refusal in its own words",
      completion({ content: null, refusal: "No." }),
      { stopReason: "refusal", content: { type: "text", text: "No." } },
    ],
    [
      "text beside tools",
      completion({ ...called("t", ""), content: "Hm." }),
      { content: [{ type: "text", text: "Hm." }, { type: "tool_use" }] },
    ],
  ])("%s", async (_name, reply, expected) => {
    const { run } = await serve(reply);
    expect(await run(ask({ tools: [tool("t")], stopSequences: ["END"] }))).toMatchObject(expected);
  });

  test("what it cost is known beside the result, not in it", async () => {
    const { run } = await serve(completion({ content: "x" }, { usage: { prompt_tokens: 7, completion_tokens: 3 } }));
    const result = await run();
    expect(usageOf(result)).toEqual({ inputTokens: 7, outputTokens: 3 });
    expect(JSON.stringify(result)).not.toMatch(/usage|7/);
  });

  test.each<[string, object | string]>([
    ["choices[0].message is missing", { choices: [] }],
    ["choices[0].message is missing", []],
    ["message.content is not text", completion({ content: { text: PROMPT } })],
    ["neither text nor a use of tools", completion({ content: null })],
    ["is of no tool that was offered", completion(called("rm", "{}"))],
    ["id is missing", completion(called("t", "{}", ""))],
    ["arguments is no JSON object", completion(called("t", `${PROMPT} ${KEY}`))],
    ["arguments is no JSON object", completion(called("t", "[1]"))],
    ["51 tokens where 50 were allowed (F15)", completion({ content: "x" }, { usage: { completion_tokens: 51 } })],
  ])("%s: it fails and says so, quoting nothing", async (reason, reply) => {
    const { run } = await serve(reply as object);
    const error = await failure(run(ask({ tools: [tool("t")] })));
    expect(error).toMatchObject({ code: "model_failed", message: expect.stringContaining(reason) });
  });
});

describe("F17: which model", () => {
  const models = [
    { name: "small-fast", cheapness: 1, speed: 1, intelligence: 0.2 },
    { name: "Claude-Large", intelligence: 1, cheapness: 0 },
    { name: "claude-mid", intelligence: 0.6 },
  ];
  test.each<[string, SamplingParams["modelPreferences"], string]>([
    ["none", undefined, "m"],
    ["no hint that fits", { hints: [{ name: "gemini" }, {}] }, "m"],
    [
      "the first hint that fits, as part of the name",
      { hints: [{ name: "gemini" }, { name: "mid" }, { name: "small" }] },
      "claude-mid",
    ],
    ["among several, the listed order", { hints: [{ name: "claude" }] }, "Claude-Large"],
    ["among several, the priorities", { hints: [{ name: "claude" }], costPriority: 1 }, "claude-mid"],
    ["a hint before priorities", { hints: [{ name: "small" }], intelligencePriority: 1 }, "small-fast"],
    ["priorities alone", { intelligencePriority: 1 }, "Claude-Large"],
    ["priorities weighed", { intelligencePriority: 0.2, speedPriority: 1 }, "small-fast"],
  ])("%s", async (_name, modelPreferences, chosen) => {
    const { run, requests } = await serve(completion({ content: "x" }));
    await run(ask({ ...(modelPreferences && { modelPreferences }) }), { models });
    expect(requests[0]?.body.model).toBe(chosen);
  });
});

describe("an endpoint that fails", () => {
  test.each([
    [401, "does not accept the key"],
    [404, "check the base URL and the model's name"],
    [500, "look at its log"],
    [302, "redirects, which is not followed"],
  ])("HTTP %d is said with what to do, without its body", async (status, remedy) => {
    const { run, requests } = await serve(
      refusal(status, `Incorrect API key ${KEY}: ${PROMPT}`, { location: "/elsewhere" }),
    );
    const error = await failure(run());
    expect(error).toMatchObject({ code: "model_failed", message: expect.stringContaining(`HTTP ${status}: `) });
    expect(error.message).toContain(remedy);
    expect(error.message).toContain(new URL(server!.url).origin);
    expect(requests).toHaveLength(1);
  });

  test.each([
    ["not JSON", refusal(200, `<html>${PROMPT}`), {}, "not JSON"],
    [
      "too long",
      refusal(200, `"${"x".repeat(2000)}"`),
      { maxResponseBytes: 1000 },
      "more than 1000 bytes (maxResponseBytes)",
    ],
    [
      "broken off",
      ((response) => {
        response.writeHead(200, { "content-length": "100" }).write("{");
        setImmediate(() => response.destroy());
      }) as ModelReply,
      {},
      "broke off",
    ],
  ])("an answer that is %s", async (_name, reply, options, reason) => {
    const { run } = await serve(reply);
    expect(await failure(run(ask(), options))).toMatchObject({
      code: "model_failed",
      message: expect.stringContaining(reason),
    });
  });

  test("one that is not there", async () => {
    const { run } = await serve(completion({ content: "x" }));
    await server!.close();
    const error = await failure(run());
    expect(error).toMatchObject({ code: "model_failed", message: expect.stringMatching(/cannot be reached \(ECONN/) });
    server = undefined;
  });

  test("429 and 503 are tried again as Retry-After says, and no more often than allowed", async () => {
    const clock = new HandClock();
    const { run, requests } = await serve((_: ModelRequest, count: number) =>
      count === 1
        ? refusal(429, "", { "retry-after": "7" })
        : count === 2
          ? refusal(503, "")
          : completion({ content: "x" }),
    );
    const result = run(ask(), { clock });
    const until = async (count: number, pending: number) => {
      while (requests.length < count || clock.pending !== pending) await clock.pass(0);
    };
    await until(1, 2);
    await clock.pass(6999);
    expect(requests).toHaveLength(1);
    await clock.pass(1);
    await until(2, 2);
    await clock.pass(1000);
    expect(await result).toMatchObject({ content: { text: "x" } });
    expect(requests).toHaveLength(3);
    expect(clock.pending).toBe(0);
  });

  test("Retry-After may be a date, or nothing that can be read", async () => {
    const clock = new HandClock();
    const { run, requests } = await serve((_: ModelRequest, count: number) =>
      count === 1
        ? refusal(503, "", { "retry-after": new Date(clock.now() + 5000).toUTCString() })
        : count === 2
          ? refusal(503, "", { "retry-after": "soon" })
          : completion({ content: "x" }),
    );
    const result = run(ask(), { clock });
    while (clock.pending !== 2) await clock.pass(0);
    await clock.pass(4999);
    expect(requests).toHaveLength(1);
    await clock.pass(1);
    while (requests.length < 2 || clock.pending !== 2) await clock.pass(0);
    await clock.pass(1000);
    expect(await result).toMatchObject({ content: { text: "x" } });
  });

  test("a wait longer than maxRetryWaitMs, and a last retry, fail", async () => {
    const { run, requests } = await serve(refusal(429, "", { "retry-after": "3600" }));
    expect(await failure(run())).toMatchObject({
      message: expect.stringContaining("wants 3600 s of quiet, longer than maxRetryWaitMs"),
    });
    expect(await failure(run(ask(), { maxRetries: 0 }))).toMatchObject({
      message: expect.stringContaining("HTTP 429"),
    });
    expect(requests).toHaveLength(2);
  });

  test("timeoutMs bounds the whole, and the end of the call ends it at once", async () => {
    let closed = 0;
    const silent = ((response) => {
      response.on("close", () => {
        closed += 1;
      });
    }) as ModelReply;
    const { run, model, requests } = await serve(silent);
    const clock = new HandClock();
    const late = failure(run(ask(), { clock, timeoutMs: 1000 }));
    while (requests.length === 0) await clock.pass(0);
    await clock.pass(1000);
    expect(await late).toMatchObject({
      code: "model_failed",
      message: expect.stringContaining("within 1000 ms (timeoutMs)"),
    });

    const call = new AbortController();
    const ended = model()(ask(), contextOf({ signal: call.signal }));
    const reason = new Error("the call is over");
    while (requests.length === 1) await new Promise((resolve) => setImmediate(resolve));
    call.abort(reason);
    await expect(ended).rejects.toBe(reason);
    // Neither request is left running at the endpoint.
    await vi.waitFor(() => expect(closed).toBe(2));
  });
});

describe("options", () => {
  test.each<[string, Partial<OpenAiModelOptions>]>([
    ["baseUrl", { baseUrl: "here" }],
    ["baseUrl", { baseUrl: "ftp://127.0.0.1/v1" }],
    ["baseUrl", { baseUrl: `https://me:${KEY}@x.example/v1` }],
    ["baseUrl", { baseUrl: "http://models.example/v1" }],
    ["model", { model: "" }],
    ["apiKey", { apiKey: `${KEY}\n` }],
    ["models", { models: [{ name: "m", speed: 2 }] }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["maxRetries", { maxRetries: -1 }],
    ["maxResponseBytes", { maxResponseBytes: 1.5 }],
  ])("a bad %s is a configuration error that names it and repeats no value", (option, options) => {
    const make = () => openAiModel({ baseUrl: "http://127.0.0.1:1/v1", model: "m", apiKey: KEY, ...options });
    expect(make).toThrow(expect.objectContaining({ code: "configuration", details: { option } }));
    expect(make).not.toThrow(KEY);
  });

  test("positive control: plain http is taken on loopback, and elsewhere without a key", () => {
    for (const baseUrl of [
      "http://localhost:1/v1",
      "http://127.0.0.1/v1/",
      "http://[::1]/v1",
      "https://models.example/v1",
    ]) {
      expect(openAiModel({ baseUrl, model: "m", apiKey: KEY })).toBeTypeOf("function");
    }
    expect(openAiModel({ baseUrl: "http://models.example/v1", model: "m" })).toBeTypeOf("function");
  });
});
