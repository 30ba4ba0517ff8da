/** MCP over HTTP on Node's own server: host and origin checks, bearer tokens, and an orderly end. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import {
  localhostHostValidation,
  type NodeIncomingMessageLike,
  originValidation,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  bearerAuthChallengeResponse,
  createMcpHandler,
  localhostAllowedOrigins,
  type McpServerFactory,
  type OAuthTokenVerifier,
  verifyBearerToken,
} from "@modelcontextprotocol/server";
import { bracketed, isLoopback } from "../../internal/net.ts";

export const MCP_PATH = "/mcp";

export interface HttpOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly factory: McpServerFactory;
  /** Who may call. Without it, anybody. */
  readonly verifier?: OAuthTokenVerifier;
  readonly onError?: (error: Error) => void;
  /** How long requests in flight may take once `stop` was called, in ms. Default 3,000. */
  readonly graceMs?: number;
}

export interface HttpServing {
  readonly url: string;
  /** Takes no new request, lets those in flight finish for a while, and frees the port. */
  stop(): Promise<void>;
}

/** @throws what `listen` reports, such as `EADDRINUSE`. */
export async function serveHttp(options: HttpOptions): Promise<HttpServing> {
  const { host, port, factory, verifier, graceMs = 3_000 } = options;
  const report = options.onError === undefined ? {} : { onerror: options.onError };
  const handler = createMcpHandler(factory, report);
  const handle = toNodeHandler(handler, report);
  const admits = guard(host);
  const open = new Set<ServerResponse>();
  let stopping: Promise<void> | undefined;
  let onIdle = () => {};

  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (stopping !== undefined) return refuse(res, 503, "Stopping");
    if (!admits(req, res)) return;
    if (new URL(req.url ?? "", "http://localhost").pathname !== MCP_PATH) return refuse(res, 404, "Not found");
    if (verifier !== undefined) {
      try {
        const auth = await verifyBearerToken(req.headers.authorization, { verifier });
        Object.assign(req, { auth });
      } catch (error) {
        return send(res, bearerAuthChallengeResponse(error));
      }
    }
    await handle(req as NodeIncomingMessageLike, res);
  };

  const http = createServer((req, res) => {
    open.add(res);
    res.on("close", () => {
      open.delete(res);
      if (open.size === 0) onIdle();
    });
    serve(req, res).catch((error: unknown) => {
      options.onError?.(error instanceof Error ? error : new Error(String(error)));
      res.destroy();
    });
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, resolve);
  });

  const stop = async (): Promise<void> => {
    const closed = new Promise((resolve) => http.close(resolve));
    const idle = new Promise<void>((resolve) => {
      onIdle = resolve;
      if (open.size === 0) resolve();
    });
    const late = new AbortController();
    await Promise.race([idle, sleep(graceMs, undefined, { signal: late.signal })]);
    late.abort();
    await handler.close();
    http.closeAllConnections();
    await closed;
  };
  return {
    url: `http://${bracketed(host)}:${(http.address() as AddressInfo).port}${MCP_PATH}`,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}

/** On loopback a page of another site must get nowhere, by its own origin or by a name it rebinds (G27). */
function guard(host: string): (req: IncomingMessage, res: ServerResponse) => boolean {
  const origin = originValidation([...localhostAllowedOrigins(), bracketed(host)]);
  if (!isLoopback(host)) return origin;
  const name = localhostHostValidation();
  return (req, res) => name(req, res) && origin(req, res);
}

function refuse(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`${text}\n`);
}

async function send(res: ServerResponse, response: Response): Promise<void> {
  res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
}
