/** Limits of sealed state, resolved in one place. */
import { ParleyError } from "../errors.ts";

export interface StateLimits {
  /** Longest sealed state, in bytes (a token is ASCII). Default 65,536. */
  readonly maxBytes: number;
  /** How long a state may be used after it was sealed. Default 600,000 (10 minutes); days are allowed. */
  readonly ttlMs: number;
  /** How far ahead another replica's clock may be. Default 30,000. It does not lengthen expiry. */
  readonly skewMs: number;
}

export const DEFAULT_STATE_LIMITS: StateLimits = { maxBytes: 65_536, ttlMs: 600_000, skewMs: 30_000 };

/** @throws ParleyError "configuration" that names the limit: whole numbers, `skewMs` from 0, the others from 1. */
export function resolveLimits(given: Partial<StateLimits> = {}): StateLimits {
  const limits = { ...DEFAULT_STATE_LIMITS, ...given };
  requireWhole("maxBytes", limits.maxBytes, 1);
  requireWhole("ttlMs", limits.ttlMs, 1);
  requireWhole("skewMs", limits.skewMs, 0);
  return limits;
}

function requireWhole(name: keyof StateLimits, value: unknown, least: number): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return;
  throw new ParleyError(
    "configuration",
    `limits.${name} must be a whole number, ${least} or more; it is ${String(value)}.`,
  );
}
