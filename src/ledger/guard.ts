/** The outside of every ledger: checks what comes in, and names what went wrong. */
import { ParleyError } from "../errors.ts";
import type { Deadlines } from "../store/deadlines.ts";
import { type Answer, type Late, Operations } from "../store/operations.ts";
import { checkBytes, checkClaim, checkHold, checkMs } from "./checks.ts";
import type { Claim, ClaimRequest, Hold, Ledger, Settlement } from "./contract.ts";

/** A ledger's operations without the outside. */
export interface StoreOperations {
  claim(request: ClaimRequest, late: Late): Answer<Claim>;
  recordStep(hold: Hold, entry: Uint8Array, leaseMs: number, late: Late): Answer<boolean>;
  renew(hold: Hold, leaseMs: number, late: Late): Answer<boolean>;
  settle(hold: Hold, settlement: Settlement, late: Late): Answer<boolean>;
  release(hold: Hold, late: Late): Answer<void>;
  close(): Promise<void>;
}

/**
 * Every rejection is a ParleyError: `configuration` for what the caller or the schema got wrong, and
 * `ledger_unavailable` with its cause for the rest, including an answer that came too late. Without `deadlines` nothing
 * is timed: for a store that always answers at once.
 */
export function guard(store: string, deadlines: Deadlines | undefined, operations: StoreOperations): Ledger {
  const outside = new Operations(store, deadlines, unavailable);
  return {
    claim: (request) =>
      outside.run("claim", (late) => {
        checkClaim(request);
        return operations.claim(request, late);
      }),
    recordStep: (hold, entry, leaseMs) =>
      outside.run("recordStep", (late) => {
        checkHold(hold);
        checkBytes("entry", entry);
        checkMs("leaseMs", leaseMs);
        return operations.recordStep(hold, entry, leaseMs, late);
      }),
    renew: (hold, leaseMs) =>
      outside.run("renew", (late) => {
        checkHold(hold);
        checkMs("leaseMs", leaseMs);
        return operations.renew(hold, leaseMs, late);
      }),
    settle: (hold, settlement) =>
      outside.run("settle", (late) => {
        checkHold(hold);
        checkBytes("outcome", settlement.outcome);
        if (settlement.journal !== undefined) checkBytes("journal", settlement.journal);
        checkMs("keepMs", settlement.keepMs);
        return operations.settle(hold, settlement, late);
      }),
    release: (hold) =>
      outside.run("release", (late) => {
        checkHold(hold);
        return operations.release(hold, late);
      }),
    close: () => outside.close(() => operations.close()),
  };
}

export function unavailable(store: string, operation: string, why: string, cause?: unknown): ParleyError {
  return new ParleyError("ledger_unavailable", `The ${store} ledger failed closed at ${operation}: ${why}.`, {
    cause,
    details: { store, operation },
  });
}
