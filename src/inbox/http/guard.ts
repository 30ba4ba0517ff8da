/** What every request must pass, and every response carries. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { bracketed, isLoopback } from "../../internal/net.ts";
import { problem } from "./problems.ts";
import { type OpenSession, type Sessions, sameText } from "./sessions.ts";

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

export function secure(res: ServerResponse): void {
  res.setHeader("Content-Security-Policy", CSP);
  res.setHeader("X-Content-Type-Options", "nosniff");
  res.setHeader("Referrer-Policy", "no-referrer");
  res.setHeader("Cache-Control", "no-store");
  res.setHeader("Cross-Origin-Opener-Policy", "same-origin");
  res.setHeader("Cross-Origin-Resource-Policy", "same-origin");
}

/** Names by which this server may be called: a name that another site rebinds to this address is not among them. */
export function allowedHosts(host: string, port: number): ReadonlySet<string> {
  const names = isLoopback(host) ? ["127.0.0.1", "localhost", "[::1]", bracketed(host)] : [bracketed(host)];
  return new Set(names.map((name) => `${name}:${port}`));
}

/** @throws HttpProblem 421 for a foreign `Host`, 403 for a request that another page sent. */
export function checkOrigin(req: IncomingMessage, hosts: ReadonlySet<string>, path: string): void {
  const { host = "", origin } = req.headers;
  if (!hosts.has(host.toLowerCase())) throw problem(421, "forbidden", "This is not the name of this server.");
  const own = `http://${host.toLowerCase()}`;
  if (origin !== undefined && origin !== own) throw problem(403, "forbidden", "Another page sent this.");
  const site = req.headers["sec-fetch-site"];
  const direct = site === undefined || site === "same-origin" || site === "none";
  // A link to the page itself may be followed from anywhere; what it needs is the cookie, which comes along from another
  // port of this computer only. What is not for reading is no page: a stream that was "visited" takes a listener's place.
  if (!direct && (req.headers["sec-fetch-mode"] !== "navigate" || path.startsWith("/api/"))) {
    throw problem(403, "forbidden", "Another page sent this.");
  }
}

/** The cookie is of the port: browsers send a cookie to every port of a host. */
export function cookieName(port: number): string {
  return `parley-inbox-${port}`;
}

export function sessionCookie(port: number, id: string): string {
  return `${cookieName(port)}=${id}; HttpOnly; SameSite=Strict; Path=/`;
}

/** @throws HttpProblem 401 without a session; 403 for a POST without its token or its origin. */
export function checkSession(req: IncomingMessage, sessions: Sessions, port: number): OpenSession {
  const session = sessions.find(readCookies(req.headers.cookie, cookieName(port)));
  if (session === undefined) {
    throw problem(401, "unauthorized", "Open the link that was printed where the inbox was started.");
  }
  if (req.method === "GET") return session;
  const csrf = req.headers["x-parley-csrf"];
  if (req.headers.origin === undefined) throw problem(403, "forbidden", "The origin is missing.");
  if (typeof csrf !== "string" || !sameText(csrf, session.csrf)) {
    throw problem(403, "forbidden", "The session's token is missing or wrong. Load the page again.");
  }
  return session;
}

/** All of that name: another port of this host may have set one beside ours, and a longer path puts it first. */
function readCookies(header: string | undefined, name: string): readonly string[] {
  const pairs = (header ?? "").split(";").map((pair) => pair.trim());
  return pairs.filter((pair) => pair.startsWith(`${name}=`)).map((pair) => pair.slice(name.length + 1));
}
