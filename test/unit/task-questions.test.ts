/** Answers that come when a run is over belong to the next one. */
import { describe, expect, it } from "vitest";
import type { HoldClock } from "../../src/server/once.ts";
import { Lease } from "../../src/server/tasks/lease.ts";
import { TaskQuestions } from "../../src/server/tasks/questions.ts";
import { readLog, type TaskBody, TaskSeals } from "../../src/server/tasks/record.ts";
import { createVault } from "../../src/server/vault.ts";
import { createKeyRing } from "../../src/state/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { newTask } from "../contract/tasks-suite.ts";
import { until } from "../helpers/until.ts";

const random = (bytes: number) => Buffer.alloc(bytes, 7);
const seals = new TaskSeals(
  createVault(createKeyRing({ keys: [Buffer.from("0123456789abcdef0123456789abcdef")], random }), random),
);
const clock: HoldClock = { now: () => 0, sleep: async () => {}, every: () => () => {} };
const pending = [{ key: "size", kind: "form", digest: "d", attempts: 0, changes: 0 }] as const;
const requests = { size: { method: "roots/list" } } as const;
const body: TaskBody = { state: { callId: "c", round: 0, journal: [], pending: [] }, put: [], used: [], updatedAt: 0 };

async function shown() {
  const store = memoryTasks();
  const task = newTask();
  await store.create(task);
  let reads = 0;
  const log: string[] = [];
  const record: typeof store.record = (hold, entry, leaseMs) => {
    log.push(seals.open(task.id, "task-step", entry));
    return store.record(hold, entry, leaseMs);
  };
  const counted = { ...store, record, read: (id: string) => store.read(id).finally(() => reads++) };
  await store.claim({ holder: "h", kinds: [task.kind], leaseMs: 60_000, perOwner: 1 });
  const lease = new Lease({ id: task.id, holder: "h" }, new AbortController(), {
    store: counted,
    leaseMs: 60_000,
    lookMs: 1_000,
    clock,
    claimedAt: 0,
    onSaid: () => {},
  });
  const questions = new TaskQuestions(
    { id: task.id, body, pending: [], asked: undefined, attempt: 1, answers: [], message: undefined },
    { store: counted, lease, seals, clock, now: () => 0, lookMs: 1_000 },
  );
  const taken: unknown[] = [];
  const unlisten = questions.listen((responses) => taken.push(responses));
  await questions.show({ requests, pending });
  const answer = () =>
    store.answer(task.id, [{ key: "size", answer: seals.seal(task.id, "task-answer", JSON.stringify("three")) }]);
  return { questions, log, taken, unlisten, answer, looked: () => until(() => (reads > 0 ? true : undefined)) };
}

describe("answers to a task's run (C14, H26)", () => {
  it("are taken up while it listens: another question is asked under another key", async () => {
    const { questions, taken, answer } = await shown();
    await answer();
    questions.look();
    await until(() => (taken.length > 0 ? true : undefined));
    expect(taken).toEqual([{ size: "three" }]);
    expect(questions.assign(requests, pending).put[0]?.wireKey).toBe("size~2");
  });

  it.each(["before the look", "in the middle of it"])("are left to the next run when it ends %s", async (when) => {
    const { questions, taken, unlisten, answer, looked } = await shown();
    await answer();
    if (when === "before the look") unlisten();
    questions.look();
    unlisten();
    if (when !== "before the look") await looked();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(taken).toEqual([]);
    // The question is still out under its key, where the store has the answer.
    expect(questions.assign(requests, pending).put[0]?.wireKey).toBe("size");
  });

  it("C14: what was answered stays on record with what is put after it, for a run that takes over", async () => {
    const { questions, log, answer, taken } = await shown();
    await answer();
    questions.look();
    await until(() => (taken.length > 0 ? true : undefined));
    const later = { key: "colour", kind: "form", digest: "e", attempts: 0, changes: 0 } as const;
    await questions.show({ requests: { colour: { method: "roots/list" } }, pending: [later] });
    const { asked } = readLog(log);
    expect(asked?.put.map(({ wireKey }) => wireKey)).toEqual(["size", "colour"]);
    expect(asked?.pending).toEqual([...pending, later]);
  });
});
