/** What of an `AbortSignal` is enough to stop for it. */
export type Signal = Pick<AbortSignal, "aborted" | "reason" | "throwIfAborted"> & {
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
};

/** An end that can be waited for, with an `AbortSignal` for those who ask for one: making it takes longer than a replay. */
export class LazySignal implements Signal {
  #aborted = false;
  #reason: unknown;
  #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** For code that is not ours, and for the platform. */
  get real(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.#aborted) throw this.#reason;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  /** @param reason default: what an `AbortController` gives, a DOMException `AbortError`. */
  abort(reason: unknown = new DOMException("This operation was aborted", "AbortError")): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
