import { validateHeaderName, validateHeaderValue } from "node:http";
import type { SecureContextOptions } from "node:tls";
import { ParleyError, reasonOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { checkNames } from "../internal/options.ts";

/** Options of `leanHttpTransport`. Durations are milliseconds. */
export interface LeanHttpOptions {
  /**
   * Sent with every request beside what the revision asks for. A function is asked before each one, so that a token can
   * be fresh: `async () => ({ authorization: "Bearer " + (await token()) })`; what it throws fails that request.
   * Headers that the transport sets itself cannot be given. Default: none.
   */
  headers?: RequestHeaders | (() => RequestHeaders | Promise<RequestHeaders>);
  /** Most connections at once; further requests wait for one. An open subscription holds one. Default 64. */
  maxConnections?: number;
  /** How long a connection is kept that nobody uses. Default 4000: Node's own servers close theirs after 5000. */
  idleConnectionMs?: number;
  /**
   * Longest message accepted; a longer one fails its request. Bytes of a JSON body, UTF-16 code units of an event's data.
   * Default 16 MiB.
   */
  maxMessageBytes?: number;
  /** For https: a private authority (`ca`), a client's own certificate (`cert`, `key`). Default: Node's. */
  tls?: SecureContextOptions;
}

export type RequestHeaders = Readonly<Record<string, string>>;

export interface ResolvedLeanHttpOptions {
  readonly url: URL;
  readonly headers: () => RequestHeaders | Promise<RequestHeaders>;
  readonly maxConnections: number;
  readonly idleConnectionMs: number;
  readonly maxMessageBytes: number;
  readonly tls: SecureContextOptions;
}

/** What the message and the connection say: nobody else may (G18 to G20). */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  "accept",
  "connection",
  "content-length",
  "content-type",
  "host",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "transfer-encoding",
]);

const DEFAULTS = { maxConnections: 64, idleConnectionMs: 4000, maxMessageBytes: 16 * 1024 * 1024, tls: {} };
const NAMES = { headers: true, ...DEFAULTS };

/** @throws ParleyError `configuration`, naming the option. */
export function resolveLeanHttpOptions(address: string | URL, options: LeanHttpOptions): ResolvedLeanHttpOptions {
  checkNames("leanHttpTransport", options, NAMES);
  const { headers = {}, ...rest }: LeanHttpOptions = options;
  const given = Object.entries(rest).filter(([, value]) => value !== undefined);
  const resolved = { ...DEFAULTS, ...Object.fromEntries(given) };
  for (const name of ["maxConnections", "idleConnectionMs", "maxMessageBytes"] as const) {
    if (!Number.isSafeInteger(resolved[name]) || resolved[name] < 1) throw bad(name, "must be an integer from 1");
  }
  return { ...resolved, url: readUrl(address), headers: headerSource(headers) };
}

/** Whether `name`, in lower case, is the transport's own. */
export function isOwnHeader(name: string): boolean {
  return OWN_HEADERS.has(name);
}

/** A function's headers are checked each time: a wrong one must not reach the wire either. */
function headerSource(headers: NonNullable<LeanHttpOptions["headers"]>): ResolvedLeanHttpOptions["headers"] {
  if (typeof headers === "function") return async () => checkHeaders(await headers());
  const fixed = { ...checkHeaders(headers) };
  return () => fixed;
}

function readUrl(address: string | URL): URL {
  const url = URL.canParse(String(address)) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw bad("url", "must be an http or https URL");
  if (url.username !== "" || url.password !== "") {
    throw bad("url", "must not carry a user name or password: give them in headers.authorization");
  }
  return url;
}

/** Values may be secrets, so errors name the header only. */
function checkHeaders(headers: RequestHeaders): RequestHeaders {
  if (!isObject(headers)) throw bad("headers", "must be an object of strings");
  for (const [name, value] of Object.entries(headers)) {
    if (isOwnHeader(name.toLowerCase())) throw bad(`headers.${name}`, "is set by the transport itself");
    try {
      validateHeaderName(name);
      if (typeof value !== "string") throw new TypeError("it is not a string");
      validateHeaderValue(name, value);
    } catch (error) {
      throw bad(`headers.${name}`, `cannot be sent: ${reasonOf(error)}`);
    }
  }
  return headers;
}

function bad(name: string, rule: string): ParleyError {
  return new ParleyError("configuration", `leanHttpTransport: ${name} ${rule}.`, { details: { option: name } });
}
