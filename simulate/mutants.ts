/** Ledgers and servers with one fault built in. Each must be found out within a thousand seeds. */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Claim, Hold, Ledger } from "../src/ledger/contract.ts";
import type { Leg } from "./leg.ts";

export interface Mutant {
  /** Replaces the store. */
  store?(ledger: Ledger): Ledger;
  /** Replaces the store as one replica reaches it. */
  replica?(ledger: Ledger): Ledger;
  /** Put around the serving of one leg. */
  around?<T>(leg: Leg, serve: () => Promise<T>): Promise<T>;
  readonly journal?: "state";
}

/** A round that is held goes to whoever claims it. */
const noLeaseCheck: Mutant = {
  store: (ledger) => ({
    ...ledger,
    claim: (request) => ledger.claim({ ...request, leaseMs: 1 }),
    renew: async (hold) => ledger.renew(hold, 1),
    recordStep: (hold, entry) => ledger.recordStep(hold, entry, 1),
  }),
};

/** Whoever lost a round may still record steps in it and end it. */
const noOwnerCheck: Mutant = {
  store: (ledger) => {
    const owners = new Map<string, string>();
    const current = (hold: Hold): Hold => ({ ...hold, owner: owners.get(`${hold.call}#${hold.round}`) ?? hold.owner });
    return {
      ...ledger,
      claim: async (request) => {
        const claim = await ledger.claim(request);
        if (claim.type === "won") owners.set(`${request.call}#${request.round}`, request.owner);
        return claim;
      },
      recordStep: (hold, entry, leaseMs) => ledger.recordStep(current(hold), entry, leaseMs),
      renew: (hold, leaseMs) => ledger.renew(current(hold), leaseMs),
      settle: (hold, settlement) => ledger.settle(current(hold), settlement),
    };
  },
};

/** The server runs the round first, and claims it when it has something to record. */
const claimAfterRun: Mutant = {
  journal: "state",
  replica: (ledger) => {
    const waiting = new Map<string, Parameters<Ledger["claim"]>[0]>();
    const real = new Set<string>();
    const won: Claim = { type: "won", attempt: 1, steps: [], journal: [] };
    return {
      ...ledger,
      claim: async (request) => {
        const round = `${request.call}#${request.round}`;
        if (real.has(round)) return ledger.claim(request);
        waiting.set(request.owner, request);
        return won;
      },
      renew: async () => true,
      recordStep: async () => true,
      release: async () => undefined,
      settle: async (hold, settlement) => {
        const request = waiting.get(hold.owner);
        if (request === undefined) return ledger.settle(hold, settlement);
        waiting.delete(hold.owner);
        const claim = await ledger.claim(request);
        if (claim.type === "won") return ledger.settle(hold, settlement);
        real.add(`${hold.call}#${hold.round}`);
        return false;
      },
    };
  },
};

/** Rounds are told apart by the text of their token: a first request has none. */
function keyOnToken(): Mutant {
  const serving = new AsyncLocalStorage<string | undefined>();
  return {
    journal: "state",
    around: (leg, serve) => serving.run(leg.state, serve),
    replica: (ledger) => {
      const calls = new Map<string, string>();
      const keyed = <H extends Hold>(hold: H): H => ({ ...hold, call: calls.get(hold.owner) ?? hold.call });
      return {
        ...ledger,
        claim: (request) => {
          calls.set(request.owner, (serving.getStore() ?? request.owner).slice(-64));
          return ledger.claim(keyed(request));
        },
        recordStep: (hold, entry, leaseMs) => ledger.recordStep(keyed(hold), entry, leaseMs),
        renew: (hold, leaseMs) => ledger.renew(keyed(hold), leaseMs),
        settle: (hold, settlement) => ledger.settle(keyed(hold), settlement),
        release: (hold) => ledger.release(keyed(hold)),
      };
    },
  };
}

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  "no-lease-check": noLeaseCheck,
  "no-owner-check": noOwnerCheck,
  "claim-after-run": claimAfterRun,
  "key-on-token": keyOnToken(),
};
