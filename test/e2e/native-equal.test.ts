/**
 * The same definitions behind both mounts: the same answers, to good requests and to bad ones. Where we differ on
 * purpose is in {@link DIFFERENT}, with the reason.
 */
import { completable, ResourceTemplate } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createParley, prompt, resource, tool } from "../../src/index.ts";
import { nativeOptions, serveFlows } from "../helpers/mounts.ts";
import { type Face, good, META, overHttp, type RawAnswer, type RawRequest, throughFetch } from "../helpers/raw.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const result = (value: unknown) => value as ReturnType<typeof text>;
const PNG = "iVBORw0KGgo=";

const flows = [
  tool("plain", { title: "Plain", description: "Text" }, async () => text("plain")),
  tool(
    "typed",
    {
      description: "Typed",
      inputSchema: z.object({ n: z.number().max(9), deep: z.object({ a: z.string() }).optional() }),
      outputSchema: z.object({ doubled: z.number() }),
      annotations: { readOnlyHint: true },
      icons: [{ src: "https://example.com/i.png" }],
      _meta: { "example.com/x": 1 },
    },
    async ({ n }) => ({ ...text(String(n)), structuredContent: n === 7 ? { doubled: "no" } : { doubled: 2 * n } }),
  ),
  tool("async-schema", { inputSchema: z.object({ n: z.number().refine(async (n) => n > 0) }) }, async ({ n }) =>
    text(String(n)),
  ),
  tool("mirrors", { inputSchema: z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) }) }, async (args) =>
    text(args.region),
  ),
  tool("untyped-output", { outputSchema: z.object({ a: z.number() }) }, async () => text("no structured content")),
  tool("list-output", {}, async () => ({ content: [], structuredContent: [1, 2] as never })),
  tool("blocks", {}, async () => ({
    content: [
      { type: "text", text: "a", annotations: { priority: 0.5 } },
      { type: "image", data: PNG, mimeType: "image/png" },
      { type: "audio", data: PNG, mimeType: "audio/wav" },
      { type: "resource", resource: { uri: "a://b", text: "t" } },
      { type: "resource_link", uri: "a://b", name: "b" },
    ],
    _meta: { "example.com/y": true },
  })),
  tool("extra", {}, async () => result({ content: [{ type: "text", text: "a", unknown: 1 }], other: true })),
  tool("no-content", {}, async () => result({})),
  tool("bad-content", {}, async () => result({ content: [{ type: "nothing" }] })),
  tool("bad-image", {}, async () => result({ content: [{ type: "image", data: "%", mimeType: "x" }] })),
  tool("nothing", {}, async () => result(undefined)),
  tool("error-result", {}, async () => ({ ...text("failed"), isError: true })),
  tool("throws", {}, async () => {
    throw new Error("no disk");
  }),
  tool("throws-text", {}, async () => {
    throw "just text";
  }),
  tool("asks", {}, async (_args, flow) => text(String(await flow.confirm("ok", "Ok?")))),
  tool("links", {}, async (_args, flow) => {
    await flow.url("go", { message: "Go", url: "https://example.com/" });
    return text("went");
  }),
  tool("twice", {}, async (_args, flow) => {
    await Promise.all([flow.confirm("k", "a"), flow.confirm("k", "b")]);
    return text("never");
  }),
  prompt("simple", { title: "Simple", description: "One" }, async () => ({ messages: [] })),
  prompt(
    "greet",
    { argsSchema: z.object({ lang: completable(z.string(), () => ["en", "de"]), who: z.string().optional() }) },
    async ({ lang }) => ({ messages: [{ role: "user", content: { type: "text", text: lang } }] }),
  ),
  prompt("broken", {}, async () => {
    throw Object.assign(new Error("with a code"), { code: -31_500, data: { why: "x" } });
  }),
  resource("note", "note://one", { title: "Note", mimeType: "text/plain" }, async ({ href: uri }) => ({
    contents: [{ uri, text: "note" }],
  })),
  resource("cached", "note://cached", { cacheHint: { ttlMs: 5_000 } }, async ({ href: uri }) => ({
    contents: [{ uri, text: "cached" }],
  })),
  resource("own", "note://own", {}, async ({ href: uri }) => ({
    contents: [{ uri, text: "own" }],
    ttlMs: 9,
    cacheScope: "private" as const,
  })),
  resource(
    "file",
    new ResourceTemplate("file:///{name}", {
      list: async () => ({ resources: [{ uri: "file:///a", name: "a" }] }),
      complete: { name: () => ["a"] },
    }),
    { description: "A file" },
    async ({ href: uri }, { name }) => ({ contents: [{ uri, text: String(name) }] }),
  ),
];

