/** The outside of every store: checks what comes in, bounds how long it takes, and names what went wrong. */
import { ParleyError, reasonOf } from "../errors.ts";
import { checkBytes, checkClaim, checkHold, checkMs } from "./checks.ts";
import type { Claim, ClaimRequest, Hold, Ledger, Settlement } from "./contract.ts";
import { type Deadlines, Waiting } from "./deadlines.ts";

/** Whether an operation's time is up, and what to do then. Lighter than an AbortSignal, which costs as much as a claim. */
export interface Late {
  now: boolean;
  onLate: (() => void) | undefined;
}

type Answer<T> = T | Promise<T>;

/**
 * A ledger's operations without the outside. When `late` says so nobody wants the answer: stop, if that is possible.
 * An answer that is there at once is given back as it is, without a promise.
 */
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
  let closing: Promise<void> | undefined;

  function bounded<T>(name: string, check: () => void, run: (late: Late) => Answer<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const operation = new Operation(store, name, resolve, reject);
      try {
        check();
        if (closing !== undefined) throw unavailable(store, name, "it is closed");
        const answer = run(operation);
        if (!(answer instanceof Promise)) resolve(answer);
        else operation.await(answer, deadlines);
      } catch (cause) {
        operation.refuse(cause);
      }
    });
  }

  return {
    claim(request) {
      return bounded(
        "claim",
        () => checkClaim(request),
        (late) => operations.claim(request, late),
      );
    },
    recordStep(hold, entry, leaseMs) {
      return bounded(
        "recordStep",
        () => {
          checkHold(hold);
          checkBytes("entry", entry);
          checkMs("leaseMs", leaseMs);
        },
        (late) => operations.recordStep(hold, entry, leaseMs, late),
      );
    },
    renew(hold, leaseMs) {
      return bounded(
        "renew",
        () => {
          checkHold(hold);
          checkMs("leaseMs", leaseMs);
        },
        (late) => operations.renew(hold, leaseMs, late),
      );
    },
    settle(hold, settlement) {
      return bounded(
        "settle",
        () => {
          checkHold(hold);
          checkBytes("outcome", settlement.outcome);
          if (settlement.journal !== undefined) checkBytes("journal", settlement.journal);
          checkMs("keepMs", settlement.keepMs);
        },
        (late) => operations.settle(hold, settlement, late),
      );
    },
    release(hold) {
      return bounded(
        "release",
        () => checkHold(hold),
        (late) => operations.release(hold, late),
      );
    },
    close() {
      closing ??= operations.close();
      return closing;
    },
  };
}

class Operation<T> extends Waiting implements Late {
  now = false;
  onLate: (() => void) | undefined;
  readonly #store: string;
  readonly #name: string;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: ParleyError) => void;

  constructor(store: string, name: string, resolve: (value: T) => void, reject: (error: ParleyError) => void) {
    super();
    this.#store = store;
    this.#name = name;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  await(answer: Promise<T>, deadlines: Deadlines | undefined): void {
    deadlines?.add(this);
    answer.then(
      (value) => {
        deadlines?.remove(this);
        // A blocked event loop can let the answer in before the timer.
        if (deadlines === undefined || performance.now() <= this.until) this.#resolve(value);
        else this.fail(deadlines.tooLate);
      },
      (cause) => {
        deadlines?.remove(this);
        this.refuse(cause);
      },
    );
  }

  override fail(why: string, cause?: unknown): void {
    this.now = true;
    this.onLate?.();
    this.#reject(unavailable(this.#store, this.#name, why, cause));
  }

  refuse(cause: unknown): void {
    if (cause instanceof ParleyError) this.#reject(cause);
    else this.#reject(unavailable(this.#store, this.#name, reasonOf(cause), cause));
  }
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
