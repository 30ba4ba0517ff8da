/** One operation that waits for its answer, between those that came before and after it. */
export abstract class Waiting {
  /** On the clock of `performance.now()`, in ms. */
  until = 0;
  before: Waiting | undefined;
  after: Waiting | undefined;

  abstract fail(why: string, cause?: unknown): void;
}

/**
 * The deadlines of a store's operations, under one timer: a timer for each would cost as much as a bare command. All
 * have the same `timeoutMs`, so whoever came first is due first. They are linked to each other, because a Set in which
 * everything comes and goes at once keeps the garbage collector busy.
 */
export class Deadlines {
  readonly timeoutMs: number;
  /** What is said of one whose time is over. */
  readonly tooLate: string;
  #first: Waiting | undefined;
  #last: Waiting | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number) {
    this.timeoutMs = timeoutMs;
    this.tooLate = `no answer within ${timeoutMs} ms`;
  }

  add(waiting: Waiting): void {
    waiting.until = performance.now() + this.timeoutMs;
    if (this.#timer === undefined) this.#look(this.timeoutMs);
    else if (this.#last === undefined) this.#timer.ref();
    waiting.before = this.#last;
    if (this.#last === undefined) this.#first = waiting;
    else this.#last.after = waiting;
    this.#last = waiting;
  }

  /** Does nothing for one that has failed: it is no longer here. */
  remove(waiting: Waiting): void {
    const { before, after } = waiting;
    if (before === undefined && this.#first !== waiting) return;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    waiting.before = undefined;
    waiting.after = undefined;
    // The timer runs on for the next operation; the process need not stay for it.
    if (this.#first === undefined) this.#timer?.unref();
  }

  /** Ends all that wait now, before their time. */
  failAll(cause: Error): void {
    for (let last = this.#last; this.#first !== undefined && last !== undefined; ) {
      const waiting: Waiting = this.#first;
      this.remove(waiting);
      waiting.fail(cause.message, cause);
      if (waiting === last) last = undefined;
    }
  }

  #look(afterMs: number): void {
    this.#timer = setTimeout(() => this.#failOverdue(), Math.ceil(afterMs));
  }

  #failOverdue(): void {
    this.#timer = undefined;
    const now = performance.now();
    while (this.#first !== undefined) {
      const waiting = this.#first;
      if (waiting.until > now) {
        this.#look(waiting.until - now);
        return;
      }
      this.remove(waiting);
      waiting.fail(this.tooLate);
    }
  }
}
