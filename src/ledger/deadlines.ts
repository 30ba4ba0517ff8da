/** One operation that waits for its answer. */
export interface Waiting {
  /** On the clock of `performance.now()`, in ms. */
  readonly until: number;
  fail(why: string, cause?: unknown): void;
}

/**
 * The deadlines of a store's operations, under one timer: a timer for each would cost as much as a bare command. All
 * have the same `timeoutMs`, so whoever came first is due first.
 */
export class Deadlines {
  readonly timeoutMs: number;
  readonly #waiting = new Set<Waiting>();
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs;
  }

  add(waiting: Waiting): void {
    this.#waiting.add(waiting);
    if (this.#timer === undefined) this.#look(this.timeoutMs);
    else if (this.#waiting.size === 1) this.#timer.ref();
  }

  remove(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    // The timer runs on for the next operation; the process need not stay for it.
    if (this.#waiting.size === 0) this.#timer?.unref();
  }

  /** Ends all that wait now, before their time. */
  failAll(why: string): void {
    const all = [...this.#waiting];
    this.#waiting.clear();
    this.#timer?.unref();
    for (const waiting of all) waiting.fail(why);
  }

  #look(afterMs: number): void {
    this.#timer = setTimeout(() => this.#failOverdue(), Math.ceil(afterMs));
  }

  #failOverdue(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const waiting of this.#waiting) {
      if (waiting.until > now) {
        this.#look(waiting.until - now);
        return;
      }
      this.#waiting.delete(waiting);
      waiting.fail(`no answer within ${this.timeoutMs} ms`);
    }
  }
}
