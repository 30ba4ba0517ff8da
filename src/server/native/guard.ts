/** Who may call at all: by the name a request is addressed to, the page it comes from, and its credentials. */
import {
  type AuthInfo,
  bearerAuthChallengeResponse,
  isJsonContentType,
  OAuthError,
  OAuthErrorCode,
  ProtocolErrorCode,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import type { Headers } from "./headers.ts";
import type { CallerHeaders, ResolvedHandler } from "./options.ts";

/** An HTTP answer to a request that never became a message. */
export interface HttpRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers?: readonly string[];
}

export const STOPPING: HttpRefusal = { status: 503, message: "This server is stopping" };

const JSON_TYPE = "application/json";

export class Guard {
  readonly #hosts: readonly string[] | undefined;
  readonly #origins: readonly string[] | undefined;
  /** The last name that passed: a connection's requests all carry the same. */
  #knownHost: string | undefined;

  constructor({ allowedHosts, allowedOrigins }: ResolvedHandler) {
    this.#hosts = allowedHosts;
    this.#origins = allowedOrigins;
  }

  /** By what name and from which page a request comes (G27). */
  check(headers: Headers): HttpRefusal | undefined {
    return this.#checkHost(headers.header("host")) ?? this.#checkOrigin(headers.header("origin"));
  }

  #checkHost(host: string | undefined): HttpRefusal | undefined {
    if (this.#hosts === undefined || (host !== undefined && host === this.#knownHost)) return undefined;
    const checked = validateHostHeader(host, [...this.#hosts]);
    if (!checked.ok) return { status: 403, message: checked.message };
    this.#knownHost = host;
    return undefined;
  }

  #checkOrigin(origin: string | undefined): HttpRefusal | undefined {
    if (origin === undefined || this.#origins === undefined) return undefined;
    const checked = validateOriginHeader(origin, [...this.#origins]);
    return checked.ok ? undefined : { status: 403, message: checked.message };
  }
}

/** What is wrong with the form of a request whose body is not read yet. */
export function checkForm(method: string, headers: Headers, maxBodyBytes: number): HttpRefusal | undefined {
  if (method !== "POST") return { status: 405, message: "Method not allowed.", headers: ["allow", "POST"] };
  const type = headers.header("content-type");
  if (type !== JSON_TYPE && !isJsonContentType(type)) {
    return { status: 415, message: "Unsupported Media Type: Content-Type must be application/json" };
  }
  return Number(headers.header("content-length")) > maxBodyBytes ? tooLarge(maxBodyBytes) : undefined;
}

export function tooLarge(limit: number): HttpRefusal {
  return { status: 413, message: `Payload Too Large: Request body must not exceed ${limit} bytes` };
}

/**
 * The body of an {@link HttpRefusal}. The SDK says -32000 here, a code that the revision leaves to nobody (G14): for us
 * all of these are invalid requests.
 */
export function refusalText(message: string): string {
  const error = { code: ProtocolErrorCode.InvalidRequest, message };
  return JSON.stringify({ jsonrpc: "2.0", id: null, error });
}

/** @throws the answer to give instead, a `Response`. */
export async function authenticated(
  options: ResolvedHandler,
  headers: CallerHeaders,
  required: boolean,
): Promise<AuthInfo | undefined> {
  try {
    const caller = await options.authenticate?.(headers);
    if (caller === undefined && required) {
      throw new OAuthError(OAuthErrorCode.InvalidToken, "This server serves authenticated callers only");
    }
    return caller;
  } catch (error) {
    if (!(error instanceof OAuthError)) options.onError(error);
    throw bearerAuthChallengeResponse(error);
  }
}
