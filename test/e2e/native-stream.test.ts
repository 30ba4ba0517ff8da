/** The native mount beyond one JSON answer: streams, clients that leave, callers, and what is handed to the SDK. */
import { createServer, request } from "node:http";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { OAuthError, OAuthErrorCode, ResourceTemplate } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import {
  type AnyFlow,
  createParley,
  type HandlerOptions,
  type ParleyHandler,
  resource,
  tool,
} from "../../src/index.ts";
import { connect, listen } from "../helpers/http.ts";
import { nativeOptions } from "../helpers/mounts.ts";
import { type Face, good, META, overHttp, type RawRequest, throughFetch } from "../helpers/raw.ts";

vi.setConfig({ testTimeout: 30_000 });
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
/** A generous bound: the machine may be busy. */
const until = (reached: () => boolean) => vi.waitUntil(reached, { timeout: 20_000 });
const FACES = ["listener", "fetch"] as const;
const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const open: (() => Promise<unknown>)[] = [];
afterEach(() => Promise.all(open.splice(0).map((close) => close())));

async function serve(flows: readonly AnyFlow[], options: Partial<HandlerOptions> = {}, callers = "anonymous" as const) {
  const parley = createParley({ keys: [KEY], callers, onEvent: () => undefined });
  return mounted(parley.handler({ ...nativeOptions(flows), ...options }));
}

async function mounted(handler: ParleyHandler) {
  const server = await listen(createServer(handler.listener), () => handler.close());
  open.push(server.close);
  const faces: Record<(typeof FACES)[number], Face> = {
    listener: overHttp(server.url),
    fetch: throughFetch(handler.fetch),
  };
  return { handler, faces, url: server.url };
}

/** A call that asks for progress. */
function tracked(name: string): Required<RawRequest> {
  const right = good("tools/call", { name });
  const body = right.body as { params: object };
  return { ...right, body: { ...body, params: { ...body.params, _meta: { ...META, progressToken: "p" } } } };
}
const events = (stream: string) =>
  stream.split("\n\n").flatMap((event) => {
    const data = event.split("\n").find((line) => line.startsWith("data: "));
    return data === undefined ? [] : [JSON.parse(data.slice("data: ".length)) as Record<string, unknown>];
  });

/** Reports as it works, and asks in the end. */
const works = tool("works", {}, async (_args, flow) => {
  for (const progress of [1, 2, 2, 1, 3]) await flow.progress({ progress, total: 3 });
  return text(String(await flow.confirm("ok", "Ok?")));
});

describe.each(FACES)("streams through %s", (face) => {
  it("G29 I2 progress makes the answer a stream: notifications of this request, then the answer, then the end", async () => {
    const { faces } = await serve([works]);
    const { status, headers, text } = await faces[face](tracked("works"));
    expect({ status, type: headers["content-type"], buffering: headers["x-accel-buffering"] }).toEqual({
      status: 200,
      type: "text/event-stream",
      buffering: "no",
    });
    const [first, ...rest] = events(text);
    expect(first).toEqual({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progress: 1, total: 3, progressToken: "p" },
    });
    expect(rest.map(({ params }) => (params as { progress: number } | undefined)?.progress)).toEqual([2, 3, undefined]);
    expect(rest.at(-1)).toMatchObject({ id: 1, result: { resultType: "input_required", inputRequests: { ok: {} } } });
  });

  it("I2 without a progress token, or for a client that takes no stream, there is none", async () => {
    const { faces } = await serve([works]);
    const plain = await faces[face](good("tools/call", { name: "works" }));
    const right = tracked("works");
    const unwilling = await faces[face]({ ...right, headers: { ...right.headers, accept: "application/json" } });
    for (const { headers, json } of [plain, unwilling]) {
      expect(headers["content-type"]).toBe("application/json");
      expect(json?.["result"]).toMatchObject({ resultType: "input_required" });
    }
  });

  it("L18 an error on a stream comes as its last event", async () => {
    const needs = tool("needs", {}, async (_args, flow) => {
      await flow.progress({ progress: 1 });
      await flow.url("go", { message: "Go", url: "https://example.com/" });
      return text("went");
    });
    const { status, text: stream } = await (await serve([needs])).faces[face](tracked("needs"));
    expect(status).toBe(200);
    expect(events(stream).at(-1)).toMatchObject({ id: 1, error: { code: -32021 } });
  });

  it("K7 comments keep a stream alive while nothing happens", async () => {
    const slow = tool("slow", {}, async (_args, flow) => {
      await flow.progress({ progress: 1 });
      await new Promise((resolve) => setTimeout(resolve, 60));
      return text("done");
    });
    const { text: stream } = await (await serve([slow], { keepAliveMs: 10 })).faces[face](tracked("slow"));
    expect(stream).toContain(": keepalive\n\n");
    expect(events(stream).at(-1)).toMatchObject({ result: { content: [{ text: "done" }] } });
  });
});

