/** Section G on the native mount, rule by rule, on both of its faces: a good request first, then one thing wrong. */
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createParley, type ParleyHandler, prompt, resource, tool } from "../../src/index.ts";
import { listen, type TestServer } from "../helpers/http.ts";
import { nativeOptions } from "../helpers/mounts.ts";
import { type Face, good, META, overHttp, type RawRequest, throughFetch } from "../helpers/raw.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const region = z.object({
  region: z.string().meta({ "x-mcp-header": "Region" }).optional(),
  count: z.int().meta({ "x-mcp-header": "Count" }).optional(),
  nested: z.object({ dry: z.boolean().meta({ "x-mcp-header": "Dry" }) }).optional(),
});
let ran = 0;
const flows = [
  tool("plain", {}, async () => text(`${++ran}`)),
  tool("asks", {}, async (_args, flow) => text(String(await flow.confirm("ok", "Ok?")))),
  tool("region", { inputSchema: region }, async (args) => text(JSON.stringify(args))),
  prompt("größe", {}, async () => ({ messages: [] })),
  prompt("greet", { argsSchema: z.object({ lang: z.string() }) }, async ({ lang }) => ({
    messages: [{ role: "user", content: { type: "text", text: lang } }],
  })),
  resource("note", "note://one", {}, async (uri) => ({ contents: [{ uri: uri.href, text: "note" }] })),
];

const call = (name = "plain", args?: object) => good("tools/call", { name, ...(args && { arguments: args }) });
const HEADER_MISMATCH = -32020;
type Wrong = (right: Required<RawRequest>) => RawRequest;
const header =
  (name: string, value: string | null): Wrong =>
  (right) => ({ ...right, headers: { ...right.headers, [name]: value } });
const params =
  (change: Record<string, unknown>): Wrong =>
  (right) => {
    const body = right.body as { params: object };
    return { ...right, body: { ...body, params: { ...body.params, ...change } } };
  };
const meta = (change: Record<string, unknown>): Wrong => params({ _meta: { ...META, ...change } });
const message =
  (change: Record<string, unknown>): Wrong =>
  (right) => ({ ...right, body: { ...(right.body as object), ...change } });
const body =
  (bytes: unknown): Wrong =>
  (right) => ({ ...right, body: bytes });
const PROTOCOL = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

