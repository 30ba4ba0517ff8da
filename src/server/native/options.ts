import type {
  AuthInfo,
  CacheHint,
  CreateMcpHandlerOptions,
  Implementation,
  ServerOptions,
} from "@modelcontextprotocol/server";
import { localhostAllowedHostnames, localhostAllowedOrigins } from "@modelcontextprotocol/server";
import type { ParleyError } from "../../errors.ts";
import type { AnyFlow, PromptFlow, ResourceFlow, ToolFlow } from "../../flow/define.ts";
import { badOption, checkNames } from "../../internal/options.ts";

/** What of a request tells who calls: its headers. */
export interface CallerHeaders {
  /** Names in any case; `null` for a header that is not there. */
  get(name: string): string | null;
}

/** What `parley.handler` serves, and how. */
export interface HandlerOptions {
  /** The server's name, sent with every result (A29). */
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: NonNullable<Implementation["icons"]>;
  /** How to use this server, for the model; part of `server/discover`. */
  readonly instructions?: string;
  /** Capabilities to advertise besides those that the definitions bring. */
  readonly capabilities?: NonNullable<ServerOptions["capabilities"]>;
  /** `ttlMs` and `cacheScope` of the cacheable results, by method. Default 0 and "private" (J3). */
  readonly cacheHints?: NonNullable<ServerOptions["cacheHints"]>;
  readonly tools?: readonly ToolFlow[];
  readonly prompts?: readonly PromptFlow[];
  readonly resources?: readonly ResourceFlow[];

  /**
   * Who calls, from verified credentials; asked before the body is read. `undefined`: nobody in particular, which is
   * 401 with `callers: "authenticated"`. An `OAuthError` of the SDK's becomes 401 or 403 with `WWW-Authenticate`, any
   * other error 500. Default: `req.auth`, as a middleware left it, or the `authInfo` given to `fetch`.
   */
  readonly authenticate?: (headers: CallerHeaders) => AuthInfo | undefined | Promise<AuthInfo | undefined>;
  /**
   * Host names (no port; IPv6 in brackets) that requests may be addressed to, or `"any"`. Default: those of loopback, so
   * that a page which rebinds its own name to this machine gets nowhere (G27).
   */
  readonly allowedHosts?: readonly string[] | "any";
  /**
   * Host names of pages that may call, or `"any"`. A request without `Origin` comes from no page and passes. Default:
   * those of loopback, and `allowedHosts` (G27).
   */
  readonly allowedOrigins?: readonly string[] | "any";

  /** Longest request body, in bytes; more is 413. Default 4 MiB. */
  readonly maxBodyBytes?: number;
  /** Bytes of all bodies that are still coming in; more is 503. Default 64 MiB. */
  readonly maxPendingBytes?: number;
  /** Deepest nesting of a message; more is 400. Default 128. */
  readonly maxDepth?: number;
  /** How long a body may take to come in, in ms; more is 408. Default 30,000. */
  readonly bodyTimeoutMs?: number;
  /** Pause between two comments that keep a stream alive, in ms; 0 for none. Default 15,000. */
  readonly keepAliveMs?: number;
  /** Clients of earlier revisions: served by the SDK without sessions, or refused. Default `"stateless"` (K1). */
  readonly legacy?: NonNullable<CreateMcpHandlerOptions["legacy"]>;
  /** Told of what went wrong here and is not in an answer. */
  readonly onError?: (error: Error) => void;
}

/** Flows of all kinds, as {@link HandlerOptions} takes them. */
export function byKind(flows: readonly AnyFlow[]): Pick<HandlerOptions, "tools" | "prompts" | "resources"> {
  return {
    tools: flows.filter((flow) => flow.type === "tool"),
    prompts: flows.filter((flow) => flow.type === "prompt"),
    resources: flows.filter((flow) => flow.type === "resource"),
  };
}

export interface ResolvedHandler {
  readonly info: Implementation;
  readonly server: ServerOptions;
  readonly readHint: CacheHint;
  readonly flows: readonly AnyFlow[];
  readonly authenticate: HandlerOptions["authenticate"];
  readonly allowedHosts: readonly string[] | undefined;
  readonly allowedOrigins: readonly string[] | undefined;
  readonly limits: HandlerLimits;
  readonly legacy: NonNullable<CreateMcpHandlerOptions["legacy"]>;
  onError(error: unknown): void;
}

export interface HandlerLimits {
  readonly maxBodyBytes: number;
  readonly maxPendingBytes: number;
  readonly maxDepth: number;
  readonly bodyTimeoutMs: number;
  readonly keepAliveMs: number;
}

const LIMITS: HandlerLimits = {
  maxBodyBytes: 4 * 1024 * 1024,
  maxPendingBytes: 64 * 1024 * 1024,
  maxDepth: 128,
  bodyTimeoutMs: 30_000,
  keepAliveMs: 15_000,
};

const NAMES: Record<keyof HandlerOptions, true> = {
  name: true,
  version: true,
  title: true,
  description: true,
  websiteUrl: true,
  icons: true,
  instructions: true,
  capabilities: true,
  cacheHints: true,
  tools: true,
  prompts: true,
  resources: true,
  authenticate: true,
  allowedHosts: true,
  allowedOrigins: true,
  maxBodyBytes: true,
  maxPendingBytes: true,
  maxDepth: true,
  bodyTimeoutMs: true,
  keepAliveMs: true,
  legacy: true,
  onError: true,
};

/** @throws ParleyError `configuration` */
export function resolveHandler(options: HandlerOptions): ResolvedHandler {
  checkNames("handler", options, NAMES);
  const { name, version, title, description, websiteUrl, icons } = options;
  for (const [option, value] of Object.entries({ name, version })) {
    if (typeof value !== "string" || value === "") throw wrong(option, "must be a non-empty string");
  }
  const { instructions, capabilities, cacheHints, allowedHosts, allowedOrigins, onError } = options;
  const hosts = allowedHosts ?? localhostAllowedHostnames();
  const origins =
    allowedOrigins ?? (hosts === "any" ? localhostAllowedOrigins() : [...localhostAllowedOrigins(), ...hosts]);
  return {
    info: { name, version, ...given({ title, description, websiteUrl, icons }) },
    server: given({ instructions, capabilities, cacheHints }),
    readHint: cacheHints?.["resources/read"] ?? {},
    flows: [
      ...list("tools", options.tools),
      ...list("prompts", options.prompts),
      ...list("resources", options.resources),
    ],
    authenticate: options.authenticate,
    allowedHosts: hosts === "any" ? undefined : hosts,
    allowedOrigins: origins === "any" ? undefined : origins,
    limits: resolveLimits(options),
    legacy: options.legacy ?? "stateless",
    onError: (error) => onError?.(error instanceof Error ? error : new Error(String(error))),
  };
}

function list<T>(option: string, flows: readonly T[] = []): readonly T[] {
  if (!Array.isArray(flows)) throw wrong(option, "must be an array");
  return flows;
}

function resolveLimits(options: HandlerOptions): HandlerLimits {
  const limits: Record<string, number> = { ...LIMITS };
  for (const name of Object.keys(LIMITS) as (keyof HandlerLimits)[]) {
    const value = options[name];
    if (value === undefined) continue;
    const least = name === "keepAliveMs" ? 0 : 1;
    if (!Number.isSafeInteger(value) || value < least) throw wrong(name, `must be an integer of at least ${least}`);
    limits[name] = value;
  }
  return limits as unknown as HandlerLimits;
}

/** Without the members that are undefined. */
function given<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> };
}

function wrong(option: string, rule: string): ParleyError {
  return badOption("handler", option, rule);
}
