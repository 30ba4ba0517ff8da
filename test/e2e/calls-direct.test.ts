/** The driver's legs past the SDK's client: what goes out, and what is made of what comes back, is the same either way. */
import { Client, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { createCalls, leanHttpTransport, type Responders } from "../../src/client.ts";
import type { MrtrMethod } from "../../src/protocol/types.ts";
import { type Answer, answering, ok } from "./transport-server.ts";

const FIRST_DIRECT_ID = 2 ** 30;
const discovered = {
  resultType: "complete",
  supportedVersions: ["2026-07-28"],
  capabilities: { tools: {}, prompts: {}, resources: {}, logging: {} },
  ttlMs: 0,
  cacheScope: "private",
};
const text = { type: "text", text: "x" };
const question = {
  method: "elicitation/create",
  params: { message: "?", requestedSchema: { type: "object", properties: { a: { type: "string" } } } },
};
const interim = { resultType: "input_required", inputRequests: { q: question }, requestState: "s" };
const tools = [
  {
    name: "count",
    inputSchema: { type: "object", properties: { env: { type: "string", "x-mcp-header": "Env" } } },
    outputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
  },
];

/** Whoever wraps `send` sees every request: that is the SDK's way. */
function watched(transport: Transport, seen: JSONRPCMessage[] = []): Transport {
  const { send } = transport;
  transport.send = (message, options) => {
    seen.push(message);
    return send.call(transport, message, options);
  };
  return transport;
}

async function connect(transport: Transport): Promise<Client> {
  const client = new Client({ name: "host", version: "7" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

/** One server, and two clients of it: one whose legs go the direct way, and one whose legs the SDK sends. */
async function bothWays(answer: Answer) {
  const { url, seen } = await answering((res, body, req) => {
    const result = body.method === "server/discover" ? discovered : undefined;
    if (result !== undefined) res.setHeader("content-type", "application/json").end(ok(body.id, result));
    else answer(res, body, req);
  });
  const direct = await connect(leanHttpTransport(url));
  const sdk = await connect(watched(leanHttpTransport(url)));
  return { direct, sdk, seen };
}

const reply =
  (pick: (body: Parameters<Answer>[1]) => unknown): Answer =>
  (res, body) => {
    res
      .setHeader("content-type", "application/json")
      .end(JSON.stringify({ jsonrpc: "2.0", id: body.id, ...Object(pick(body)) }));
  };
const responders: Responders = { form: async () => ({ action: "accept", content: { a: "1" } }) };
const LEGS = /^(tools\/call|prompts\/get|resources\/read|tasks\/)/;

describe("what goes out", () => {
  const params: Record<MrtrMethod, Record<string, unknown>> = {
    "tools/call": { name: "count", arguments: { env: "é" } },
    "prompts/get": { name: "grüß" },
    "resources/read": { uri: "file:///x" },
  };
  const ends: Record<MrtrMethod, object> = {
    "tools/call": { content: [text], structuredContent: { n: 1 } },
    "prompts/get": { messages: [{ role: "user", content: text }] },
    "resources/read": { contents: [{ uri: "file:///x", text: "t" }], ttlMs: 0, cacheScope: "private" },
  };

  test.each(Object.keys(params) as MrtrMethod[])(
    "B5, B8, B11, G4, G5, G17 to G22: %s: the same headers and bodies on every leg, but for the id",
    async (method) => {
      const { direct, sdk, seen } = await bothWays(
        reply(({ method, params }) => {
          if (method === "tools/list")
            return { result: { resultType: "complete", tools, ttlMs: 60_000, cacheScope: "private" } };
          const done = { resultType: "complete", ...ends[method as MrtrMethod] };
          return { result: (params as { requestState?: string }).requestState === undefined ? interim : done };
        }),
      );
      const legs: (typeof seen)[] = [];
      for (const client of [direct, sdk]) {
        await client.listTools();
        seen.length = 0;
        const calls = createCalls(client, { server: "s", responders, newCallId: () => "c", random: () => 0.5 });
        const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
        const call = await calls.open(method, params[method] as never, { meta: { traceparent, "x/y": 1 } });
        expect(await call.run()).toMatchObject(ends[method]);
        legs.push(seen.filter(({ body }) => LEGS.test(body.method)));
      }
      const [ours, theirs] = legs as [typeof seen, typeof seen];
      const plain = (all: typeof seen) =>
        all.map(({ headers: { "content-length": _, ...headers }, body: { id: __, ...body } }) => ({ headers, body }));
      expect(ours).toHaveLength(2);
      expect(plain(ours)).toEqual(plain(theirs));
      if (method === "tools/call") expect(ours[0]?.headers["mcp-param-env"]).toBe("=?base64?w6k=?=");
      // The control: the two really went different ways.
      expect(ours.every(({ body }) => Number(body.id) >= FIRST_DIRECT_ID)).toBe(true);
      expect(theirs.every(({ body }) => Number(body.id) < FIRST_DIRECT_ID)).toBe(true);
      expect(new Set(ours.map(({ body }) => body.id)).size).toBe(2);
    },
  );

  test("a host that wraps the transport's send, or the client's request, sees every leg", async () => {
    const { url } = await answering(
      reply(({ method }) => ({
        result: method === "server/discover" ? discovered : { resultType: "complete", content: [] },
      })),
    );
    const seen: JSONRPCMessage[] = [];
    const transport = leanHttpTransport(url);
    const client = await connect(transport);
    const calls = createCalls(client, { server: "s" });
    await calls.callTool({ name: "count" });
    expect(seen).toHaveLength(0);
    watched(transport, seen);
    await calls.callTool({ name: "count" });
    expect(seen).toHaveLength(1);

    const traced = await connect(leanHttpTransport(url));
    const methods: string[] = [];
    const { request } = traced;
    traced.request = ((leg: { method: string }, ...rest: unknown[]) => {
      methods.push(leg.method);
      return Reflect.apply(request, traced, [leg, ...rest]);
    }) as typeof request;
    await createCalls(traced, { server: "s" }).callTool({ name: "count" });
    expect(methods).toEqual(["tools/call"]);
  });
});

describe("what comes back", () => {
  test("H4, B1, B18, B27: of any result, the same is made", async () => {
    let response: unknown;
    const { direct, sdk } = await bothWays(reply(() => response));
    const block = fc.oneof(
      fc.constantFrom<unknown>(
        text,
        { type: "text" },
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "odd" },
        7,
        {
          ...text,
          annotations: { priority: 2 },
          extra: 1,
        },
      ),
      fc.constant({ type: "resource_link", uri: "file:///x", name: "x" }),
      fc.constant({ type: "resource", resource: { uri: "file:///x", text: "t" } }),
    );
    const several = <T>(one: fc.Arbitrary<T>) =>
      fc.oneof(fc.array(one, { maxLength: 3 }), fc.constantFrom<unknown>(undefined, null, "x", {}));
    const result = fc.record(
      {
        resultType: fc.constantFrom<unknown>(
          "complete",
          "complete",
          "complete",
          "task",
          "input_required",
          "odd",
          undefined,
          7,
          null,
        ),
        content: several(block),
        structuredContent: fc.constantFrom<unknown>(undefined, { n: 1 }, "x", null),
        isError: fc.constantFrom<unknown>(undefined, true, "x"),
        messages: several(
          fc.constantFrom<unknown>({ role: "user", content: text }, { role: "x", content: text }, { role: "user" }),
        ),
        description: fc.constantFrom<unknown>(undefined, "d", 7),
        contents: several(
          fc.constantFrom<unknown>({ uri: "file:///x", text: "t" }, { uri: "file:///x", blob: "AA==" }, { uri: 7 }, {}),
        ),
        ttlMs: fc.constantFrom<unknown>(0, 60_000, undefined, -1, 1.5, "1"),
        cacheScope: fc.constantFrom<unknown>("private", "public", undefined, "odd"),
        taskId: fc.constantFrom<unknown>(undefined, "t"),
        inputRequests: fc.constantFrom<unknown>(undefined, { q: question }, [], { q: 7 }),
        requestState: fc.constantFrom<unknown>(undefined, "s", 7),
        _meta: fc.constantFrom<unknown>(undefined, { a: 1 }, 7),
        unknown: fc.constantFrom<unknown>(undefined, 1),
      },
      { requiredKeys: ["resultType"] },
    );
    const answer = fc.oneof(
      { weight: 8, arbitrary: result.map((result) => ({ result })) },
      { weight: 1, arbitrary: fc.constantFrom<unknown>(null, [], 7, "x").map((result) => ({ result })) },
      {
        weight: 1,
        arbitrary: fc
          .record({ code: fc.constantFrom(-32602, -32021, -32603, 5), message: fc.string(), data: fc.jsonValue() })
          .map((error) => ({ error })),
      },
    );
    const target = fc.constantFrom<[MrtrMethod, object]>(
      ["tools/call", { name: "count" }],
      ["prompts/get", { name: "p" }],
      ["resources/read", { uri: "file:///x" }],
    );
    const outcome = async (client: Client, [method, params]: [MrtrMethod, object]) => {
      const calls = createCalls(client, { server: "s", tasks: false, maxRounds: 2, pacing: { initialMs: 0 } });
      const capabilities = { elicitation: { form: {} } };
      try {
        const call = await calls.open(method, params as never, { capabilities });
        return { status: call.status, result: call.result, questions: call.questions };
      } catch (error) {
        const { name, code, data } = error as { name: string; code: unknown; data?: unknown };
        return { name, code, ...(name === "ProtocolError" && { data, message: (error as Error).message }) };
      }
    };
    const kinds = new Set<unknown>();
    await fc.assert(
      fc.asyncProperty(target, answer, async (target, given) => {
        response = given;
        const [ours, theirs] = [await outcome(direct, target), await outcome(sdk, target)];
        kinds.add(ours.status ?? ours.code);
        expect(ours).toEqual(theirs);
      }),
      { numRuns: 600 },
    );
    expect([...kinds]).toEqual(
      expect.arrayContaining(["complete", "asking", "invalid_result", "invalid_interim", -32602]),
    );
  });

  test("what else a leg's stream carries is the client's; one with progress takes the SDK's way", async () => {
    const { direct, seen } = await bothWays((res, { id, params }) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      const token = (params as { _meta: { progressToken?: number } })._meta.progressToken;
      const event = (message: object) =>
        res.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
      event({ method: "notifications/message", params: { level: "info", data: "hello" } });
      if (token !== undefined)
        event({ method: "notifications/progress", params: { progressToken: token, progress: 1 } });
      event({ id, result: { resultType: "complete", content: [text] } });
      res.end();
    });
    const logged: unknown[] = [];
    direct.setNotificationHandler("notifications/message", ({ params }) => void logged.push(params.data));
    const calls = createCalls(direct, { server: "s" });
    await calls.callTool({ name: "count" });
    expect(logged).toEqual(["hello"]);
    const progress: number[] = [];
    await calls.callTool({ name: "count" }, { onProgress: (one) => progress.push(one.progress) });
    expect(progress).toEqual([1]);
    await calls.callTool({ name: "count" });
    expect(logged).toHaveLength(3);
    const ids = seen.map(({ body }) => Number(body.id)).slice(-3);
    expect(ids.map((id) => id >= FIRST_DIRECT_ID)).toEqual([true, false, true]);
  });

  test("a message too deep for the client to quote costs that message, not the process; nor does such a resultType", async () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    let answer = (id: unknown) => ok(id, { resultType: "complete", content: [text] });
    const { direct } = await bothWays((res, { id }) => {
      res.writeHead(200, { "content-type": "text/event-stream" });
      res.write(`data: {"jsonrpc":"2.0","id":7,"result":{"x":${deep}}}\n\n`);
      // Nobody has the rest yet: what the client throws has nobody to go to.
      setTimeout(() => res.end(`data: ${answer(id)}\n\n`), 50);
    });
    const errors: Error[] = [];
    direct.onerror = (error) => void errors.push(error);
    const calls = createCalls(direct, { server: "s" });
    expect(await calls.callTool({ name: "count" })).toEqual({ content: [text] });
    expect(errors).toEqual([expect.any(RangeError)]);
    answer = (id) => `{"jsonrpc":"2.0","id":${id},"result":{"resultType":${deep}}}`;
    await expect(calls.callTool({ name: "count" })).rejects.toMatchObject({ code: "invalid_result" });
  });

  test("I5: a call that ends closes its connection, and a client that was closed fails the leg by name", async () => {
    const closed: string[] = [];
    const { direct } = await bothWays((res, { method }) => void res.on("close", () => closed.push(method)));
    const calls = createCalls(direct, { server: "s" });
    const ending = new AbortController();
    const call = calls.callTool({ name: "count" }, { signal: ending.signal });
    await new Promise((resolve) => setTimeout(resolve, 50));
    ending.abort();
    await expect(call).rejects.toMatchObject({ code: "aborted" });
    await expect.poll(() => closed).toEqual(["tools/call"]);
    await direct.close();
    await expect(calls.callTool({ name: "count" })).rejects.toThrow(/Not connected|not open/i);
  });
});