const call = (name: string, args?: unknown) =>
  good("tools/call", { name, ...(args !== undefined && { arguments: args }) });
const get = (name: string, args?: unknown) =>
  good("prompts/get", { name, ...(args !== undefined && { arguments: args }) });
const read = (uri: string) => good("resources/read", { uri });
const mirrored = (value: string) => {
  const right = call("mirrors", { region: "eu" });
  return { ...right, headers: { ...right.headers, "mcp-param-region": value } };
};
const complete = (ref: object, argument: object) => good("completion/complete", { ref, argument });
const notification = (method: string, headers: RawRequest["headers"] = {}) => ({
  headers: { "mcp-protocol-version": "2026-07-28", ...headers },
  body: { jsonrpc: "2.0", method, params: { _meta: META } },
});
const legacy = (body: unknown): RawRequest => ({ headers: { "mcp-protocol-version": "2025-11-25" }, body });
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old", version: "1" } },
};

const CORPUS: Record<string, RawRequest> = {
  discover: good("server/discover"),
  "tools/list": good("tools/list"),
  "prompts/list": good("prompts/list"),
  "resources/list": good("resources/list"),
  "resources/templates/list": good("resources/templates/list"),
  "a cursor": good("tools/list", { cursor: "x" }),
  "an unknown member": good("tools/list", { anything: 1 }),
  ...Object.fromEntries(
    flows
      .filter(({ type, name }) => type === "tool" && !name.startsWith("bad-"))
      .map(({ name }) => [`tool ${name}`, call(name)]),
  ),
  typed: call("typed", { n: 2 }),
  "input refused": call("typed", { n: 10 }),
  "deep input refused": call("typed", { n: 1, deep: { a: 1 } }),
  "output refused": call("typed", { n: 7 }),
  "async input": call("async-schema", { n: 1 }),
  "async input refused": call("async-schema", { n: -1 }),
  "header parameter": mirrored("eu"),
  "header parameter wrapped": mirrored("=?base64?ZXU=?="),
  "header parameter wrong": mirrored("us"),
  "header parameter badly wrapped": mirrored("=?base64?ZX?="),
  "unknown tool": call("nobody"),
  "simple prompt": get("simple"),
  "a prompt with arguments": get("greet", { lang: "en" }),
  "a prompt's argument is missing": get("greet"),
  "unknown prompt": get("nobody"),
  "a prompt that throws": get("broken"),
  note: read("note://one"),
  cached: read("note://cached"),
  own: read("note://own"),
  "a file": read("file:///b"),
  "unknown resource": read("note://none"),
  "no URI": read("no uri"),
  "completion of a prompt": complete({ type: "ref/prompt", name: "greet" }, { name: "lang", value: "" }),
  "completion of a template": complete({ type: "ref/resource", uri: "file:///{name}" }, { name: "name", value: "" }),
  "completion of nothing": complete({ type: "ref/prompt", name: "none" }, { name: "lang", value: "" }),
  "method unknown": good("what/ever"),
  "method from Object.prototype": good("constructor"),
  "method removed": good("ping"),
  "tasks, which nobody serves": good("tasks/get", { taskId: "1" }),
  "answers on a first call": good("tools/call", {
    name: "asks",
    inputResponses: { ok: { action: "accept", content: { confirm: true } } },
  }),
  "answers that are none": good("tools/call", { name: "asks", inputResponses: [1] }),
  "a state that is none": good("tools/call", { name: "asks", requestState: "x" }),
  "a state that is no text": good("tools/call", { name: "asks", requestState: 7 }),
  notification: notification("notifications/cancelled"),
  "notification with a wrong method header": notification("notifications/cancelled", { "mcp-method": "x" }),
  "notification with a wrong version header": notification("notifications/x", { "mcp-protocol-version": "2025-11-25" }),
  batch: { ...call("plain"), body: [call("plain").body] },
  "a posted response": { ...call("plain"), body: { jsonrpc: "2.0", id: 1, result: {} } },
  "initialize (K1)": legacy(initialize),
  "initialize with a modern header": { headers: { "mcp-protocol-version": "2026-07-28" }, body: initialize },
  "tools/list of 2025 (K1)": legacy({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  "ping of 2025 (K1)": legacy({ jsonrpc: "2.0", id: 1, method: "ping" }),
  "a tool of 2025 (K1)": legacy({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "plain" } }),
  "notification of 2025 (K1)": legacy({ jsonrpc: "2.0", method: "notifications/initialized" }),
  "a batch of 2025 (K1)": legacy([
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", id: 2, method: "ping" },
  ]),
};

type Expected = { readonly status: number; readonly code: number; readonly message?: RegExp; readonly why: string };
const DIFFERENT: Record<string, { readonly sent: RawRequest; readonly ours: Expected; readonly theirs: Expected }> = {
  GET: {
    sent: { ...call("plain"), method: "GET" },
    ours: { status: 405, code: -32600, why: "-32000 is a code that G14 leaves to nobody" },
    theirs: { status: 405, code: -32000, why: "the SDK's own" },
  },
  "another media type": {
    sent: { ...call("plain"), headers: { ...call("plain").headers, "content-type": "text/plain" } },
    ours: { status: 415, code: -32600, why: "as above" },
    theirs: { status: 415, code: -32000, why: "the SDK's own" },
  },
  "a prompt's name is no text": {
    sent: good("prompts/get", { name: 1 }),
    ours: { status: 200, code: -32602, why: "A17: it is the caller's fault" },
    theirs: { status: 200, code: -32603, why: "the SDK throws its schema's complaint" },
  },
  ...Object.fromEntries(
    [
      ["bad-content", /^Invalid tools\/call result: content.0: Invalid input$/] as const,
      ["bad-image", /^Invalid tools\/call result: content.0.data: Invalid Base64 string$/] as const,
    ].map(([name, message]) => [
      `tool ${name}`,
      {
        sent: call(name),
        ours: { status: 200, code: -32602, message, why: "one line, as for every other complaint of a schema" },
        theirs: { status: 200, code: -32602, message: /^Invalid tools\/call result: \[\n/, why: "all of it as JSON" },
      },
    ]),
  ),
  "a tool's name from Object.prototype": {
    sent: call("toString"),
    ours: { status: 200, code: -32602, message: /^Tool toString not found$/, why: "there is none" },
    theirs: { status: 200, code: -32602, message: /^Tool toString disabled$/, why: "found on the prototype" },
  },
  "bytes that are not UTF-8": {
    sent: { ...call("plain"), body: Buffer.from('{"jsonrpc":"2.0","id":"\xff"}', "latin1") },
    ours: { status: 400, code: -32700, why: "G1: what is not UTF-8 is no message; the SDK reads U+FFFD for it" },
    theirs: { status: 400, code: -32600, why: "an id it has read, and no method" },
  },
};

let faces: Record<"sdk" | "listener" | "fetch", Face>;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  const parley = createParley({ keys: [Buffer.from("0123456789abcdef0123456789abcdef")], callers: "anonymous" });
  const sdk = await serveFlows("sdk", parley, flows);
  const native = await serveFlows("native", parley, flows);
  const handler = parley.handler(nativeOptions(flows));
  faces = { sdk: overHttp(sdk.url), listener: overHttp(native.url), fetch: throughFetch(handler.fetch) };
  closing.push(sdk.close, native.close, handler.close);
});
afterAll(() => Promise.all(closing.map((close) => close())));

