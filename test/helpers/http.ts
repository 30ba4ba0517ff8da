import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  Client,
  type ClientOptions,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  type AuthInfo,
  createMcpHandler,
  type McpHttpHandler,
  type McpServerFactory,
} from "@modelcontextprotocol/server";
import { leanHttpTransport } from "../../src/client.ts";

/** A real HTTP server on a free loopback port. */
export interface TestServer {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves what `factory` makes, with the caller that `authenticate` reads from the bearer token.
 * @param front What stands in front of the SDK's handler.
 */
export async function serveHttp(
  factory: McpServerFactory,
  authenticate?: (token: string | undefined) => AuthInfo | undefined,
  front: (handler: McpHttpHandler) => McpHttpHandler = (handler) => handler,
): Promise<TestServer> {
  const handler = front(createMcpHandler(factory));
  const node = toNodeHandler(handler);
  const http = createServer((req, res) => {
    const authInfo = authenticate?.(req.headers.authorization?.replace(/^Bearer /, ""));
    void node(Object.assign(req, authInfo === undefined ? {} : { auth: authInfo }) as never, res as never);
  });
  return listen(http, () => handler.close());
}

/** @param fixed a port to listen on; 0 for any free one */
export async function listen(http: Server, onClose?: () => Promise<void>, fixed = 0): Promise<TestServer> {
  await new Promise<void>((resolve) => http.listen(fixed, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      await onClose?.();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}

/** The two transports that a host can choose from; what a test says of the wire holds with both. */
export const TRANSPORTS = ["sdk", "lean"] as const;
export type TransportName = (typeof TRANSPORTS)[number];

export function httpTransport(name: TransportName, url: string | URL, headers: Record<string, string> = {}): Transport {
  if (name === "lean") return leanHttpTransport(url, { headers });
  // The SDK's class and interface differ under exactOptionalPropertyTypes only.
  return new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }) as Transport;
}

/** The official client, on revision 2026-07-28. */
export async function connect(
  url: string,
  options: ClientOptions = {},
  headers: Record<string, string> = {},
  transport: TransportName = "sdk",
): Promise<Client> {
  const client = new Client(
    { name: "test-client", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } }, ...options },
  );
  await client.connect(httpTransport(transport, url, headers));
  return client;
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
};

/** One JSON-RPC request as bytes on the wire, so that a test can send what no client would. */
export async function rpc(
  url: string,
  method: string,
  params: Record<string, unknown>,
  options: { capabilities?: object; headers?: Record<string, string> } = {},
): Promise<{
  status: number;
  result?: Record<string, unknown>;
  error?: { code: number; message: string; data?: unknown };
}> {
  const capabilities = options.capabilities ?? {
    elicitation: { form: {}, url: {} },
    sampling: { tools: {} },
    roots: {},
  };
  const _meta = { ...(params["_meta"] as object), ...META, "io.modelcontextprotocol/clientCapabilities": capabilities };
  const response = await fetch(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": String(params["name"] ?? params["uri"] ?? ""),
      ...options.headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } }),
  });
  const text = await response.text();
  const json = text.startsWith("event:") || text.startsWith(":") ? lastEvent(text) : text;
  return { status: response.status, ...JSON.parse(json) };
}

function lastEvent(stream: string): string {
  const lines = stream.split("\n").filter((line) => line.startsWith("data: "));
  return lines.at(-1)?.slice("data: ".length) ?? "{}";
}
