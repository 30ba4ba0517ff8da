/** The outside of every store: checks what comes in, bounds how long it takes, and names what went wrong. */
import { ParleyError, reasonOf } from "../errors.ts";
import { checkBytes, checkClaim, checkHold, checkMs } from "./checks.ts";
import type { Claim, ClaimRequest, Hold, Ledger, Settlement } from "./contract.ts";

/** Whether an operation's time is up, and what to do then. Lighter than an AbortSignal, which costs as much as a claim. */
export interface Late {
  now: boolean;
  onLate: (() => void) | undefined;
}

/** A ledger's operations without the outside. When `late` says so nobody wants the answer: stop, if that is possible. */
export interface StoreOperations {
  claim(request: ClaimRequest, late: Late): Promise<Claim>;
  recordStep(hold: Hold, entry: Uint8Array, leaseMs: number, late: Late): Promise<boolean>;
  renew(hold: Hold, leaseMs: number, late: Late): Promise<boolean>;
  settle(hold: Hold, settlement: Settlement, late: Late): Promise<boolean>;
  release(hold: Hold, late: Late): Promise<void>;
  close(): Promise<void>;
}

/**
 * Every rejection is a ParleyError: `configuration` for what the caller or the schema got wrong, and
 * `ledger_unavailable` with its cause for the rest, including an answer that came after `timeoutMs`. Without
 * `timeoutMs` nothing is timed: for a store that answers in the same turn.
 */
export function guard(store: string, timeoutMs: number | undefined, operations: StoreOperations): Ledger {
  let closing: Promise<void> | undefined;

  function bounded<T>(name: string, run: (late: Late) => Promise<T>): Promise<T> {
    if (closing !== undefined) return Promise.reject(unavailable(store, name, "it is closed"));
    if (timeoutMs === undefined) return run({ now: false, onLate: undefined });
    return new Promise((resolve, reject) => {
      const tooLate = () => unavailable(store, name, `no answer within ${timeoutMs} ms`);
      const late: Late = { now: false, onLate: undefined };
      const until = performance.now() + timeoutMs;
      const timer = setTimeout(() => {
        late.now = true;
        late.onLate?.();
        reject(tooLate());
      }, timeoutMs);
      run(late).then(
        (value) => {
          clearTimeout(timer);
          // A blocked event loop can let the answer in before the timer.
          if (performance.now() > until) reject(tooLate());
          else resolve(value);
        },
        (cause) => {
          clearTimeout(timer);
          reject(cause instanceof ParleyError ? cause : unavailable(store, name, reasonOf(cause), cause));
        },
      );
    });
  }

  return {
    async claim(request) {
      checkClaim(request);
      return bounded("claim", (late) => operations.claim(request, late));
    },
    async recordStep(hold, entry, leaseMs) {
      checkHold(hold);
      checkBytes("entry", entry);
      checkMs("leaseMs", leaseMs);
      return bounded("recordStep", (late) => operations.recordStep(hold, entry, leaseMs, late));
    },
    async renew(hold, leaseMs) {
      checkHold(hold);
      checkMs("leaseMs", leaseMs);
      return bounded("renew", (late) => operations.renew(hold, leaseMs, late));
    },
    async settle(hold, settlement) {
      checkHold(hold);
      checkBytes("outcome", settlement.outcome);
      if (settlement.journal !== undefined) checkBytes("journal", settlement.journal);
      checkMs("keepMs", settlement.keepMs);
      return bounded("settle", (late) => operations.settle(hold, settlement, late));
    },
    async release(hold) {
      checkHold(hold);
      return bounded("release", (late) => operations.release(hold, late));
    },
    close() {
      closing ??= operations.close();
      return closing;
    },
  };
}

/** For an operation that finds itself late; the caller has its own answer by then. */
export function stopIfLate(late: Late): void {
  if (late.now) throw new Error("the time is up");
}

export function unavailable(store: string, operation: string, why: string, cause?: unknown): ParleyError {
  return new ParleyError("ledger_unavailable", `The ${store} ledger failed closed at ${operation}: ${why}.`, {
    cause,
    details: { store, operation },
  });
}
