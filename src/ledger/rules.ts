/** What a claim meets: the one rule of the ledger, for the stores that decide in this process. */
import type { Claim, ClaimRequest } from "./contract.ts";

/** One round as a store keeps it. Times are ms of the store's clock. */
export interface RoundRow {
  readonly answers: string;
  /** Nobody after a release. */
  readonly owner: string | null;
  readonly leaseUntil: number;
  readonly attempt: number;
  /** Set when the round has ended. */
  readonly outcome: Uint8Array | null;
}

/** Free: the claimer may have it, as this attempt. */
export type Standing = Exclude<Claim, { type: "won" }> | { readonly type: "free"; readonly attempt: number };

export function standing(row: RoundRow | undefined, request: ClaimRequest, now: number): Standing {
  if (row === undefined) return { type: "free", attempt: 1 };
  if (row.answers !== request.answers) return { type: "other_answers" };
  if (row.outcome !== null) return { type: "settled", outcome: row.outcome };
  // Its own owner asks again because the answer was lost: the same attempt, not a new one.
  if (row.owner === request.owner) return { type: "free", attempt: row.attempt };
  if (row.owner !== null && row.leaseUntil > now) return { type: "running", leaseLeftMs: row.leaseUntil - now };
  return { type: "free", attempt: row.attempt + 1 };
}
