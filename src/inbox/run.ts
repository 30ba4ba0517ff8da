import type { Call } from "../calls/call.ts";
import type { CallEvent } from "../calls/events.ts";

/** One call being carried on in this process. */
export class Run {
  /** Fires when the call was ended elsewhere, or this process is about to end. */
  readonly end = new AbortController();
  driver: Call | undefined;
  /** What is being written down, in order. */
  writes: Promise<unknown> = Promise.resolve();
  #onWire = false;
  #again = false;

  /** A request is on its way. */
  get onWire(): boolean {
    return this.#onWire;
  }

  watch(type: CallEvent["type"]): void {
    if (type === "leg") this.#onWire = true;
    else if (type === "interim" || type === "paced") this.#onWire = false;
  }

  /** Drops the wait before the next request; the request on its way, if there is one, is left alone. */
  hurry(): void {
    if (this.#onWire || this.driver === undefined) return;
    this.#again = true;
    this.driver.abort();
  }

  /** Whether the driver was ended by {@link hurry}, so that the call is to be taken up again. */
  takeAgain(): boolean {
    const again = this.#again;
    this.#again = false;
    return again;
  }
}
