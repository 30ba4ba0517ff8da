/** The inbox for one person's browser, on node:http: the page, its routes and nothing else. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ParleyError } from "../../errors.ts";
import { bracketed } from "../../internal/net.ts";
import { inItsTurn } from "../../internal/turn.ts";
import type { Inbox } from "../inbox.ts";
import { readObject } from "./body.ts";
import { allowedHosts, checkOrigin, checkSession, secure, sessionCookie } from "./guard.ts";
import { isVisit, plainPage, servePage } from "./page.ts";
import { problem, problemOf } from "./problems.ts";
import { ROUTES } from "./routes.ts";
import { Sessions } from "./sessions.ts";
import { Streams } from "./stream.ts";

export interface ServeInboxOptions {
  /** Address to listen on. Default 127.0.0.1. It is also the name the page is called by. */
  readonly host?: string;
  /** Default 0: any free port. */
  readonly port?: number;
  /** Told of faults of this program; what a browser sent wrongly is none. */
  readonly onError?: (error: unknown) => void;
}

export interface InboxServing {
  /** `http://host:port` */
  readonly url: string;
  /** A link that opens the page, once. Whoever has it may answer: print it, and do not log it. */
  link(): string;
  stop(): Promise<void>;
}

/** @throws ParleyError `configuration` for an address that is no name; what `listen` reports, such as `EADDRINUSE`. */
export async function serveInbox(inbox: Inbox, options: ServeInboxOptions = {}): Promise<InboxServing> {
  const { host = "127.0.0.1", onError = () => {} } = options;
  if (host === "0.0.0.0" || host === "::") {
    const message = `The inbox cannot listen on ${host}: give the address that the browser will use.`;
    throw new ParleyError("configuration", message, { details: { option: "host" } });
  }
  const http = createServer();
  await listen(http, host, options.port ?? 0);
  const { port } = http.address() as AddressInfo;
  const sessions = new Sessions();
  const streams = new Streams(inbox);
  const hosts = allowedHosts(host, port);

  const open = (token: string, res: ServerResponse): void => {
    const id = sessions.open(token);
    if (id === undefined)
      throw problem(403, "forbidden", "This link was used already. Ask for another where the inbox runs.");
    res.writeHead(303, { "Set-Cookie": sessionCookie(port, id), Location: "/" }).end();
  };

  const answer = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = addressOf(req);
    checkOrigin(req, hosts, pathname);
    const isGet = req.method === "GET";
    const token = /^\/open\/([\w-]+)$/.exec(pathname)?.[1];
    if (isGet && token !== undefined) return open(token, res);
    const session = checkSession(req, sessions, port);
    if (isGet && pathname === "/api/events") return streams.open(res);
    if (isGet && (await servePage(pathname, res))) return;
    for (const route of ROUTES) {
      const match = route.method === req.method ? route.pattern.exec(pathname) : null;
      if (match === null) continue;
      const path = match.slice(1).map(decode);
      const value = await route.run({ inbox, session, path, query: searchParams, body: () => readObject(req) });
      return json(res, route.status ?? 200, value);
    }
    throw problem(404, "unknown", "There is nothing here.");
  };

  http.on("request", (req: IncomingMessage, res: ServerResponse) => {
    inItsTurn(res, () => {
      secure(res);
      answer(req, res).catch((error: unknown) => fail(req, res, error, onError));
    });
  });

  const url = `http://${bracketed(host)}:${port}`;
  return {
    url,
    link: () => `${url}/open/${sessions.link()}`,
    async stop() {
      streams.close();
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeIdleConnections();
      http.closeAllConnections();
      await closed;
    },
  };
}

function listen(http: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, host, () => {
      http.off("error", reject);
      resolve();
    });
  });
}

function addressOf({ url = "/" }: IncomingMessage): URL {
  if (URL.canParse(url, "http://inbox")) return new URL(url, "http://inbox");
  throw problem(400, "invalid_request", "The path is not well-formed.");
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw problem(400, "invalid_request", "The path is not well-formed.");
  }
}

function json(res: ServerResponse, status: number, value: unknown): void {
  res.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(value));
}

function fail(req: IncomingMessage, res: ServerResponse, error: unknown, onError: (error: unknown) => void): void {
  const known = problemOf(error);
  if (known === undefined) onError(error);
  if (res.headersSent) {
    res.destroy();
    return;
  }
  const { status, error: body } = known ?? problem(500, "failed", "The inbox failed. See where it was started.");
  // What is left of a body is not read: the connection ends with the answer.
  if (!req.complete) res.setHeader("Connection", "close");
  if (isVisit(req)) plainPage(res, status, body.message);
  else json(res, status, { error: body });
}