/** What a client sees. Names and states of calls are random, and no client reads them. */
function seen({ status, headers, json, text }: RawAnswer) {
  const body = JSON.stringify(json ?? text).replaceAll(/"requestState":"p1\.[^"]+"/g, '"requestState":"p1."');
  return { status, type: headers["content-type"]?.split(";")[0], body: JSON.parse(body) };
}

describe.each(["listener", "fetch"] as const)("%s answers as the SDK mount does", (face) => {
  it.each(Object.entries(CORPUS))("%s", async (_, sent) => {
    expect(seen(await faces[face](sent))).toEqual(seen(await faces.sdk(sent)));
  });

  it.each(Object.entries(DIFFERENT))("but for this: %s", async (_, { sent, ours, theirs }) => {
    for (const [answer, { status, code, message, why }] of [
      [await faces[face](sent), ours],
      [await faces.sdk(sent), theirs],
    ] as const) {
      const error = { code, ...(message && { message: expect.stringMatching(message) }) };
      expect({ status: answer.status, error: answer.json?.["error"] }, why).toMatchObject({ status, error });
    }
  });

  it("A16 A19 a wrapped answer is none: it counts as missing, on both", async () => {
    const yes = { action: "accept", content: { confirm: true } };
    for (const send of [faces[face], faces.sdk]) {
      const asked = await send(call("asks"));
      const { requestState } = (asked.json?.["result"] ?? {}) as { requestState?: string };
      const retry = async (ok: object) =>
        (await send(good("tools/call", { name: "asks", requestState, inputResponses: { ok } }))).json?.["result"];
      expect(await retry({ method: "elicitation/create", ...yes })).toMatchObject({ resultType: "input_required" });
      expect(await retry({ result: yes, ...yes })).toMatchObject({ resultType: "input_required" });
      expect(await retry(yes)).toMatchObject(text("true"));
    }
  });

  it("A20 a state made on one mount is continued on the other: they may stand side by side", async () => {
    const asked = await faces.sdk(call("asks"));
    const { requestState } = (asked.json?.["result"] ?? {}) as { requestState?: string };
    const retry = good("tools/call", {
      name: "asks",
      requestState,
      inputResponses: { ok: { action: "accept", content: { confirm: true } } },
    });
    expect((await faces[face](retry)).json?.["result"]).toMatchObject(text("true"));
  });
});