/** A flow that waits for its signal, and what it saw. */
function waiting() {
  const seen = { started: false, aborted: false };
  const flow = tool("waits", {}, async (_args, { signal, progress }) => {
    seen.started = true;
    await progress({ progress: 1 });
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve));
    seen.aborted = true;
    return text("too late");
  });
  return { flow, seen };
}

describe("clients that leave", () => {
  it.each([
    ["before the answer (I9)", good("tools/call", { name: "waits" })],
    ["in the middle of a stream (I6)", tracked("waits")],
  ])("listener: %s: the flow's signal fires", async (_, sent) => {
    const { flow, seen } = waiting();
    const { url } = await serve([flow]);
    const headers = { "content-type": "application/json", ...(sent.headers as Record<string, string>) };
    const req = request(url, { method: "POST", headers }).on("error", () => undefined);
    req.end(JSON.stringify(sent.body));
    await until(() => seen.started);
    expect(seen.aborted).toBe(false);
    req.destroy();
    await until(() => seen.aborted);
  });

  it("fetch: the request's own signal reaches the flow", async () => {
    const { flow, seen } = waiting();
    const { handler } = await serve([flow]);
    const leaves = new AbortController();
    const { headers, body } = good("tools/call", { name: "waits" });
    const asked = handler.fetch(
      new Request("http://localhost/", {
        method: "POST",
        headers: { "content-type": "application/json", ...(headers as Record<string, string>) },
        body: JSON.stringify(body),
        signal: leaves.signal,
      }),
    );
    await until(() => seen.started);
    leaves.abort();
    await until(() => seen.aborted);
    await asked;
  });

  it("fetch: a reader that cancels the stream, too", async () => {
    const { flow, seen } = waiting();
    const { handler } = await serve([flow]);
    const { headers, body } = tracked("waits");
    const response = await handler.fetch(
      new Request("http://localhost/", {
        method: "POST",
        headers: { "content-type": "application/json", ...(headers as Record<string, string>) },
        body: JSON.stringify(body),
      }),
    );
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    await response.body?.cancel();
    await until(() => seen.aborted);
  });

  it.each(FACES)("close() aborts what is in flight and takes nothing new (%s)", async (face) => {
    const { flow, seen } = waiting();
    const { handler, faces } = await serve([flow]);
    const asked = faces[face](good("tools/call", { name: "waits" })).catch(() => undefined);
    await until(() => seen.started);
    await handler.close();
    await until(() => seen.aborted);
    expect((await faces[face](good("tools/list"))).status).toBe(503);
    // Nobody is left waiting: the connection ends, and fetch has no connection to end.
    expect(await asked).toEqual(face === "fetch" ? expect.objectContaining({ status: 503 }) : undefined);
  });
});

