import { ParleyError } from "../../errors.ts";
import type { TaskHold, TaskStore } from "../../tasks/contract.ts";
import type { HoldClock } from "../once.ts";
import { isDrained, TaskStopped } from "./stopped.ts";

/** Shortest time between two messages about a task's progress. */
const SAY_MS = 250;

export interface LeaseOptions {
  readonly store: TaskStore;
  readonly leaseMs: number;
  /** Longest time between two words to the store, in ms. */
  readonly lookMs: number;
  readonly clock: HoldClock;
  /** When the claim was sent, on the clock. */
  readonly claimedAt: number;
  /** What the run said of itself has been stored. */
  onSaid(): void;
}

/** A run's hold on its task: kept up while it runs, and the run broken off when it is lost. */
export class Lease {
  readonly #hold: TaskHold;
  readonly #abort: AbortController;
  readonly #store: TaskStore;
  readonly #leaseMs: number;
  readonly #clock: HoldClock;
  readonly #onSaid: () => void;
  readonly #stop: () => void;
  #endsAt: number;
  #note: Uint8Array | undefined;
  #urgent = false;
  #ended = false;
  #saidAt = Number.NEGATIVE_INFINITY;
  #beating: Promise<void> | undefined;

  constructor(hold: TaskHold, abort: AbortController, options: LeaseOptions) {
    const { store, leaseMs, lookMs, clock, claimedAt, onSaid } = options;
    this.#hold = hold;
    this.#abort = abort;
    this.#store = store;
    this.#leaseMs = leaseMs;
    this.#clock = clock;
    this.#onSaid = onSaid;
    // From before the claim was sent: the store's lease began no earlier.
    this.#endsAt = claimedAt + leaseMs;
    // A cancellation that was taken elsewhere is heard with the next beat.
    this.#stop = clock.every(Math.min(leaseMs / 3, lookMs), () => this.#beat());
    // What a closing process cannot end is for another to take.
    abort.signal.addEventListener("abort", () => isDrained(abort.signal) && this.#stop(), { once: true });
  }

  isHeld(): boolean {
    return this.#clock.now() < this.#endsAt && (this.#abort.signal.reason as Partial<TaskStopped>)?.why !== "lost";
  }

  /** What the run says of itself: at once, or (unless it is told to) with the next beat when it says much. */
  say(note: Uint8Array, atOnce: boolean): void {
    this.#note = note;
    this.#urgent ||= atOnce;
    if (this.#urgent || this.#clock.now() - this.#saidAt >= SAY_MS) this.#beat();
  }

  /** @throws ParleyError `hold_lost`, `tasks_unavailable` */
  async record(entry: Uint8Array): Promise<void> {
    const askedAt = this.#clock.now();
    if (await this.#store.record(this.#hold, entry, this.#leaseMs)) this.#endsAt = askedAt + this.#leaseMs;
    else {
      this.#abort.abort(new TaskStopped("lost"));
      throw new ParleyError("hold_lost", "Another process has taken this task over.");
    }
  }

  /** Says nothing more. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#stop();
    await this.#beating;
  }

  /** One that fails is tried again with the next; when none succeeds, the lease simply ends. */
  #beat(): void {
    if (this.#ended) return;
    this.#beating ??= this.#renew()
      .catch(() => undefined)
      .finally(() => {
        this.#beating = undefined;
        if (this.#urgent) this.#beat();
      });
  }

  async #renew(): Promise<void> {
    const [note, askedAt] = [this.#note, this.#clock.now()];
    this.#note = undefined;
    this.#urgent = false;
    if (note !== undefined) this.#saidAt = askedAt;
    const heard = await this.#store.renew(this.#hold, this.#leaseMs, note);
    if (heard !== "lost") this.#endsAt = askedAt + this.#leaseMs;
    if (note !== undefined) this.#onSaid();
    if (heard !== "held") this.#abort.abort(new TaskStopped(heard));
  }
}
