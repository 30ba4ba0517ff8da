/** The ledger's store behind its link: real memory-ledger semantics, and everything the judge wants to know. */
import type { Hold, Ledger } from "../src/ledger/contract.ts";
import { unavailable } from "../src/ledger/guard.ts";
import { memoryLedger } from "../src/ledger/memory.ts";
import type { Judge } from "./judge.ts";
import type { Life } from "./life.ts";
import type { StoreLink } from "./link.ts";
import type { RoundStage } from "./stage.ts";

type World = RoundStage & { readonly judge: Judge };

export class SimStore {
  readonly #world: World;
  readonly #ledger: Ledger;
  readonly #link: StoreLink;

  constructor(world: World, link: StoreLink) {
    this.#world = world;
    this.#link = link;
    const ledger = memoryLedger({ now: () => world.kernel.now });
    this.#ledger = world.mutant?.store?.(ledger) ?? ledger;
  }

  /** The store as one incarnation of a replica reaches it. */
  connect(from: Life): Ledger {
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

  #ask<T>(from: Life, name: string, hold: Hold, apply: (ledger: Ledger) => Promise<T>): Promise<T> {
    return this.#link.ask({
      from,
      what: () => `${from.name} store.${name} ${this.#world.names.round(hold)}`,
      apply: () => apply(this.#ledger),
      failure: (why) => unavailable("simulated", name, why),
    });
  }
}
