/** One process's hold on the calls it carries on: nobody else changes them meanwhile, except to end them. */
import type { PendingCall } from "../pending/call.ts";
import type { PendingStore } from "../pending/contract.ts";
import { claim, isHeldBy } from "../pending/rules.ts";
import type { ResolvedInboxOptions } from "./options.ts";
import type { Run } from "./run.ts";

export class Claims {
  readonly #options: ResolvedInboxOptions;
  readonly #store: PendingStore;
  readonly #owner: string;

  constructor(options: ResolvedInboxOptions, store: PendingStore, owner: string) {
    this.#options = options;
    this.#store = store;
    this.#owner = owner;
  }

  /** The call, if it is to be carried on and nobody else does. */
  take(id: string): Promise<PendingCall | undefined> {
    const now = this.#options.clock.now();
    return this.#store.update(id, (call) => claim(call, this.#owner, now, this.#options.leaseMs));
  }

  async release(id: string): Promise<void> {
    await this.change(id, ({ claim: _claim, ...rest }) => rest, true);
  }

  /** Changes the call while this process holds it; `false` when it does not any more. */
  async change(id: string, change: (call: PendingCall) => PendingCall, quiet = false): Promise<boolean> {
    const held = await this.#store.update(id, (call) =>
      isHeldBy(call, this.#owner) ? { call: change(call), quiet, value: true } : { value: false },
    );
    return held === true;
  }

  /** Renews a claim until told to stop; a call that is no longer ours (ended, or taken over) is dropped. */
  keep(id: string, run: Run): () => void {
    const { clock, leaseMs, onError } = this.#options;
    let stopped = false;
    let cancel = () => {};
    const arm = (): void => {
      cancel = clock.after(leaseMs / 3, () => {
        const until = clock.now() + leaseMs;
        this.change(id, (call) => ({ ...call, claim: { owner: this.#owner, until } }), true)
          .then((held) => {
            if (!held && !stopped) run.drop();
          })
          .catch(onError);
        arm();
      });
    };
    arm();
    return () => {
      stopped = true;
      cancel();
    };
  }
}
