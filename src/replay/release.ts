/**
 * Hands settled entries back in recorded order, one at a time, and only when the microtasks that the last one set off
 * have run. What a flow does between two releases then depends on nothing but the entries released so far, so that a
 * `Promise.race` over questions and steps ends on replay as it ended the first time.
 */
export class ReleaseOrder {
  readonly #afterMicrotasks: (callback: () => void) => void;
  readonly #onRelease: () => void;
  readonly #waiting = new Map<number, () => void>();
  #limit = Number.POSITIVE_INFINITY;
  #scheduled = false;
  #stopped = false;
  #next = 0;

  constructor(afterMicrotasks: (callback: () => void) => void, onRelease: () => void) {
    this.#afterMicrotasks = afterMicrotasks;
    this.#onRelease = onRelease;
  }

  /** Index of the entry to be released next. */
  get next(): number {
    return this.#next;
  }

  /** Entries that have been asked for and wait for their turn. */
  get waiting(): number {
    return this.#waiting.size;
  }

  get busy(): boolean {
    return this.#scheduled;
  }

  /** The entry at `index` has been asked for; `release` settles its promise. */
  arrive(index: number, release: () => void): void {
    this.#waiting.set(index, release);
    this.#schedule();
  }

  /** Releases nothing from `index` on. */
  holdFrom(index: number): void {
    this.#limit = Math.min(this.#limit, index);
  }

  stop(): void {
    this.#stopped = true;
  }

  #schedule(): void {
    if (this.#scheduled || this.#next >= this.#limit || !this.#waiting.has(this.#next)) return;
    this.#scheduled = true;
    this.#afterMicrotasks(() => {
      this.#scheduled = false;
      const release = this.#waiting.get(this.#next);
      if (this.#stopped || release === undefined) return;
      this.#waiting.delete(this.#next);
      this.#next++;
      release();
      this.#onRelease();
      this.#schedule();
    });
  }
}
