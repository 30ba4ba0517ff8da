import type { Call } from "../calls/call.ts";
import type { CallEvent } from "../calls/events.ts";
import { ParleyError } from "../errors.ts";

/** One call being carried on in this process. */
export class Run {
  /** Fires when the call was ended elsewhere, or this process is about to end. Its reason is a ParleyError. */
  readonly end = new AbortController();
  #driver: Call | undefined;
  /** What is being written down, in order. */
  writes: Promise<unknown> = Promise.resolve();
  #onWire = false;
  #again = false;
  #leaving = false;

  /** This process is about to end. */
  get leaving(): boolean {
    return this.#leaving;
  }

  get driver(): Call | undefined {
    return this.#driver;
  }

  /** Has this run carry `driver` on. It is let go of when the run ends, and never aborted: its task goes on without us. */
  attach(driver: Call): void {
    this.#driver = driver;
    if (this.end.signal.aborted) driver.leave();
  }

  watch(type: CallEvent["type"]): void {
    if (type === "leg") this.#onWire = true;
    else if (type === "interim" || type === "paced") this.#onWire = false;
    if (type === "paced" && this.#leaving) this.drop();
  }

  /** Nothing more is sent; a request on its way may still come back. */
  leave(): void {
    this.#leaving = true;
    if (!this.#onWire) this.drop();
  }

  /** A request on its way is cancelled, too. */
  drop(): void {
    this.#driver?.leave();
    this.end.abort(new ParleyError("aborted", "The call is not carried on here any more."));
  }

  /** Drops the wait before the next request; the request on its way, if there is one, is left alone. */
  hurry(): void {
    if (this.#onWire || this.#driver === undefined) return;
    this.#again = true;
    this.#driver.leave();
  }

  /** Whether the driver was ended by {@link hurry}, so that the call is to be taken up again. */
  takeAgain(): boolean {
    const again = this.#again;
    this.#again = false;
    return again;
  }
}