describe.each(["listener", "fetch"] as const)("section G through %s", (which) => {
  let handler: ParleyHandler;
  let server: TestServer;
  let send: Face;

  beforeAll(async () => {
    const parley = createParley({
      keys: [Buffer.from("0123456789abcdef0123456789abcdef")],
      callers: "anonymous",
      onEvent: () => undefined,
    });
    handler = parley.handler(nativeOptions(flows));
    server = await listen(createServer(handler.listener), () => handler.close());
    send = which === "listener" ? overHttp(server.url) : throughFetch(handler.fetch);
  });
  afterAll(() => server.close());

  it.each<[string, Required<RawRequest>]>([
    ["a tool", call()],
    ["a name that is no header text, wrapped (G22)", wrapped(good("prompts/get", { name: "größe" }), "größe")],
    ["a tool with all its header parameters (G21)", mirrored()],
    ["an id that is text", good("tools/call", { name: "plain" }, "a-1")],
    ["a prompt", good("prompts/get", { name: "greet", arguments: { lang: "en" } })],
    ["a resource", good("resources/read", { uri: "note://one" })],
    ["server/discover (G12)", good("server/discover")],
    ["tools/list", good("tools/list")],
    ["white space around Mcp-Name", header("mcp-name", " plain ")(call()) as Required<RawRequest>],
    ["without clientInfo (G5)", meta({ "io.modelcontextprotocol/clientInfo": undefined })(call()) as never],
    ["with parameters on the media type", header("content-type", "application/json; charset=utf-8")(call()) as never],
  ])("G28 G31 A5 positive control, served with 200 and JSON: %s", async (_, right) => {
    const { status, headers, json } = await send(right);
    expect({ status, error: json?.["error"] }).toEqual({ status: 200, error: undefined });
    expect(headers["content-type"]).toMatch(/^application\/json/);
    expect(json).toMatchObject({ jsonrpc: "2.0", id: (right.body as { id: unknown }).id });
    expect(json?.["result"]).toMatchObject({
      resultType: "complete",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "s", version: "1.0.0" } },
    });
  });

  it.each<[string, Wrong, number, number]>([
    ["G1 no JSON", body("{nope"), 400, -32700],
    ["G1 no body", body(""), 400, -32700],
    ["G1 bytes that are not UTF-8", body(Buffer.from('{"a":"\xff"}', "latin1")), 400, -32700],
    ["G1 a batch is no message", (right) => body([right.body])(right), 400, -32600],
    ["G1 an empty batch", body([]), 400, -32600],
    ["G1 no version of JSON-RPC", message({ jsonrpc: "1.0" }), 400, -32600],
    ["G1 an id that is null", message({ id: null }), 400, -32600],
    ["G1 an id that is a fraction", message({ id: 1.5 }), 400, -32600],
    ["G1 a member that JSON-RPC does not know", message({ extra: 1 }), 400, -32600],
    ["G6 no protocolVersion, though the header names the revision", meta({ [PROTOCOL]: undefined }), 400, -32602],
    ["G6 no clientCapabilities", meta({ [CAPABILITIES]: undefined }), 400, -32602],
    ["G6 no _meta, though the header names the revision", params({ _meta: undefined }), 400, -32602],
    ["G6 capabilities of the wrong kind", meta({ [CAPABILITIES]: [] }), 400, -32602],
    [
      "G6 a member of clientInfo is missing",
      meta({ "io.modelcontextprotocol/clientInfo": { name: "x" } }),
      400,
      -32602,
    ],
    ["I13 an unknown log level", meta({ "io.modelcontextprotocol/logLevel": "loud" }), 400, -32602],
    ["I1 a progress token that is a fraction", meta({ progressToken: 1.5 }), 400, -32600],
    [
      "G10 an unsupported version",
      (right) => header("mcp-protocol-version", "2099-01-01")(meta({ [PROTOCOL]: "2099-01-01" })(right) as never),
      400,
      -32022,
    ],
    ["G19 no version header", header("mcp-protocol-version", null), 400, HEADER_MISMATCH],
    ["G24 the version header names another", header("mcp-protocol-version", "2025-11-25"), 400, HEADER_MISMATCH],
    ["G20 no Mcp-Method", header("mcp-method", null), 400, HEADER_MISMATCH],
    ["G24 another Mcp-Method", header("mcp-method", "tools/list"), 400, HEADER_MISMATCH],
    ["G24 Mcp-Method in another case", header("mcp-method", "Tools/Call"), 400, HEADER_MISMATCH],
    ["G20 no Mcp-Name", header("mcp-name", null), 400, HEADER_MISMATCH],
    ["G24 another Mcp-Name", header("mcp-name", "asks"), 400, HEADER_MISMATCH],
    ["G24 Mcp-Name in another case", header("mcp-name", "Plain"), 400, HEADER_MISMATCH],
    ["G22 a wrapping that is no Base64", header("mcp-name", "=?base64?!!!?="), 400, HEADER_MISMATCH],
    ["G22 a wrapping of bytes that are not UTF-8", header("mcp-name", "=?base64?/w==?="), 400, HEADER_MISMATCH],
    ["G22 a wrapping of another name", header("mcp-name", "=?base64?YXNrcw==?="), 400, HEADER_MISMATCH],
    ["G26 an unknown method", method("tools/undo"), 404, -32601],
    ["G26 a method of an earlier revision", method("ping"), 404, -32601],
    ["G26 A4 completion without anything to complete", method("completion/complete"), 404, -32601],
    [
      "A34 an unknown tool",
      (right) => params({ name: "nobody" })(header("mcp-name", "nobody")(right) as never),
      200,
      -32602,
    ],
    ["A26 arguments that are no object", params({ arguments: [] }), 200, -32602],
    ["A26 a name that is no text", params({ name: 7 }), 200, -32602],
    ["G27 another Host", header("host", "rebound.example"), 403, -32600],
    ["G27 another Origin", header("origin", "https://evil.example"), 403, -32600],
    ["G27 an Origin that is none", header("origin", "null"), 403, -32600],
    ["G18 another media type", header("content-type", "text/plain"), 415, -32600],
    ["no media type", header("content-type", null), 415, -32600],
    ["G30 GET", (right) => ({ ...right, method: "GET" }), 405, -32600],
    ["G30 DELETE", (right) => ({ ...right, method: "DELETE" }), 405, -32600],
  ])("%s is refused", async (_, wrong, status, code) => {
    const before = ran;
    expect((await send(call())).json).toHaveProperty("result");
    const refused = await send(wrong(call()));
    expect({ status: refused.status, error: refused.json?.["error"] }).toMatchObject({ status, error: { code } });
    expect(ran).toBe(before + 1);
  });

  it("G10 the error names what is supported and what was asked for", async () => {
    const { json } = await send(header("mcp-protocol-version", "1999")(meta({ [PROTOCOL]: "1999" })(call()) as never));
    expect(json?.["error"]).toMatchObject({ data: { supported: ["2026-07-28"], requested: "1999" } });
  });

  it("G2 an error carries the id of its request, or null where it has none", async () => {
    const id = async (wrong: Wrong) => (await send(wrong(good("tools/call", { name: "plain" }, "mine")))).json?.["id"];
    expect(await id(header("mcp-method", null))).toBe("mine");
    expect(await id(method("nope"))).toBe("mine");
    expect(await id(body("{"))).toBeNull();
    expect(await id(body([]))).toBeNull();
  });

  it("G21 G24 header parameters: compared after decoding, integers as numbers, left out with the argument", async () => {
    const with_ = (headers: Record<string, string>, args: object) => {
      const right = call("region", args);
      return send({ ...right, headers: { ...right.headers, ...headers } });
    };
    const served = [
      await with_({ "mcp-param-region": "eu" }, { region: "eu" }),
      await with_({ "Mcp-Param-Region": "=?base64?w6k=?=" }, { region: "é" }),
      await with_({ "mcp-param-count": "7.0" }, { count: 7 }),
      await with_({ "mcp-param-dry": "true" }, { nested: { dry: true } }),
      await with_({}, {}),
      await with_({ "mcp-param-region": "ignored" }, {}),
    ];
    expect(served.map(({ json }) => json?.["error"])).toEqual(served.map(() => undefined));
    const refused = [
      await with_({}, { region: "eu" }),
      await with_({ "mcp-param-region": "us" }, { region: "eu" }),
      await with_({ "mcp-param-region": "EU" }, { region: "eu" }),
      await with_({ "mcp-param-region": "=?base64?w6k?=" }, { region: "é" }),
      await with_({ "mcp-param-count": "8" }, { count: 7 }),
      await with_({ "mcp-param-dry": "false" }, { nested: { dry: true } }),
    ];
    for (const { status, json } of refused) {
      expect({ status, error: json?.["error"] }).toMatchObject({ status: 400, error: { code: HEADER_MISMATCH } });
    }
  });

  it("A13 G31 a missing capability is HTTP 400 and names exactly what is missing", async () => {
    const asks = call("asks");
    expect((await send(asks)).json?.["result"]).toMatchObject({ resultType: "input_required" });
    const { status, json } = await send(meta({ [CAPABILITIES]: {} })(asks));
    const data = { requiredCapabilities: { elicitation: { form: {} } } };
    expect({ status, error: json?.["error"] }).toMatchObject({ status: 400, error: { code: -32021, data } });
  });

  it("G28 notifications are accepted with 202 and no body, cancelled ones and unknown ones too", async () => {
    for (const name of ["notifications/cancelled", "notifications/anything"]) {
      const sent = { jsonrpc: "2.0", method: name, params: { requestId: 1, _meta: META } };
      const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": name };
      const { status, text } = await send({ headers, body: sent });
      expect({ status, text }).toEqual({ status: 202, text: "" });
    }
  });

  it("G30 405 says what is allowed; Mcp-Session-Id and Last-Event-ID mean nothing and are never minted", async () => {
    expect((await send({ ...call(), method: "GET" })).headers["allow"]).toBe("POST");
    const right = call();
    const headers = { ...right.headers, "mcp-session-id": "s", "last-event-id": "9" };
    const { status, headers: answered } = await send({ ...right, headers });
    expect({ status, session: answered["mcp-session-id"] }).toEqual({ status: 200, session: undefined });
  });

  it("G18 a client that takes no stream gets its answer without one", async () => {
    const right = call("asks");
    const { status, headers } = await send(header("accept", "application/json")(right));
    expect({ status, type: headers["content-type"] }).toEqual({ status: 200, type: "application/json" });
  });
});

function method(name: string): Wrong {
  return (right) => header("mcp-method", name)(message({ method: name })(right) as Required<RawRequest>);
}

function wrapped(right: Required<RawRequest>, name: string): Required<RawRequest> {
  const value = `=?base64?${Buffer.from(name).toString("base64")}?=`;
  return header("mcp-name", value)(right) as Required<RawRequest>;
}

function mirrored(): Required<RawRequest> {
  const right = call("region", { region: "eu", count: -3, nested: { dry: false } });
  const headers = { "mcp-param-region": "eu", "mcp-param-count": "-3", "mcp-param-dry": "false" };
  return { ...right, headers: { ...right.headers, ...headers } };
}
