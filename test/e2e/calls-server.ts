import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Client } from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, inputRequired, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { httpTransport, listen, type TransportName } from "../helpers/http.ts";

/** One POST as it came in. */
export interface Post {
  headers: IncomingMessage["headers"];
  body: { id?: number; method: string; params: Record<string, unknown> & { _meta: Record<string, unknown> } };
}

interface Context {
  mcpReq: { inputResponses?: Record<string, unknown>; requestState: () => unknown };
}
const answerOf = (context: Context, key: string) =>
  context.mcpReq.inputResponses?.[key] as { action?: string; content?: Record<string, unknown> } | undefined;
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const askForm = (message: string, properties: Record<string, object> = {}) =>
  ({
    method: "elicitation/create",
    params: {
      mode: "form",
      message,
      requestedSchema: { type: "object", properties, required: Object.keys(properties) },
    },
  }) as never;

/** A server as an author writes it on the SDK alone: state in clear, a hand-made state machine. */
export function handWritten(): McpServer {
  const server = new McpServer({ name: "by-hand", version: "1.0.0" });
  const env = z.string().meta({ "x-mcp-header": "Env" });
  server.registerTool(
    "deploy",
    { inputSchema: z.object({ env }), outputSchema: z.object({ deployed: z.string() }) },
    async ({ env }, context) => {
      const state = context.mcpReq.requestState() as string | undefined;
      if (state === undefined) return inputRequired({ inputRequests: { ok: askForm("Deploy?") }, requestState: "1" });
      const when = { when: { type: "string", enum: ["now", "tonight"] } };
      if (state === "1") {
        if (answerOf(context, "ok")?.action !== "accept") return { ...text("Not deployed."), isError: true };
        return inputRequired({ inputRequests: { window: askForm("When?", when) }, requestState: "2" });
      }
      if (state === "2") return inputRequired({ requestState: `3:${answerOf(context, "window")?.content?.["when"]}` });
      return { ...text("ok"), structuredContent: { deployed: `${env} ${state.slice(2)}` } };
    },
  );
  server.registerTool("connect", {}, async (context) => {
    if (answerOf(context, "link")) return text(`link: ${answerOf(context, "link")?.action}`);
    const params = { mode: "url", message: "Connect", url: "https://example.com/connect" };
    return inputRequired({ inputRequests: { link: { method: "elicitation/create", params } as never } });
  });
  server.registerTool("summarise", {}, async (context) => {
    const answer = context.mcpReq.inputResponses?.["sample"] as { content: unknown } | undefined;
    if (answer) return text(JSON.stringify(answer.content));
    const messages = [{ role: "user", content: { type: "text", text: "Look it up" } }];
    const params = { messages, maxTokens: 50, tools: [{ name: "search", inputSchema: { type: "object" } }] };
    return inputRequired({ inputRequests: { sample: { method: "sampling/createMessage", params } as never } });
  });
  server.registerPrompt("greet", {}, async (context) => {
    const name = answerOf(context, "name")?.content?.["name"];
    if (name === undefined)
      return inputRequired({ inputRequests: { name: askForm("Who?", { name: { type: "string" } }) } });
    return { messages: [{ role: "user" as const, content: { type: "text" as const, text: `Hello ${name}` } }] };
  });
  server.registerResource(
    "diary",
    new ResourceTemplate("diary://{id}", { list: undefined }),
    {},
    async (uri, _, context) => {
      const nickname = answerOf(context, "nickname")?.content?.["nickname"];
      if (nickname === undefined) {
        return inputRequired({ inputRequests: { nickname: askForm("Who?", { nickname: { type: "string" } }) } });
      }
      return { contents: [{ uri: uri.href, text: `${nickname}'s` }], ttlMs: 60_000, cacheScope: "public" as const };
    },
  );
  return server;
}

type Before = (post: Post, res: ServerResponse, count: number) => boolean | Promise<boolean>;

/**
 * Serves `handWritten` over HTTP on loopback and records each POST. `before` may answer a tools/call itself (true).
 */
export async function serve(
  options: { responseMode?: "json" | "sse" | "auto"; before?: Before; transport?: TransportName } = {},
) {
  const handler = createMcpHandler(() => handWritten(), { responseMode: options.responseMode ?? "auto" });
  const handle = toNodeHandler(handler);
  const posts: Post[] = [];
  const http = createServer(async (req, res) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    let raw = "";
    for await (const chunk of req) raw += chunk;
    const body = JSON.parse(raw) as Post["body"];
    const post = { headers: req.headers, body };
    posts.push(post);
    const count = posts.filter(({ body }) => body.method === "tools/call").length;
    if (body.method === "tools/call" && (await options.before?.(post, res, count))) return;
    await handle(req as Parameters<typeof handle>[0], res, body);
  });
  const server = await listen(http, () => handler.close());
  const url = new URL(server.url);
  const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(httpTransport(options.transport ?? "sdk", url));
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const legs = () => posts.filter(({ body }) => /^(tools\/call|prompts\/get|resources\/read)$/.test(body.method));
  return { client, posts, legs, url };
}
