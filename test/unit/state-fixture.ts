/** One service, one caller, one call: what the state tests start from before they change one thing. */
import {
  type Binding,
  createKeyRing,
  createSealer,
  digestParams,
  pooledRandom,
  type Sealer,
  type SealerOptions,
} from "../../src/state/index.ts";

export const K1 = Buffer.from(Array.from({ length: 32 }, (_, i) => i));
export const K2 = Buffer.from(Array.from({ length: 32 }, (_, i) => 255 - i));

export const ISSUED = Date.UTC(2026, 7, 1);
export const TTL = 600_000;
export const SKEW = 30_000;

export const CLEAR = 12; // "p1." + key id + "."
export const NONCE = { from: 0, to: 24 };
export const HINTS = { from: 24, to: 32 };

export const PARAMS = { name: "deploy", arguments: { env: "prod", count: 3, tags: ["a", "b"] } };

export function binding(change: Partial<Binding> = {}): Binding {
  return {
    audience: "https://deploy.example.com",
    principal: { issuer: "https://login.example.com", subject: "alice", clientId: "cli" },
    method: "tools/call",
    target: "deploy",
    paramsDigest: digestParams("tools/call", PARAMS),
    ...change,
  };
}

export interface Clock {
  ms: number;
}

export function sealer(
  change: Partial<Omit<SealerOptions, "ring" | "now">> & { keys?: Buffer[]; clock?: Clock } = {},
): Sealer {
  const { keys = [K1], clock = { ms: ISSUED }, ...rest } = change;
  const random = pooledRandom();
  return createSealer({ ring: createKeyRing({ keys, env: {}, random }), now: () => clock.ms, random, ...rest });
}

export const PAYLOAD = JSON.stringify({ call: "c-1", round: 2, journal: [{ key: "ok", value: "naïve ✓" }] });

/** The token with its decoded body changed. */
export function withBody(token: string, change: (body: Buffer) => Buffer): string {
  return token.slice(0, CLEAR) + change(Buffer.from(token.slice(CLEAR), "base64url")).toString("base64url");
}
