/** Bearer tokens from a file, for development. Verified in constant time; a token is never printed. */
import { createHash, timingSafeEqual } from "node:crypto";
import { type AuthInfo, OAuthError, OAuthErrorCode, type OAuthTokenVerifier } from "@modelcontextprotocol/server";
import { isObject } from "../../internal/json.ts";
import { usageError } from "../exit.ts";
import { readJsonObject } from "../files.ts";

/** Who a token stands for. */
export interface TokenCaller {
  readonly subject: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/** The SDK wants an end for every token. A token of the file holds as long as the server runs. */
const LIFETIME_S = 3600;

/**
 * Reads `{"<token>": {"subject": "...", "clientId": "...", "scopes": [...]}}`; `scopes` may be left out.
 * @throws ParleyError `usage` naming the entry by its position and the field, never the token.
 */
export async function readTokens(path: string, cwd: string): Promise<OAuthTokenVerifier> {
  const entries = Object.entries(await readJsonObject(path, cwd, "bearer tokens file"));
  if (entries.length === 0) throw wrong(path, "has no token");
  return tokenVerifier(
    new Map(entries.map(([token, caller], at) => [readToken(token, at, path), readCaller(caller, at, path)])),
  );
}

export function tokenVerifier(callers: ReadonlyMap<string, TokenCaller>): OAuthTokenVerifier {
  const known = [...callers].map(([token, caller]) => ({ digest: digestOf(token), caller }));
  return {
    async verifyAccessToken(token): Promise<AuthInfo> {
      const digest = digestOf(token);
      // Every entry is looked at, so that the time taken tells nothing.
      const [match] = known.filter((entry) => timingSafeEqual(entry.digest, digest));
      if (match === undefined) throw new OAuthError(OAuthErrorCode.InvalidToken, "Unknown token");
      const { subject, clientId, scopes } = match.caller;
      const expiresAt = Math.floor(Date.now() / 1000) + LIFETIME_S;
      // `extra.sub` is where Parley reads the subject of a principal (C11).
      return { token, clientId, scopes: [...scopes], expiresAt, extra: { sub: subject } };
    },
  };
}

function readToken(token: string, at: number, path: string): string {
  if (!/^[\w.~+/-]+=*$/.test(token))
    throw wrong(path, `entry ${at + 1}: the token has characters no bearer token may have (RFC 6750)`);
  return token;
}

function readCaller(caller: unknown, at: number, path: string): TokenCaller {
  const entry = `entry ${at + 1}`;
  if (!isObject(caller)) throw wrong(path, `${entry} is not an object`);
  const { subject, clientId, scopes = [], ...others } = caller;
  for (const [field, value] of Object.entries({ subject, clientId })) {
    if (typeof value !== "string" || value === "") throw wrong(path, `${entry}: ${field} must be a non-empty string`);
  }
  if (!Array.isArray(scopes) || !scopes.every((scope) => typeof scope === "string" && /^[^\s"\\]+$/.test(scope))) {
    throw wrong(path, `${entry}: scopes must be a list of scope names`);
  }
  for (const field of Object.keys(others)) throw wrong(path, `${entry}: ${field} is unknown`);
  return { subject: subject as string, clientId: clientId as string, scopes };
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function wrong(path: string, rule: string) {
  return usageError(
    `the bearer tokens file ${path}, ${rule}`,
    'write {"<token>": {"subject": "...", "clientId": "...", "scopes": []}}',
  );
}
