/** MCP over HTTP on Node's own server, and an orderly end. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export const MCP_PATH = "/mcp";

/** What answers at {@link MCP_PATH}. */
export interface Endpoint {
  listener(req: IncomingMessage, res: ServerResponse): unknown;
  /** Ends what is left when the grace is over. */
  close(): Promise<void>;
}

export interface HttpOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly endpoint: Endpoint;
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
  const { host, port, endpoint, graceMs = 3_000 } = options;
  const open = new Set<ServerResponse>();
  let stopping: Promise<void> | undefined;
  let onIdle = () => {};

  const http = createServer((req, res) => {
    open.add(res);
    res.on("close", () => {
      open.delete(res);
      if (open.size === 0) onIdle();
    });
    if (stopping !== undefined) refuse(res, 503, "Stopping");
    else if (new URL(req.url ?? "", "http://localhost").pathname !== MCP_PATH) refuse(res, 404, "Not found");
    else endpoint.listener(req, res);
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
    await endpoint.close();
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

/** As it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

function refuse(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { "content-type": "text/plain", connection: "close" }).end(`${text}\n`);
}
