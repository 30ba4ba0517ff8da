/** Servers that ask what a test tells them to, and what came back to them, byte for byte as JSON. */
import { createServer } from "node:http";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { createParley, tool } from "../../src/index.ts";
import { isObject } from "../../src/internal/json.ts";
import { listen } from "../helpers/http.ts";

/** What a round asks, or how the call ends. A round without questions only says "wait". */
export type Round = Record<string, object>;

export interface AskingServer {
  /** By name: the rounds of a call to tool `ask`. */
  readonly scripts: Map<string, readonly Round[]>;
  /** `inputResponses` of every call that carried some. */
  readonly answers: Record<string, unknown>[];
  /** The next state that comes back is refused as too old. */
  refuses?: boolean;
  connect(signal?: AbortSignal): Promise<Client>;
  close(): Promise<void>;
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/** Written on the official SDK alone: state in the clear, a hand-made state machine. */
export function askingServer(): Promise<AskingServer> {
  return serve((scripts) => {
    const server = new McpServer({ name: "Deploy Service", version: "2.1" });
    server.registerTool("ask", { inputSchema: z.object({ script: z.string() }) }, async ({ script }, context) => {
      const state = Number(context.mcpReq.requestState() ?? 0);
      const round = scripts.get(script)?.[state];
      if (round === undefined) return text(`done ${script}`);
      return inputRequired({
        requestState: String(state + 1),
        ...(Object.keys(round).length > 0 && { inputRequests: round as never }),
      });
    });
    server.registerTool(
      "deep",
      { inputSchema: z.object({ plan: z.object({ of: z.array(z.string()) }) }) },
      ({ plan }) => text(plan.of.join("+")),
    );
    return server;
  });
}

/** The same with flows: a form is asked once, and the flow gives back what it got. */
export function parleyServer(form: { message: string; schema: object }): Promise<AskingServer> {
  const parley = createParley({ keys: [Buffer.alloc(32, 7).fill(8, 0, 5)], callers: "anonymous" });
  const ask = tool("ask", { inputSchema: z.object({ script: z.string() }) }, async (_args, flow) =>
    text(JSON.stringify(await flow.form("probe", form as never))),
  );
  return serve(() => {
    const server = new McpServer({ name: "flows", version: "1" });
    parley.register(server, [ask]);
    return server;
  });
}

async function serve(make: (scripts: Map<string, readonly Round[]>) => McpServer): Promise<AskingServer> {
  const scripts = new Map<string, readonly Round[]>();
  const answers: Record<string, unknown>[] = [];
  const handler = createMcpHandler(() => make(scripts));
  const handle = toNodeHandler(handler);
  const http = createServer(async (req, res) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    let raw = "";
    for await (const chunk of req) raw += chunk;
    const body = JSON.parse(raw) as { id: number; params?: { inputResponses?: unknown; requestState?: unknown } };
    if (isObject(body.params?.inputResponses)) answers.push(body.params.inputResponses as Record<string, unknown>);
    if (asking.refuses === true && body.params?.requestState !== undefined) {
      asking.refuses = false;
      const error = { code: -32_602, message: "Invalid or expired", data: { reason: "invalid_request_state" } };
      res.writeHead(200, { "content-type": "application/json" });
      return void res.end(JSON.stringify({ jsonrpc: "2.0", id: body.id, error }));
    }
    await handle(req as Parameters<typeof handle>[0], res, body);
  });
  const { url, close } = await listen(http, () => handler.close());
  const asking: AskingServer = {
    scripts,
    answers,
    close,
    async connect() {
      const client = new Client(
        { name: "host", version: "1" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } } },
      );
      await client.connect(new StreamableHTTPClientTransport(new URL(url)) as never);
      return client;
    },
  };
  return asking;
}

type Properties = Record<string, object>;

export const form = (
  message: string,
  properties: Properties,
  required: readonly string[] = Object.keys(properties),
) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required } },
});
export const link = (url: string, message = "Please sign in.") => ({
  method: "elicitation/create",
  params: { mode: "url", message, url },
});
export const sampling = (params: object) => ({ method: "sampling/createMessage", params });
export const roots = () => ({ method: "roots/list" });
export const confirm = (message = "Delete 3 files?") => form(message, { confirm: { type: "boolean" } });
