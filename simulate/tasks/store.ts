/** The task store behind a network: real memory-store semantics, messages that are lost or late, outages. */
import { decodeEntries } from "../../src/journal/codec.ts";
import { TaskSeals } from "../../src/server/tasks/record.ts";
import { createVault } from "../../src/server/vault.ts";
import { createKeyRing } from "../../src/state/index.ts";
import type { TaskStore } from "../../src/tasks/contract.ts";
import { asTasksUnavailable } from "../../src/tasks/guard.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { STORE_TIMEOUT_MS } from "../config.ts";
import type { TaskReplica } from "./replica.ts";
import type { TaskWorld } from "./world.ts";

export class SimTaskStore {
  readonly #world: TaskWorld;
  readonly #store: TaskStore;
  readonly #seals: TaskSeals;
  /** Labels by row id. */
  readonly #labels = new Map<string, string>();
  downUntil = 0;

  constructor(world: TaskWorld) {
    this.#world = world;
    const store = memoryTasks({ now: () => world.kernel.now });
    this.#store = world.mutant?.(store) ?? store;
    const random = (count: number) => world.rng.bytes(count);
    this.#seals = new TaskSeals(createVault(createKeyRing({ keys: [world.key], random }), random));
  }

  /** The store as one replica reaches it. */
  connect(from: TaskReplica): TaskStore {
    const { judge } = this.#world;
    const ask = <T>(apply: (store: TaskStore) => Promise<T>) => this.#ask(from, apply);
    return {
      create: (task) =>
        ask(async (store) => {
          this.#labels.set(task.id, this.#seals.openHead(task.id, task.head).target);
          return store.create(task);
        }),
      read: (id) => ask((store) => store.read(id)),
      answer: (id, answers) =>
        ask(async (store) => {
          for (const { key, answer } of answers)
            judge.stored(this.#label(id), key, this.#seals.open(id, "task-answer", answer));
          return store.answer(id, answers);
        }),
      cancel: (id, body) => ask((store) => store.cancel(id, body)),
      claim: (request) =>
        ask(async (store) => {
          const claimed = await store.claim(request);
          if (claimed !== undefined) judge.claimed({ id: claimed.id, holder: request.holder });
          return claimed;
        }),
      record: (hold, entry, leaseMs) =>
        ask(async (store) => {
          const done = await store.record(hold, entry, leaseMs);
          const text = this.#seals.open(hold.id, "task-step", entry);
          const entries = decodeEntries(text.slice(text.indexOf("[")));
          const steps = entries.filter(({ type }) => type === "step").map(({ key }) => key);
          if (done) judge.recorded(this.#label(hold.id), steps);
          return done;
        }),
      renew: (hold, leaseMs, note) => ask((store) => store.renew(hold, leaseMs, note)),
      settle: (hold, settlement) =>
        ask(async (store) => {
          const done = await store.settle(hold, settlement);
          if (done) judge.settled(hold);
          return done;
        }),
      release: (hold, wakeMs) => ask((store) => store.release(hold, wakeMs)),
      close: async () => undefined,
    };
  }

  #label(id: string): string {
    return this.#labels.get(id) ?? id;
  }

  #ask<T>(from: TaskReplica, apply: (store: TaskStore) => Promise<T>): Promise<T> {
    const { kernel, rng, config, faulty, judge } = this.#world;
    return new Promise((resolve, reject) => {
      let answered = false;
      const fail = (why: string) => {
        if (answered) return;
        answered = true;
        from.faults++;
        reject(asTasksUnavailable(why));
      };
      kernel.after(STORE_TIMEOUT_MS, from, () => fail("no answer in time"));
      const troubled = () => faulty() && rng.chance(config.storeLoss);
      if (kernel.now < this.downUntil || troubled()) return;
      // A late request is applied when nobody waits for it any more.
      const late = () => (troubled() ? rng.int(STORE_TIMEOUT_MS, 3 * STORE_TIMEOUT_MS) : rng.int(0, 3));
      kernel.after(late(), undefined, () => {
        apply(this.#store).then(
          (value) =>
            kernel.after(late(), from, () => {
              if (answered) return;
              answered = true;
              resolve(value);
            }),
          (error: unknown) => judge.violation(`the store threw ${String(error)}`),
        );
      });
    });
  }
}
