/** Looks at the store, again and again: for what other processes did, and for what is due. */
import { hasEnded } from "../pending/call.ts";
import type { PendingStore } from "../pending/contract.ts";
import type { Carrier } from "./carrier.ts";
import type { Events } from "./events.ts";
import type { ResolvedInboxOptions } from "./options.ts";

/** Calls carried on at once. */
const MAX_RUNS = 16;
/** How far back to look once the clock was set back, in polls. */
const LOOK_BACK_POLLS = 10;
/** By how much sooner it looks again when more may be due than it could take up. */
const MORE = 10;
/** Changes of other processes read at once. */
const MAX_CHANGES = 500;

export interface WatchSetting {
  readonly options: ResolvedInboxOptions;
  readonly store: PendingStore;
  readonly events: Events;
  readonly carrier: Carrier;
  /** Ends the call if its time is over. */
  readonly expire: (id: string) => Promise<void>;
}

export class Watch {
  readonly #setting: WatchSetting;
  readonly #servers: readonly string[];
  #since: number;
  #cancel: () => void = () => {};
  #looking: Promise<void>;
  #closed = false;

  constructor(setting: WatchSetting) {
    const { options } = setting;
    this.#setting = setting;
    this.#servers = Object.keys(options.servers);
    this.#since = options.clock.now();
    this.#looking = this.#look();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancel();
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { options } = this.#setting;
    let more = false;
    try {
      await this.#hear();
      more = await this.#wake();
    } catch (error) {
      options.onError(error);
    }
    if (this.#closed) return;
    this.#cancel = options.clock.after(more ? options.pollMs / MORE : options.pollMs, () => {
      this.#looking = this.#look();
    });
  }

  async #hear(): Promise<void> {
    const { store, events, carrier, options } = this.#setting;
    const { clock, pollMs } = options;
    const now = clock.now();
    const since = now < this.#since ? now - LOOK_BACK_POLLS * pollMs : this.#since;
    const changes = await store.changes(since, MAX_CHANGES);
    events.told(changes);
    // Another process may have stopped what is carried on here.
    for (const change of changes) if (hasEnded(change)) carrier.drop(change.id);
    // Of the last moment more may come; the same version is not told twice. A clock that was set back takes this with it:
    // what others do now happens before what they did.
    const heard = Math.max(since, changes.at(-1)?.changedAt ?? 0);
    this.#since = Math.min(heard, clock.now());
  }

  /** Whether more may be due than was taken up. */
  async #wake(): Promise<boolean> {
    const { options, store, carrier, expire } = this.#setting;
    const room = MAX_RUNS - carrier.size;
    const due = room > 0 ? await store.due(this.#servers, room) : [];
    for (const id of due) {
      try {
        await expire(id);
        carrier.carry(id);
      } catch (error) {
        // One that cannot be read must not keep the others from going on.
        options.onError(error);
      }
    }
    return room > 0 && due.length === room;
  }
}
