/** The outside of a store's operations: how long one may take, and what its failure is called. */
import { ParleyError, reasonOf } from "../errors.ts";
import { type Deadlines, Waiting } from "./deadlines.ts";

/** Whether an operation's time is up, and what to do then. Lighter than an AbortSignal, which costs as much as a claim. */
export interface Late {
  now: boolean;
  onLate: (() => void) | undefined;
}

/** An answer that is there at once is given back as it is, without a promise. */
export type Answer<T> = T | Promise<T>;

/** Names what went wrong in the words of the kind of store. */
export type Unavailable = (store: string, operation: string, why: string, cause?: unknown) => ParleyError;

/** For an operation that finds itself late; the caller has its own answer by then. */
export function stopIfLate(late: Late): void {
  if (late.now) throw new Error("the time is up");
}

export class Operations {
  readonly #store: string;
  readonly #deadlines: Deadlines | undefined;
  readonly #unavailable: Unavailable;
  #closing: Promise<void> | undefined;

  /** Without `deadlines` nothing is timed: for a store that always answers at once. */
  constructor(store: string, deadlines: Deadlines | undefined, unavailable: Unavailable) {
    this.#store = store;
    this.#deadlines = deadlines;
    this.#unavailable = unavailable;
  }

  /**
   * Runs one operation. When `late` says so nobody wants its answer any more: stop, if that is possible. Every rejection
   * is a ParleyError: what `run` threw if it is one, else `unavailable` with the cause, also for an answer that came too late.
   */
  run<T>(name: string, run: (late: Late) => Answer<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const failed = (why: string, cause?: unknown) => this.#unavailable(this.#store, name, why, cause);
      const operation = new Operation(failed, resolve, reject);
      try {
        if (this.#closing !== undefined) throw failed("it is closed");
        const answer = run(operation);
        if (!(answer instanceof Promise)) resolve(answer);
        else operation.await(answer, this.#deadlines);
      } catch (cause) {
        operation.refuse(cause);
      }
    });
  }

  /** From now on every operation fails; `end` is called once. */
  close(end: () => Promise<void>): Promise<void> {
    this.#closing ??= end();
    return this.#closing;
  }
}

class Operation<T> extends Waiting implements Late {
  now = false;
  onLate: (() => void) | undefined;
  readonly #failed: (why: string, cause?: unknown) => ParleyError;
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: ParleyError) => void;

  constructor(
    failed: (why: string, cause?: unknown) => ParleyError,
    resolve: (value: T) => void,
    reject: (error: ParleyError) => void,
  ) {
    super();
    this.#failed = failed;
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
    this.#reject(this.#failed(why, cause));
  }

  refuse(cause: unknown): void {
    if (cause instanceof ParleyError) this.#reject(cause);
    else this.#reject(this.#failed(reasonOf(cause), cause));
  }
}
