/** A server as an author writes it on the SDK alone, with every kind of question; what comes in is kept. */
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { z } from "zod";
import { listen } from "../helpers/http.ts";

/** Stands in every state this server gives out: found anywhere else, a state has leaked. */
export const STATE = "opaque-state-of-the-server";
export const LINK = "https://connect.example.com/start?id=7";

export interface Leg {
  readonly id: number;
  readonly method: string;
  readonly params: Record<string, unknown> & { _meta: Record<string, unknown> };
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const form = (message: string, properties: Record<string, object>) =>
  ({
    method: "elicitation/create",
    params: { message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } },
  }) as never;
const ask = (inputRequests: Record<string, unknown>, round = 1) =>
  inputRequired({ inputRequests: inputRequests as never, requestState: `${STATE}:${round}` });

interface Context {
  mcpReq: { inputResponses?: Record<string, never>; requestState: () => unknown };
}

/** What a test can change while the server runs. */
export interface Knobs {
  /** The link was finished, or the server is done with what it asked patience for. */
  done: boolean;
  /** Held until it is called, if set: a request on its way. */
  hold?: Promise<unknown>;
  /** The connection breaks when a request has come in. */
  cut: boolean;
  /** The next state that comes back is refused as too old. */
  refuse: boolean;
  /** What the tool `rude` asks. */
  rude: unknown;
}

function author(knobs: Knobs): McpServer {
  const server = new McpServer({ name: "by-hand", version: "1.0.0" });
  const tool = (name: string, run: (answers: Record<string, Answer>, state: unknown) => unknown, about: object = {}) =>
    server.registerTool(name, { ...about, inputSchema: z.looseObject({}) }, (async (
      _args: unknown,
      context: Context,
    ) => {
      await knobs.hold;
      return run((context.mcpReq.inputResponses ?? {}) as Record<string, Answer>, context.mcpReq.requestState());
    }) as never);

  tool("confirm", ({ ok }) =>
    ok === undefined ? ask({ ok: form("Go?", { yes: { type: "boolean" } }) }) : text(`confirm: ${JSON.stringify(ok)}`),
  );
  tool("two", ({ first, second, third }, state) => {
    if (state === undefined) return ask({ first: form("1", { n: { type: "integer" } }), second: form("2", {}) });
    if (third === undefined) return ask({ third: form(`${first?.content?.["n"]} ${second?.action}; 3`, {}) }, 2);
    return text(`third: ${third.action}`);
  });
  tool("secret", ({ login }) =>
    login === undefined
      ? ask({ login: form("Log in", { user: { type: "string" }, apiKey: { type: "string" } }) })
      : text("logged in"),
  );
  tool("link", ({ go }) => {
    if (go !== undefined && go.action !== "accept") return text(`link: ${go.action}`);
    if (go !== undefined && knobs.done) return text("linked");
    return ask({ go: { method: "elicitation/create", params: { mode: "url", message: "Connect", url: LINK } } });
  });
  tool("patience", (_answers, state) => {
    if (state !== undefined && knobs.done) return text("patience paid");
    return inputRequired({ requestState: `${STATE}:wait` });
  });
  tool("sum", ({ sum }) => {
    if (sum !== undefined) return text(`sum: ${JSON.stringify(sum.content)} by ${sum.model}`);
    const messages = [{ role: "user", content: { type: "text", text: "Add up" } }];
    return ask({
      sum: { method: "sampling/createMessage", params: { messages, maxTokens: 50, _meta: { note: "private-meta" } } },
    });
  });
  tool("where", ({ roots }) =>
    roots === undefined ? ask({ roots: { method: "roots/list" } }) : text(`roots: ${JSON.stringify(roots.roots)}`),
  );
  tool("rude", () => text("never reached"));
  tool("reads", ({ ok }) => (ok === undefined ? ask({ ok: form("Read?", {}) }) : text("read")), {
    annotations: { readOnlyHint: true },
  });
  server.registerPrompt("greet", { argsSchema: z.object({ lang: z.string() }) }, async ({ lang }) => ({
    messages: [{ role: "user", content: { type: "text", text: lang } }],
  }));
  server.registerResource("note", "note://one", {}, async (uri) => ({ contents: [{ uri: uri.href, text: "a note" }] }));
  return server;
}

interface Answer {
  readonly action?: string;
  readonly content?: Record<string, unknown>;
  readonly model?: string;
  readonly roots?: unknown;
}

export interface HandServer {
  readonly url: string;
  readonly knobs: Knobs;
  /** Requests that may ask, as they came. */
  readonly legs: Leg[];
  /** Told when a client leaves before it was answered. */
  onAbort: () => void;
  close(): Promise<void>;
}

/** @param port 0 for any: a server that is started again takes the one it had. */
export async function handServer(port = 0): Promise<HandServer> {
  const knobs: Knobs = { done: false, cut: false, refuse: false, rude: {} };
  const handler = createMcpHandler(() => author(knobs));
  const handle = toNodeHandler(handler);
  const legs: Leg[] = [];
  const hooks = { onAbort: () => {} };
  const http = createServer(async (req, res) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    let raw = "";
    for await (const chunk of req) raw += chunk;
    const body = JSON.parse(raw) as Leg;
    res.on("close", () => {
      if (!res.writableFinished) hooks.onAbort();
    });
    if (/^(tools\/call|prompts\/get|resources\/read)$/.test(body.method)) legs.push(body);
    if (knobs.cut) return void req.socket.destroy();
    if (knobs.refuse && body.params?.["requestState"] !== undefined) {
      knobs.refuse = false;
      const error = { code: -32_602, message: "Invalid or expired", data: { reason: "invalid_request_state" } };
      res.writeHead(200, { "content-type": "application/json" });
      return void res.end(JSON.stringify({ jsonrpc: "2.0", id: body.id, error }));
    }
    if (body.params?.["name"] === "rude") {
      // What the SDK's server would not send.
      const result = { resultType: "input_required", inputRequests: { q: knobs.rude }, requestState: STATE };
      res.writeHead(200, { "content-type": "application/json" });
      return void res.end(JSON.stringify({ jsonrpc: "2.0", id: body.id, result }));
    }
    await handle(req as Parameters<typeof handle>[0], res, body);
  });
  const server = await listen(http, () => handler.close(), port);
  return Object.assign(hooks, { ...server, knobs, legs });
}