describe("requests with anything wrong in them", () => {
  const names = ["mcp-protocol-version", "mcp-method", "mcp-name"];
  const values = fc.constantFrom(
    null,
    "2026-07-28",
    "2025-11-25",
    "2099-01-01",
    "tools/call",
    "plain",
    "",
    "=?base64?cGxhaW4=?=",
    "=?base64?x?=",
  );
  const junk = fc.oneof(
    fc.constantFrom(undefined, null, {}, [], "", "x", 0, 1.5, true, { elicitation: {} }, { tools: {} }),
    fc.jsonValue({ maxDepth: 2 }),
  );
  const places = fc.constantFrom(
    ...["jsonrpc", "id", "method", "extra", "params", "params.name", "params._meta", "params.__proto__"],
    ...Object.keys(META).map((key) => `params._meta|${key}`),
    ...["progressToken", "io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/related-task", "x"].map(
      (key) => `params._meta|${key}`,
    ),
    ...["elicitation", "sampling", "roots", "extensions", "experimental", "tasks", "x"].map(
      (key) => `params._meta|io.modelcontextprotocol/clientCapabilities|${key}`,
    ),
    ...["name", "title", "icons", "x"].map((key) => `params._meta|io.modelcontextprotocol/clientInfo|${key}`),
  );
  const change = fc.oneof(
    fc.record({ header: fc.constantFrom(...names), value: values }),
    fc.record({ place: places, value: junk }),
  );

  it("G6 G24 are answered with the SDK's status and code, whatever is wrong", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 2 }), async (changes) => {
        const sent = changes.reduce<RawRequest>(changed, call("plain"));
        const [mine, theirs] = [seen(await faces.listener(sent)), seen(await faces.sdk(sent))];
        const told = ({ status, body }: ReturnType<typeof seen>) => ({ status, code: body?.error?.code, id: body?.id });
        expect(told(mine)).toEqual(told(theirs));
      }),
      { numRuns: 400 },
    );
  }, 60_000);
});

type Change = { header: string; value: string | null } | { place: string; value: unknown };

function changed(sent: RawRequest, change: Change): RawRequest {
  if ("header" in change) return { ...sent, headers: { ...sent.headers, [change.header]: change.value } };
  const body = structuredClone(sent.body) as Record<string, unknown>;
  const path = change.place.split(/[.|](?=params|_meta|name|__proto__)|\|/);
  let at = body;
  for (const key of path.slice(0, -1)) {
    const next = at[key];
    if (typeof next !== "object" || next === null) return sent;
    at = next as Record<string, unknown>;
  }
  Object.defineProperty(at, path.at(-1) as string, {
    value: change.value,
    enumerable: true,
    configurable: true,
    writable: true,
  });
  return { ...sent, body };
}