it("a body that a middleware has read is taken from req.body", async () => {
  const parley = createParley({ keys: [KEY], callers: "anonymous", onEvent: () => undefined });
  const handler = parley.handler(nativeOptions([works]));
  const http = createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    handler.listener(Object.assign(req, { body: JSON.parse(body) }), res);
  });
  const server = await listen(http, () => handler.close());
  open.push(server.close);
  const { json } = await overHttp(server.url)(good("tools/call", { name: "works" }));
  expect(json?.["result"]).toMatchObject({ resultType: "input_required" });
});

describe.each(FACES)("callers, through %s", (face) => {
  const who = tool("who", {}, async (_args, flow) => text(flow.caller?.subject ?? "nobody"));
  const bearer = (token?: string) => {
    const right = good("tools/call", { name: "who" });
    return token === undefined ? right : { ...right, headers: { ...right.headers, authorization: `Bearer ${token}` } };
  };
  const authenticate: HandlerOptions["authenticate"] = async (headers) => {
    const token = headers.get("Authorization")?.replace("Bearer ", "");
    if (token === undefined) return undefined;
    if (token === "weak") throw new OAuthError(OAuthErrorCode.InsufficientScope, "Insufficient scope");
    if (token === "broken") throw new Error("the database is down at 10.0.0.1");
    if (token !== "ann") throw new OAuthError(OAuthErrorCode.InvalidToken, "Unknown token");
    return { token, clientId: "app", scopes: [], extra: { sub: "ann" } };
  };

  it("C12 the hook's caller is the flow's; a refusal is 401 or 403 with a challenge, before the body is read", async () => {
    const errors: string[] = [];
    const onError = ({ message }: Error) => errors.push(message);
    const parley = createParley({ keys: [KEY], callers: "authenticated" });
    const { faces } = await mounted(parley.handler({ ...nativeOptions([who]), authenticate, onError }));
    const send = faces[face];
    expect((await send(bearer("ann"))).json?.["result"]).toMatchObject(text("ann"));
    for (const [token, status, challenge] of [
      [undefined, 401, /^Bearer error="invalid_token"/],
      ["bob", 401, /^Bearer error="invalid_token"/],
      ["weak", 403, /^Bearer error="insufficient_scope"/],
    ] as const) {
      const refused = await send({ ...bearer(token), body: "not even JSON" });
      expect({ status: refused.status, challenge: refused.headers["www-authenticate"] }).toEqual({
        status,
        challenge: expect.stringMatching(challenge),
      });
    }
    const broken = await send(bearer("broken"));
    expect(broken.status).toBe(500);
    expect(broken.text).not.toContain("10.0.0.1");
    expect(errors).toEqual(["the database is down at 10.0.0.1"]);
  });

  it('without callers: "authenticated", nobody is somebody to the flow: null', async () => {
    const { faces } = await serve([who], { authenticate });
    expect((await faces[face](bearer())).json?.["result"]).toMatchObject(text("nobody"));
  });

  it("G27 allowedHosts and allowedOrigins name a public server and its pages", async () => {
    const options = { allowedHosts: ["mcp.example.com"], allowedOrigins: ["app.example.com"] };
    const { faces } = await serve([who], options);
    const from = async (host: string, origin?: string) => {
      const headers = { ...bearer().headers, host, ...(origin !== undefined && { origin }) };
      return (await faces[face]({ ...bearer(), headers })).status;
    };
    expect(await from("mcp.example.com")).toBe(200);
    expect(await from("MCP.example.com:8443", "https://app.example.com")).toBe(200);
    expect(await from("mcp.example.com", "https://evil.example")).toBe(403);
    expect(await from("127.0.0.1")).toBe(403);
    const anybody = (await serve([who], { allowedHosts: "any", allowedOrigins: "any" })).faces[face];
    const headers = { ...bearer().headers, host: "x.example", origin: "https://y.example" };
    expect((await anybody({ ...bearer(), headers })).status).toBe(200);
  });
});

