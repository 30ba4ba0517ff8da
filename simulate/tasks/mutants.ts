/** Task stores with one fault built in. Each must be found out. */
import type { Ledger } from "../../src/ledger/contract.ts";
import type { ClaimedTask, TaskStore } from "../../src/tasks/contract.ts";

export interface TaskMutant {
  store?(store: TaskStore): TaskStore;
  ledger?(ledger: Ledger): Ledger;
}

const onTasks = (store: (store: TaskStore) => TaskStore): TaskMutant => ({ store });

export const TASK_MUTANTS: Record<string, TaskMutant> = {
  /** What runs is handed out again. */
  "no lease": onTasks((store) => ({
    ...store,
    claim: (request) => store.claim({ ...request, leaseMs: 20 }),
    renew: (hold, _leaseMs, note) => store.renew(hold, 20, note),
    record: (hold, entry) => store.record(hold, entry, 20),
  })),
  /** Whoever lost a task may still end its run. */
  "no holder": onTasks((store) => {
    const holders = new Map<string, string>();
    return {
      ...store,
      claim: async (request) => {
        const claimed = await store.claim(request);
        if (claimed !== undefined) holders.set(claimed.id, request.holder);
        return claimed;
      },
      settle: (hold, settlement) => store.settle({ ...hold, holder: holders.get(hold.id) ?? hold.holder }, settlement),
      record: (hold, entry, leaseMs) =>
        store.record({ ...hold, holder: holders.get(hold.id) ?? hold.holder }, entry, leaseMs),
    };
  }),
  /** A take-over begins without what was recorded. */
  "steps forgotten": onTasks((store) => ({
    ...store,
    claim: async (request) => {
      const claimed = await store.claim(request);
      return claimed && ({ ...claimed, steps: [] } satisfies ClaimedTask);
    },
  })),
  /** The last answer counts. */
  "last answer": onTasks((store) => {
    const last = new Map<string, Uint8Array>();
    return {
      ...store,
      answer: (id, answers) => {
        for (const { key, answer } of answers) last.set(`${id} ${key}`, answer);
        return store.answer(id, answers);
      },
      claim: async (request) => {
        const claimed = await store.claim(request);
        if (claimed === undefined) return undefined;
        const answers = claimed.answers.map(({ key, answer }) => ({
          key,
          answer: last.get(`${claimed.id} ${key}`) ?? answer,
        }));
        return { ...claimed, answers };
      },
    };
  }),
  /** Answers that came while the task ran are lost. */
  "answers lost": onTasks((store) => ({
    ...store,
    settle: (hold, end) => store.settle(hold, { ...end, open: [] }),
  })),
  /** An end can be taken back. */
  "cancel is not final": onTasks((store) => {
    const cancelled = new Map<string, Uint8Array>();
    return {
      ...store,
      cancel: async (id) => {
        const before = (await store.read(id))?.body;
        if (before !== undefined) cancelled.set(id, before);
        return store.cancel(id, before ?? new Uint8Array());
      },
    };
  }),
  /** What a run says of itself is not kept: its questions are seen when it has ended. */
  "notes lost": onTasks((store) => ({ ...store, renew: (hold, leaseMs) => store.renew(hold, leaseMs) })),
  /** Every delivery of a round runs it. */
  "rounds run twice": {
    ledger: (ledger) => ({
      ...ledger,
      claim: async () => ({ type: "won", attempt: 1, steps: [], journal: [] }),
      renew: async () => true,
      recordStep: async () => true,
      settle: async () => true,
    }),
  },
};
