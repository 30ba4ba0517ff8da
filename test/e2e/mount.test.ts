import { McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createParley, type ParleyEvent, prompt, resource, tool } from "../../src/index.ts";
import { connect, rpc, serveHttp, type TestServer } from "../helpers/http.ts";
import { MOUNTS, serveFlows } from "../helpers/mounts.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const yes = { action: "accept", content: { confirm: true } };

describe.each(MOUNTS)("flows on the %s mount", (mount) => {
  let server: TestServer;
  const events: ParleyEvent[] = [];
  let ran = 0;

  beforeAll(async () => {
    const parley = createParley({
      keys: [Buffer.alloc(32, 1).fill(2, 0, 3)],
      callers: "anonymous",
      onEvent: (event) => events.push(event),
    });
    const remove = tool(
      "remove",
      { inputSchema: z.object({ file: z.string(), force: z.boolean().optional() }) },
      async ({ file }, flow) => {
        ran++;
        return text((await flow.confirm("ok", `Remove ${file}?`)) ? `removed ${file}` : "kept");
      },
    );
    const link = tool("link", {}, async (_args, flow) => {
      await flow.url("go", { message: "Connect", url: "https://example.com/" });
      return text("linked");
    });
    const greet = prompt("greet", { argsSchema: z.object({ lang: z.string() }) }, async ({ lang }, flow) => {
      const { name } = await flow.form("name", { message: "Name?", schema: z.object({ name: z.string() }) });
      return { messages: [{ role: "user", content: { type: "text", text: `${lang}: ${name}` } }] };
    });
    const note = resource(
      "note",
      "note://one",
      { cacheHint: { ttlMs: 60_000, cacheScope: "private" } },
      async (uri, _vars, flow) => {
        const { nick } = await flow.form("nick", { message: "Nick?", schema: z.object({ nick: z.string() }) });
        return { contents: [{ uri: uri.href, text: nick }] };
      },
    );
    const file = resource(
      "file",
      new ResourceTemplate("file:///{name}", { list: undefined }),
      {},
      async (uri, { name }, flow) => {
        const ok = await flow.confirm("ok", `Read ${String(name)}?`);
        return { contents: [{ uri: uri.href, text: `${String(name)} ${ok}` }] };
      },
    );
    server = await serveFlows(mount, parley, [remove, link, greet, note, file]);
  });
  afterAll(() => server.close());

  it("A3 a tool asks, and the official client in automatic mode answers", async () => {
    const client = await connect(server.url, { capabilities: { elicitation: { form: {} } } });
    client.setRequestHandler("elicitation/create", async () => yes as never);
    const result = await client.callTool({ name: "remove", arguments: { file: "a" } });
    expect(result.content).toEqual(text("removed a").content);
    await client.close();
  });

  it("prompts, resources and templates ask as well", async () => {
    const asked = await rpc(server.url, "prompts/get", { name: "greet", arguments: { lang: "en" } });
    expect(asked.result).toMatchObject({ resultType: "input_required", inputRequests: { name: {} } });
    const answered = await rpc(server.url, "prompts/get", {
      name: "greet",
      arguments: { lang: "en" },
      requestState: asked.result?.["requestState"],
      inputResponses: { name: { action: "accept", content: { name: "Bo" } } },
    });
    expect(answered.result).toMatchObject({ resultType: "complete", messages: [{ content: { text: "en: Bo" } }] });

    const read = await rpc(server.url, "resources/read", { uri: "file:///x" });
    const done = await rpc(server.url, "resources/read", {
      uri: "file:///x",
      requestState: read.result?.["requestState"],
      inputResponses: { ok: yes },
    });
    expect(done.result).toMatchObject({ contents: [{ text: "x true" }] });
  });

  it("B04 A28 J4 interim results carry no cache hints, retried ones are nobody else's", async () => {
    const asked = await rpc(server.url, "resources/read", { uri: "note://one" });
    expect(asked.result).not.toHaveProperty("ttlMs");
    expect(asked.result).not.toHaveProperty("cacheScope");
    const done = await rpc(server.url, "resources/read", {
      uri: "note://one",
      requestState: asked.result?.["requestState"],
      inputResponses: { nick: { action: "accept", content: { nick: "A" } } },
    });
    expect(done.result).toMatchObject({ ttlMs: 0, cacheScope: "private", contents: [{ text: "A" }] });
  });

  it("A29 A5 every result names its server and its type, interim ones too", async () => {
    const asked = await rpc(server.url, "tools/call", { name: "remove", arguments: { file: "a" } });
    expect(asked.result?.["_meta"]).toMatchObject({ "io.modelcontextprotocol/serverInfo": { name: "s" } });
  });

  it("C3 L13 a refused state is one JSON-RPC error, the flow does not run, and the event names the reason", async () => {
    const asked = await rpc(server.url, "tools/call", { name: "remove", arguments: { file: "a" } });
    const state = String(asked.result?.["requestState"]);
    const retry = (requestState: string, args: object = { file: "a" }, name = "remove") =>
      rpc(server.url, "tools/call", { name, arguments: args, requestState, inputResponses: { ok: yes } });
    expect((await retry(state)).result).toMatchObject({ content: [{ text: "removed a" }] });

    const before = ran;
    events.length = 0;
    for (const refused of [
      await retry(`${state}-TAMPERED`),
      await retry("signed-in"),
      await retry(state, { file: "b" }),
      await retry(state, {}, "link"),
    ]) {
      expect(refused).toMatchObject({
        status: 200,
        error: { code: -32602, message: "Invalid or expired requestState", data: { reason: "invalid_request_state" } },
      });
    }
    expect(ran).toBe(before);
    expect(events.filter((event) => event.type === "state_refused").map((event) => event.reason)).toEqual([
      "tampered",
      "unknown_format",
      "other_params",
      "other_target",
    ]);
  });

  it("B07 A13 a missing capability is -32021 with exactly what is missing, HTTP 400", async () => {
    const none = await rpc(
      server.url,
      "tools/call",
      { name: "remove", arguments: { file: "a" } },
      { capabilities: {} },
    );
    expect(none).toMatchObject({
      status: 400,
      error: { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } },
    });
    const form = await rpc(server.url, "tools/call", { name: "link" }, { capabilities: { elicitation: { form: {} } } });
    expect(form.error?.data).toEqual({ requiredCapabilities: { elicitation: { url: {} } } });
    const bare = await rpc(
      server.url,
      "tools/call",
      { name: "remove", arguments: { file: "a" } },
      { capabilities: { elicitation: {} } },
    );
    expect(bare.result).toMatchObject({ resultType: "input_required" });
  });
});

it("tools registered the usual way stay as they are beside flows", async () => {
  const parley = createParley({ callers: "anonymous", onEvent: () => undefined });
  const server = await serveHttp(() => {
    const mcp = new McpServer({ name: "s", version: "1.0.0" });
    mcp.registerTool("plain", { inputSchema: z.object({ n: z.number() }) }, ({ n }) => text(String(n + 1)));
    parley.register(mcp, [tool("flow", {}, async () => text("flows"))]);
    mcp.registerTool("later", {}, () => {
      throw new Error("as before");
    });
    return mcp;
  });
  onTestFinished(() => server.close());
  const plain = await rpc(server.url, "tools/call", { name: "plain", arguments: { n: 1 } });
  expect(plain.result).toMatchObject({ resultType: "complete", content: [{ text: "2" }] });
  const later = await rpc(server.url, "tools/call", { name: "later", arguments: {} });
  expect(later.result).toMatchObject({ isError: true, content: [{ text: "as before" }] });
});
