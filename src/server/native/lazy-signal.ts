import type { RunSignal } from "../../replay/signal.ts";

/** Whether the client is gone, with an `AbortSignal` for flows that ask for one: few do, and making it takes longer than a replay. */
export class LazySignal implements RunSignal {
  #aborted = false;
  #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;

  get aborted(): boolean {
    return this.#aborted;
  }

  get reason(): unknown {
    return this.real.reason;
  }

  get real(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort();
    return this.#controller.signal;
  }

  addEventListener(_type: "abort", listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: "abort", listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  abort(): void {
    if (this.#aborted) return;
    this.#aborted = true;
    this.#controller?.abort();
    for (const listener of this.#listeners.splice(0)) listener();
  }
}
