import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import { createCalls } from "../../src/client.ts";
import { TRANSPORTS } from "../helpers/http.ts";
import { serve } from "./calls-server.ts";

const accept = (content: Record<string, string> = {}) => ({ action: "accept" as const, content });
const pacing = { initialMs: 1 };

describe.each(TRANSPORTS)("over the %s transport", (transport) => {
  test.each(["json", "sse"] as const)(
    "B15, B23, G21, G25: four rounds over %s with a header parameter and an output schema, from a cold tool list",
    async (responseMode) => {
      const { client, legs, posts } = await serve({ responseMode, transport });
      const form = vi.fn(async (_: unknown, { key }: { key: string }) =>
        accept(key === "window" ? { when: "now" } : {}),
      );
      const calls = createCalls(client, { server: "prod", responders: { form }, pacing });
      const result = await calls.callTool({ name: "deploy", arguments: { env: "é" } });
      expect(result.structuredContent).toEqual({ deployed: "é now" });
      expect(form).toHaveBeenCalledTimes(2);
      const [refused, ...served] = legs();
      expect(refused?.headers).not.toHaveProperty("mcp-param-env");
      expect(served).toHaveLength(4);
      for (const { headers, body } of served) {
        expect(headers).toMatchObject({
          "mcp-param-env": "=?base64?w6k=?=",
          "mcp-name": "deploy",
          "mcp-method": "tools/call",
        });
        expect(body.params).toMatchObject({ name: "deploy", arguments: { env: "é" } });
      }
      expect(served.map(({ body }) => body.params["requestState"])).toEqual([undefined, "1", "2", "3:now"]);
      expect(new Set(legs().map(({ body }) => body.id)).size).toBe(5);
      expect(posts.filter(({ body }) => body.method === "tools/list")).toHaveLength(1);
    },
  );

  test("a warm tool list with an output schema does not fail interim results, and nothing is listed again", async () => {
    const { client, posts } = await serve({ transport });
    await client.listTools();
    const form = async (_: unknown, { key }: { key: string }) => accept(key === "window" ? { when: "tonight" } : {});
    const calls = createCalls(client, { server: "prod", responders: { form }, pacing });
    const result = await calls.callTool({ name: "deploy", arguments: { env: "x" } });
    expect(result.structuredContent).toEqual({ deployed: "x tonight" });
    expect(posts.filter(({ body }) => body.method === "tools/list")).toHaveLength(1);
  });

  test("B20, A24: a decline is an answer, and the tool's own result comes back", async () => {
    const { client, legs } = await serve({ transport });
    const calls = createCalls(client, { server: "prod", responders: { form: async () => ({ action: "decline" }) } });
    const result = await calls.callTool({ name: "deploy", arguments: { env: "x" } });
    expect(result).toMatchObject({ isError: true, content: [{ text: "Not deployed." }] });
    expect(legs().at(-1)?.body.params["inputResponses"]).toEqual({ ok: { action: "decline" } });
  });

  test("E21: a url is accepted without content", async () => {
    const { client, legs } = await serve({ transport });
    const url = vi.fn(async () => accept({ typed: "x" }));
    const result = await createCalls(client, { server: "prod", responders: { url } }).callTool({ name: "connect" });
    expect(result.content).toEqual([{ type: "text", text: "link: accept" }]);
    expect(legs()[1]?.body.params["inputResponses"]).toEqual({ link: { action: "accept" } });
    const claimed = { name: "by-hand", version: "1.0.0" };
    expect(url).toHaveBeenCalledWith(
      expect.objectContaining({ url: "https://example.com/connect" }),
      expect.objectContaining({
        server: { id: "prod", claimed },
        method: "tools/call",
        target: "connect",
        key: "link",
        round: 1,
      }),
    );
  });

  test("B13, F18: sampling with tools comes back bare", async () => {
    const { client } = await serve({ transport });
    const use = { type: "tool_use" as const, id: "1", name: "search", input: { q: "x" } };
    const sample = async () => ({ role: "assistant" as const, content: [use], model: "m", stopReason: "toolUse" });
    const calls = createCalls(client, { server: "prod", responders: { sample, sampleTools: true } });
    const result = await calls.callTool({ name: "summarise" });
    expect(result.content).toEqual([{ type: "text", text: JSON.stringify([use]) }]);
  });

  test("B07: a host without a surface gets -32021 with what is missing, and shows nothing", async () => {
    const { client, legs } = await serve({ transport });
    const calls = createCalls(client, { server: "prod", responders: { form: async () => accept() } });
    const failure = calls.callTool({ name: "connect" });
    await expect(failure).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { url: {} } } },
    });
    expect(legs()).toHaveLength(1);
  });

  test("A3: a prompt asks", async () => {
    const { client, legs } = await serve({ transport });
    const calls = createCalls(client, { server: "prod", responders: { form: async () => accept({ name: "Ada" }) } });
    const result = await calls.getPrompt({ name: "greet" });
    expect(result.messages[0]?.content).toEqual({ type: "text", text: "Hello Ada" });
    expect(legs().map(({ headers }) => headers["mcp-name"])).toEqual(["greet", "greet"]);
  });

  test("B04, J1, J6: a resource that asks is asked for twice, and each answer is its own", async () => {
    const { client, legs } = await serve({ transport });
    const names = ["A", "B"];
    const calls = createCalls(client, {
      server: "prod",
      responders: { form: async () => accept({ nickname: names.shift() ?? "?" }) },
    });
    const uri = "diary://1";
    for (const text of ["A's", "B's"]) expect((await calls.readResource({ uri })).contents).toMatchObject([{ text }]);
    expect(legs()).toHaveLength(4);
  });

  test("B10: ten calls in flight over one client keep their own state and answers", async () => {
    const { client, legs } = await serve({ transport });
    await client.listTools();
    const form = async (_: unknown, { key, params }: { key: string; params: Readonly<Record<string, unknown>> }) => {
      const { env } = params["arguments"] as { env: string };
      await new Promise((resolve) => setTimeout(resolve, Number(env) % 3));
      return accept(key === "window" ? { when: Number(env) % 2 ? "now" : "tonight" } : {});
    };
    const calls = createCalls(client, { server: "prod", responders: { form }, pacing });
    const envs = Array.from({ length: 10 }, (_, index) => String(index));
    const results = await Promise.all(envs.map((env) => calls.callTool({ name: "deploy", arguments: { env } })));
    const expected = envs.map((env) => ({ deployed: `${env} ${Number(env) % 2 ? "now" : "tonight"}` }));
    expect(results.map(({ structuredContent }) => structuredContent)).toEqual(expected);
    expect(legs()).toHaveLength(40);
  });

  test("I5, B22: an abort closes the stream of the leg in flight and sends no notification", async () => {
    let closed = false;
    const { client, posts } = await serve({
      transport,
      before: (_, res, count) => {
        if (count === 1) return false;
        res.on("close", () => {
          closed = true;
        });
        return true;
      },
    });
    await client.listTools();
    const owner = new AbortController();
    const calls = createCalls(client, { server: "prod", responders: { form: async () => accept() } });
    const call = calls.callTool({ name: "deploy", arguments: { env: "x" } }, { signal: owner.signal });
    await vi.waitFor(() => expect(posts.filter(({ body }) => body.method === "tools/call")).toHaveLength(2));
    owner.abort();
    await expect(call).rejects.toMatchObject({ code: "aborted" });
    await vi.waitFor(() => expect(closed).toBe(true));
    expect(posts.map(({ body }) => body.method)).not.toContain("notifications/cancelled");
  });
});

test("K12: over a 2025-era connection a call is one plain request", async () => {
  const { url, legs } = await serve();
  const client = new Client({ name: "host", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(url));
  const calls = createCalls(client, { server: "prod", responders: { form: async () => accept() } });
  const result = await calls.callTool({ name: "deploy", arguments: { env: "x" } });
  expect(result.isError).toBe(true);
  expect(legs()).toHaveLength(1);
  expect(legs()[0]?.body.params).toEqual({ name: "deploy", arguments: { env: "x" } });
  expect(() => calls.resume({})).toThrow(expect.objectContaining({ code: "invalid_resume" }));
  await client.close();
});
