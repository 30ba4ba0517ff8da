/** Rules of the revision that no other test here stands for, each against a real server. */
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createParley, InputDeclined, resource, tool } from "../../src/index.ts";
import { rpc, type TestServer } from "../helpers/http.ts";
import { MOUNTS, serveFlows } from "../helpers/mounts.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const yes = { ok: { action: "accept", content: { confirm: true } } };

describe.each(MOUNTS)("rules of the revision, on the %s mount", (mount) => {
  let server: TestServer;

  beforeAll(async () => {
    const parley = createParley({ keys: [Buffer.from("0123456789abcdef0123456789abcdef")], callers: "anonymous" });
    const typed = tool(
      "typed",
      { outputSchema: z.object({ removed: z.boolean() }), description: "typed" },
      async (_args, flow) => {
        const removed = await flow.confirm("ok", "Remove?");
        return { ...text(String(removed)), structuredContent: { removed } };
      },
    );
    const link = tool("link", {}, async (_args, flow) => {
      await flow.url("go", { message: "Connect", url: "https://example.com", until: () => false, pollMs: 0 });
      return text("unreachable");
    });
    const crash = tool("crash", {}, async () => {
      throw new Error("no disk");
    });
    const declining = tool("declining", {}, async (_args, flow) => {
      try {
        return text((await flow.form("q", { message: "?", schema: z.object({ a: z.string() }) })).a);
      } catch (error) {
        return text(error instanceof InputDeclined ? "an alternative" : "?");
      }
    });
    server = await serveFlows(mount, parley, [typed, link, crash, declining]);
  });
  afterAll(() => server.close());

  it("B02 A30 an interim result of a tool with an output schema passes as it is; only the complete one is checked", async () => {
    const asked = await rpc(server.url, "tools/call", { name: "typed" });
    expect(asked.result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    expect(asked.result).not.toHaveProperty("content");
    const requestState = asked.result?.["requestState"];
    const done = await rpc(server.url, "tools/call", { name: "typed", requestState, inputResponses: yes });
    expect(done.result).toMatchObject({ resultType: "complete", structuredContent: { removed: true } });
  });

  it("A7 E12 a result that asks nothing and only waits carries a state and no inputRequests", async () => {
    const asked = await rpc(server.url, "tools/call", { name: "link" });
    const requestState = asked.result?.["requestState"];
    const waiting = await rpc(server.url, "tools/call", {
      name: "link",
      requestState,
      inputResponses: { go: { action: "accept" } },
    });
    expect(waiting.result).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    expect(waiting.result).not.toHaveProperty("inputRequests");
  });

  it("A4 A27 what a call asks changes no list, and no list asks", async () => {
    const list = async () => (await rpc(server.url, "tools/list", {})).result;
    const before = await list();
    await rpc(server.url, "tools/call", { name: "typed" });
    expect(await list()).toEqual(before);
    expect(before).toMatchObject({ resultType: "complete" });
  });

  it("A2 A23 a round is one answer and nothing else: no request of the server's comes on its stream", async () => {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
      progressToken: 1,
    };
    const response = await fetch(server.url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "typed",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "typed", _meta: meta } }),
    });
    expect(response.headers.get("content-type")).toContain("application/json");
    const body = (await response.json()) as Record<string, unknown>;
    expect(body).not.toHaveProperty("method");
    expect(body["result"]).toMatchObject({ resultType: "input_required" });
  });

  it("A34 a tool that fails is an error result; a tool that is not there is a JSON-RPC error", async () => {
    const failed = await rpc(server.url, "tools/call", { name: "crash" });
    expect(failed.result).toMatchObject({ isError: true, content: [{ text: "no disk" }] });
    expect((await rpc(server.url, "tools/call", { name: "nobody" })).error).toMatchObject({ code: -32602 });
  });

  it("D27 A25 a decline may lead to an alternative", async () => {
    const asked = await rpc(server.url, "tools/call", { name: "declining" });
    const requestState = asked.result?.["requestState"];
    const answers = { q: { action: "decline" } };
    const done = await rpc(server.url, "tools/call", { name: "declining", requestState, inputResponses: answers });
    expect(done.result).toMatchObject({ content: [{ text: "an alternative" }] });
  });
});

describe("rules that hold wherever a flow is served", () => {
  it("J9 a resource that may ask cannot be cached for everybody", () => {
    const config = { cacheHint: { ttlMs: 1_000, cacheScope: "public" as const } };
    expect(() => resource("r", "r://1", config, async () => ({ contents: [] }))).toThrow(/cannot be "public"/);
  });

  it("A14 B45 ten thousand calls that never come back leave nothing behind", () => {
    const left = execFileSync(process.execPath, ["--expose-gc", "test/fixtures/waiting-calls.mjs"], {
      encoding: "utf8",
    });
    // Each call holds ten kilobytes while it runs: a hundred megabytes, were they kept.
    expect(Number(left)).toBeLessThan(5_000_000);
  }, 60_000);
});