describe("what is handed to the SDK", () => {
  const deploy = tool("deploy", { inputSchema: z.object({ env: z.string() }) }, async ({ env }, flow) =>
    text((await flow.confirm("ok", `Deploy to ${env}?`)) ? `deployed to ${env}` : "kept"),
  );

  it("K1 K11 a client of 2025-11-25 lists and calls; one that must be asked is told that it cannot be, without a session", async () => {
    const plain = tool("plain", {}, async () => text("plain"));
    const { url } = await serve([deploy, plain]);
    const client = new LegacyClient({ name: "legacy", version: "1" }, { capabilities: { elicitation: {} } });
    await client.connect(new LegacyTransport(new URL(url)) as never);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["deploy", "plain"]);
    expect(await client.callTool({ name: "plain" })).toMatchObject(text("plain"));
    expect(await client.callTool({ name: "deploy", arguments: { env: "prod" } })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("cannot receive server-to-client requests") }],
    });
    await client.close();
  });

  it('K3 legacy: "reject" names what is supported', async () => {
    const { faces } = await serve([deploy], { legacy: "reject" });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "old", version: "1" } };
    const sent = { body: { jsonrpc: "2.0", id: 1, method: "initialize", params } };
    for (const face of FACES) {
      const { status, json } = await faces[face](sent);
      const data = { supported: ["2026-07-28"], requested: "2025-11-25" };
      expect({ status, error: json?.["error"] }).toMatchObject({ status: 400, error: { code: -32022, data } });
    }
  });

  it("I7 subscriptions/listen: acknowledged, told through handler.notify, and ended in order by close()", async () => {
    const { handler, url } = await serve([deploy]);
    const right = good("subscriptions/listen", { notifications: { toolsListChanged: true } });
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(right.headers as Record<string, string>),
      },
      body: JSON.stringify(right.body),
    });
    let stream = "";
    const reading = (async () => {
      for await (const chunk of response.body ?? []) stream += Buffer.from(chunk).toString();
    })().catch(() => undefined);
    await until(() => stream.includes("notifications/subscriptions/acknowledged"));
    handler.notify.toolsChanged();
    await until(() => stream.includes("notifications/tools/list_changed"));
    await handler.close();
    await reading;
    expect(events(stream).at(-1)).toMatchObject({ id: 1, result: { resultType: "complete" } });
  });

  it("a resource list of the author's own making is made anew for each request", async () => {
    let made = 0;
    const file = resource(
      "file",
      new ResourceTemplate("file:///{name}", {
        list: async () => ({ resources: [{ uri: `file:///${++made}`, name: "f" }] }),
      }),
      {},
      async ({ href: uri }) => ({ contents: [{ uri, text: "" }] }),
    );
    const { url } = await serve([file]);
    const client = await connect(url);
    const uris = async () => (await client.listResources()).resources.map(({ uri }) => uri);
    expect([await uris(), await uris()]).toEqual([["file:///1"], ["file:///2"]]);
    await client.close();
  });
});

describe("wrong use", () => {
  const parley = createParley({ keys: [KEY], callers: "anonymous", onEvent: () => undefined });
  it.each<[string, Partial<HandlerOptions>, RegExp]>([
    ["no name", { name: "" }, /option name must be a non-empty string/],
    [
      "tools that are no list",
      { tools: tool("t", {}, async () => text("")) as never },
      /option tools must be an array/,
    ],
    ["a limit of nothing", { maxBodyBytes: 0 }, /option maxBodyBytes must be an integer of at least 1/],
    [
      "one name twice",
      { tools: [1, 2].map(() => tool("t", {}, async () => text(""))) },
      /handler: Tool t is already registered/,
    ],
    ["something that is no flow", { tools: [{} as never] }, /must come from tool/],
  ])("%s is said at once", (_, options, message) => {
    expect(() => parley.handler({ name: "s", version: "1", ...options })).toThrow(message);
  });
});
