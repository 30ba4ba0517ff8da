/** The ledger's store behind a network: real memory-ledger semantics, messages that are lost or late, outages. */
import type { Hold, Ledger } from "../src/ledger/contract.ts";
import { unavailable } from "../src/ledger/guard.ts";
import { memoryLedger } from "../src/ledger/memory.ts";
import { STORE_TIMEOUT_MS } from "./config.ts";
import type { Incarnation } from "./replica.ts";
import type { World } from "./world.ts";

export class SimStore {
  readonly #world: World;
  readonly #ledger: Ledger;
  downUntil = 0;

  constructor(world: World) {
    this.#world = world;
    const ledger = memoryLedger({ now: () => world.kernel.now });
    this.#ledger = world.mutant?.store?.(ledger) ?? ledger;
  }

  /** The store as one incarnation of a replica reaches it. */
  connect(from: Incarnation): Ledger {
    const ask = <T>(name: string, hold: Hold, apply: (ledger: Ledger) => Promise<T>) =>
      this.#ask(from, name, hold, apply);
    const { judge } = this.#world;
    return {
      claim: (request) =>
        ask("claim", request, async (ledger) => {
          const claim = await ledger.claim(request);
          judge.claimed(from, request, claim);
          return claim;
        }),
      recordStep: (hold, entry, leaseMs) =>
        ask("recordStep", hold, async (ledger) => {
          const done = await ledger.recordStep(hold, entry, leaseMs);
          if (done) judge.recorded(hold, entry, leaseMs);
          return done;
        }),
      renew: (hold, leaseMs) =>
        ask("renew", hold, async (ledger) => {
          const done = await ledger.renew(hold, leaseMs);
          if (done) judge.renewed(hold, leaseMs);
          return done;
        }),
      settle: (hold, settlement) =>
        ask("settle", hold, async (ledger) => {
          const done = await ledger.settle(hold, settlement);
          if (done) judge.settled(hold);
          return done;
        }),
      release: (hold) =>
        ask("release", hold, async (ledger) => {
          await ledger.release(hold);
          judge.released(hold);
        }),
      close: async () => undefined,
    };
  }

  #ask<T>(from: Incarnation, name: string, hold: Hold, apply: (ledger: Ledger) => Promise<T>): Promise<T> {
    const { kernel, rng, config, faulty, log } = this.#world;
    const what = () => `${from.name} store.${name} ${this.#world.names.round(hold)}`;
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        from.fault("store");
        log(() => `${what()}: ${why}`);
        reject(unavailable("simulated", name, why));
      };
      if (kernel.now < this.downUntil && rng.chance(0.7)) {
        kernel.after(rng.int(0, 5), from, () => fail("refused"));
        return;
      }
      let answered = false;
      kernel.after(STORE_TIMEOUT_MS, from, () => {
        if (!answered) fail("no answer in time");
        answered = true;
      });
      const troubled = () => faulty() && rng.chance(config.storeLoss);
      if (troubled() && rng.chance(0.5)) return;
      // A late request is applied when nobody waits for it any more.
      const late = () => (troubled() ? rng.int(STORE_TIMEOUT_MS, 3 * STORE_TIMEOUT_MS) : rng.int(0, 3));
      kernel.after(late(), undefined, () => {
        if (kernel.now < this.downUntil) return;
        this.#world.cluster.critical(from);
        apply(this.#ledger).then(
          (value) => {
            log(
              () =>
                `${what()} -> ${typeof value === "object" && value !== null && "type" in value ? value.type : value}`,
            );
            if (troubled() && rng.chance(0.5)) return;
            kernel.after(late(), from, () => {
              if (!answered) resolve(value);
              answered = true;
            });
          },
          (error: unknown) => this.#world.judge.violation(`store.${name} threw ${String(error)}`),
        );
      });
    });
  }
}
