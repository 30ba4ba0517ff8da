/**
 * The server's own page behind the link. Whoever opens it must be signed in here as the one who made the call (B37);
 * only then is the browser sent on to the provider, and only this page ever holds the provider's credential.
 * Part of connect-account: served on a free loopback port. In production: https, and your own sign-in.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { type OpenedTicket, ParleyError, type Tickets } from "mcp-parley";

/** Stands for your site's own sessions. */
interface Session {
  readonly user: string;
  /** OAuth `state` -> the ticket this browser was sent to the provider for. */
  readonly atProvider: Map<string, OpenedTicket>;
}

/** Serves the page. A connected account's credential is put into `credentials` under its user's name. */
export async function servePage(tickets: Tickets, credentials: Map<string, string>): Promise<{ origin: string }> {
  /** By session cookie. */
  const sessions = new Map<string, Session>();

  const routes: Record<string, (req: IncomingMessage, res: ServerResponse, url: URL) => unknown> = {
    "GET /connect": async (req, res, url) => {
      const ticket = url.searchParams.get("ticket") ?? "";
      const session = sessionOf(req);
      if (session === undefined) return show(res, 401, signInForm(ticket));
      const opened = await tickets.open(ticket, { subject: session.user });
      const state = unguessable();
      session.atProvider.set(state, opened);
      return redirect(res, `/provider/authorize?${new URLSearchParams({ state })}`);
    },
    "GET /callback": async (req, res, url) => {
      const [state, code] = [url.searchParams.get("state") ?? "", url.searchParams.get("code") ?? ""];
      const session = sessionOf(req);
      const opened = session?.atProvider.get(state);
      if (session === undefined || opened === undefined) return show(res, 403, "This answer was not expected.");
      session.atProvider.delete(state);
      credentials.set(session.user, exchange(code));
      await tickets.complete(opened);
      return show(res, 200, "Connected. You can go back to where you came from.");
    },
    // Stands for your site's own sign-in, which asks for more than a name.
    "POST /sign-in": async (req, res) => {
      const form = new URLSearchParams(await text(req));
      const cookie = unguessable();
      sessions.set(cookie, { user: form.get("user") ?? "", atProvider: new Map() });
      res.setHeader("set-cookie", `session=${cookie}; HttpOnly; SameSite=Lax; Path=/`);
      return redirect(res, `/connect?${new URLSearchParams({ ticket: form.get("ticket") ?? "" })}`);
    },
    // Stands for the provider's site, where the person agrees.
    "GET /provider/authorize": (_req, res, url) => {
      const state = url.searchParams.get("state") ?? "";
      return redirect(res, `/callback?${new URLSearchParams({ state, code: unguessable() })}`);
    },
  };

  function sessionOf(req: IncomingMessage): Session | undefined {
    const cookie = /(?:^|; )session=([\w-]+)/.exec(req.headers.cookie ?? "")?.[1];
    return cookie === undefined ? undefined : sessions.get(cookie);
  }

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? "/", "http://page.invalid");
    const route = routes[`${req.method} ${url.pathname}`];
    if (route === undefined) show(res, 404, "There is nothing here.");
    else await route(req, res, url);
  }

  const server = createServer((req, res) => {
    handle(req, res).catch((error: unknown) => {
      // Unknown, expired, used and somebody else's look the same: a guess learns nothing.
      if (error instanceof ParleyError && error.code === "ticket_refused") show(res, 403, error.message);
      else res.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // A page that waits for visitors does not keep the process alive.
  server.unref();
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const unguessable = (): string => randomBytes(32).toString("base64url");

/** Stands for the call to the provider that turns a code into a credential: from server to server. */
function exchange(code: string): string {
  return `provider-credential-${code}`;
}

function signInForm(ticket: string): string {
  // Our own tickets need no escaping; anything else is not repeated.
  const safe = /^[\w-]{1,2048}$/.test(ticket) ? ticket : "";
  return `<form method="post" action="/sign-in"><input type="hidden" name="ticket" value="${safe}">
<label>User <input name="user"></label> <button>Sign in</button></form>`;
}

function show(res: ServerResponse, status: number, html: string): void {
  res.writeHead(status, { "content-type": "text/html; charset=utf-8", ...HEADERS });
  res.end(`<!doctype html><meta charset="utf-8"><title>Connect an account</title><main>${html}</main>`);
}

function redirect(res: ServerResponse, location: string): void {
  res.writeHead(303, { location, ...HEADERS });
  res.end();
}

/** The ticket is in the address: it must not travel on, and nothing of the page is kept or framed. */
const HEADERS = {
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
