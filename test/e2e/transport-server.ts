import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Client, type JSONRPCMessage, type Transport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import { type LeanHttpOptions, leanHttpTransport } from "../../src/client.ts";
import { listen } from "../helpers/http.ts";

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};
type Request = Extract<JSONRPCMessage, { id: unknown; method: unknown }>;
export const request = (method: string, params: object = {}, id = 1): Request => ({
  jsonrpc: "2.0",
  id,
  method,
  params: { ...params, _meta: META },
});
export const ok = (id: unknown, result: object = {}) => JSON.stringify({ jsonrpc: "2.0", id, result });

export type Answer = (res: ServerResponse, body: Request, req: IncomingMessage) => void;
export const json: Answer = (res, { id }) =>
  void res.writeHead(200, { "content-type": "application/json" }).end(ok(id));

/** A server that answers as told; what came in, and how many connections it took. */
export async function answering(answer: Answer) {
  const seen: { headers: IncomingMessage["headers"]; body: Request }[] = [];
  const sockets = new Set<Socket>();
  const http = createServer(async (req, res) => {
    let raw = "";
    for await (const chunk of req) raw += chunk;
    const body = JSON.parse(raw) as Request;
    seen.push({ headers: req.headers, body });
    answer(res, body, req);
  });
  http.on("connection", (socket) => sockets.add(socket));
  const server = await listen(http);
  onTestFinished(() => server.close());
  return { url: server.url, seen, sockets };
}

export async function open(url: string, options: LeanHttpOptions = {}) {
  return started(leanHttpTransport(url, options));
}

export async function started(transport: Transport) {
  const messages: JSONRPCMessage[] = [];
  transport.onmessage = (message) => void messages.push(message);
  await transport.start();
  onTestFinished(() => transport.close());
  return { transport, messages };
}

/** The official client over the lean transport, connected to a server that answers as told. */
export const connected = async (answer: Answer, options: LeanHttpOptions = {}) => {
  const { url, seen, sockets } = await answering((res, body, req) => {
    const capabilities = { tools: {} };
    const discovered = {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities,
      ttlMs: 0,
      cacheScope: "private",
    };
    if (body.method === "server/discover")
      res.setHeader("content-type", "application/json").end(ok(body.id, discovered));
    else answer(res, body, req);
  });
  const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(leanHttpTransport(url, options));
  onTestFinished(() => client.close());
  return { client, seen, sockets };
};
