/** The task store and the ledger behind their link: real memory stores, and everything the judge wants to know. */
import type { Entry } from "../../src/journal/entry.ts";
import type { Ledger } from "../../src/ledger/contract.ts";
import { unavailable } from "../../src/ledger/guard.ts";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { readRecords } from "../../src/server/step-record.ts";
import { readLog, TaskSeals } from "../../src/server/tasks/record.ts";
import { createVault } from "../../src/server/vault.ts";
import { createKeyRing } from "../../src/state/index.ts";
import type { TaskStore } from "../../src/tasks/contract.ts";
import { asTasksUnavailable } from "../../src/tasks/guard.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import type { Life } from "../life.ts";
import type { StoreLink } from "../link.ts";
import type { TaskStage } from "./stage.ts";

export class SimTaskStore {
  readonly #world: TaskStage;
  readonly #link: StoreLink;
  readonly #store: TaskStore;
  readonly #ledger: Ledger;
  readonly #seals: TaskSeals;
  /** Labels by row id. */
  readonly #labels = new Map<string, string>();

  constructor(world: TaskStage, link: StoreLink) {
    this.#world = world;
    this.#link = link;
    const now = () => world.kernel.now;
    const store = memoryTasks({ now });
    this.#store = world.mutant?.store?.(store) ?? store;
    const ledger = memoryLedger({ now });
    this.#ledger = world.mutant?.ledger?.(ledger) ?? ledger;
    const random = (count: number) => world.rng.bytes(count);
    this.#seals = new TaskSeals(createVault(createKeyRing({ keys: world.secrets, random }), random));
  }

  /** The ledger of the rounds before, behind the same link. */
  ledger(from: Life): Ledger {
    const ask = <T>(name: string, apply: (ledger: Ledger) => Promise<T>) =>
      this.#link.ask({
        from,
        what: () => `${from.name} ledger.${name}`,
        apply: () => apply(this.#ledger),
        failure: (why) => unavailable("simulated", name, why),
      });
    return {
      claim: (request) => ask("claim", (ledger) => ledger.claim(request)),
      recordStep: (hold, entry, leaseMs) => ask("recordStep", (ledger) => ledger.recordStep(hold, entry, leaseMs)),
      renew: (hold, leaseMs) => ask("renew", (ledger) => ledger.renew(hold, leaseMs)),
      settle: (hold, settlement) => ask("settle", (ledger) => ledger.settle(hold, settlement)),
      release: (hold) => ask("release", (ledger) => ledger.release(hold)),
      close: async () => undefined,
    };
  }

  /** The store as one replica reaches it. */
  connect(from: Life): TaskStore {
    const { judge, log } = this.#world;
    const ask = <T>(name: string, apply: (store: TaskStore) => Promise<T>) =>
      this.#link.ask({
        from,
        what: () => `${from.name} tasks.${name}`,
        apply: () => apply(this.#store),
        failure: asTasksUnavailable,
      });
    return {
      create: (task) =>
        ask("create", async (store) => {
          const label = this.#seals.openHead(task.id, task.head).target;
          this.#labels.set(task.id, label);
          const outcome = await store.create(task);
          const { journal } = this.#seals.openBody(task.id, task.body).state;
          if (outcome === "created") judge.created(label, stepsIn(journal));
          return outcome;
        }),
      read: (id) => ask("read", (store) => store.read(id)),
      answer: (id, answers) =>
        ask("answer", async (store) => {
          for (const { key, answer } of answers) {
            const given = this.#seals.open(id, "task-answer", answer);
            log(() => `ANSWER to ${this.#label(id)}/${key}: ${given}`);
            judge.stored(this.#label(id), key, given);
          }
          return store.answer(id, answers);
        }),
      cancel: (id, body) => ask("cancel", (store) => store.cancel(id, body)),
      claim: (request) =>
        ask("claim", async (store) => {
          const claimed = await store.claim(request);
          if (claimed !== undefined) judge.claimed({ id: claimed.id, holder: request.holder });
          return claimed;
        }),
      record: (hold, entry, leaseMs) =>
        ask("record", async (store) => {
          const done = await store.record(hold, entry, leaseMs);
          const log = readLog([this.#seals.open(hold.id, "task-step", entry)]);
          const { entries, finished } = readRecords(log.steps);
          if (done) judge.recorded(this.#label(hold.id), stepsIn([...entries, ...finished.values()]));
          return done;
        }),
      renew: (hold, leaseMs, note) => ask("renew", (store) => store.renew(hold, leaseMs, note)),
      settle: (hold, settlement) =>
        ask("settle", async (store) => {
          const done = await store.settle(hold, settlement);
          if (done) judge.settled(hold);
          return done;
        }),
      release: (hold, wakeMs) => ask("release", (store) => store.release(hold, wakeMs)),
      close: async () => undefined,
    };
  }

  #label(id: string): string {
    return this.#labels.get(id) ?? id;
  }
}

function stepsIn(entries: readonly Entry[]): string[] {
  return entries.flatMap(({ type, key }) => (type === "step" ? [key] : []));
}
