/** What every task store must do. Each store's file runs it against the real thing. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClaimedTask, NewTask, TaskClaimRequest, TaskHold, TaskStore } from "../../src/tasks/contract.ts";

export interface TasksWorld {
  /** One more process: its own connection to the same store, where the store has connections. */
  open(): TaskStore;
  /** Lets the store's clock go on. */
  pass(ms: number): Promise<void>;
  end(): Promise<void>;
}

const LONG = 60_000;
/** Short enough to wait for on a real clock. */
const SHORT = 120;

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined) => value && new TextDecoder().decode(value);

export function newTask(more: Partial<NewTask> = {}): NewTask {
  return {
    id: `task-${randomUUID()}`,
    kind: `kind-${randomUUID()}`,
    owner: `owner-${randomUUID()}`,
    head: bytes("head"),
    body: bytes("body 1"),
    lifeMs: LONG,
    keepMs: LONG,
    maxOpen: 10,
    ...more,
  };
}

export function testTasks(
  name: string,
  start: () => Promise<TasksWorld>,
  run: typeof describe | typeof describe.skip = describe,
) {
  run(`task store contract: ${name}`, () => {
    let world: TasksWorld;
    let a: TaskStore;
    let b: TaskStore;
    beforeAll(async () => {
      world = await start();
      [a, b] = [world.open(), world.open()];
    });
    afterAll(async () => {
      await a?.close();
      if (b !== a) await b?.close();
      await world?.end();
    });

    const request = (kind: string, more: Partial<TaskClaimRequest> = {}): TaskClaimRequest => ({
      holder: randomUUID(),
      kinds: [kind],
      leaseMs: LONG,
      perOwner: 10,
      ...more,
    });
    async function begun(more: Partial<NewTask> = {}): Promise<NewTask> {
      const task = newTask(more);
      expect(await a.create(task)).toBe("created");
      return task;
    }
    async function taken(task: NewTask, more: Partial<TaskClaimRequest> = {}): Promise<[TaskHold, ClaimedTask]> {
      const wanted = request(task.kind, more);
      const claimed = await a.claim(wanted);
      expect(claimed?.id).toBe(task.id);
      return [{ id: task.id, holder: wanted.holder }, claimed as ClaimedTask];
    }
    const settle = (hold: TaskHold, more: object = {}) =>
      a.settle(hold, { body: bytes("body 2"), phase: "waiting", open: ["q"], ...more } as never);

    it("H11: what was created can be read at once, anywhere, as it was given", async () => {
      const task = await begun();
      const found = await b.read(task.id);
      expect(found).toMatchObject({
        owner: task.owner,
        phase: "ready",
        cancelled: false,
        answers: [],
        note: undefined,
      });
      expect([text(found?.head), text(found?.body)]).toEqual(["head", "body 1"]);
      expect(found?.lifeLeftMs).toBeGreaterThan(0);
      expect(await b.read("task-unknown")).toBeUndefined();
    });

    it("keeps the first of two tasks of one id, whoever is quicker", async () => {
      const task = newTask();
      const both = await Promise.all([a.create(task), b.create({ ...task, body: bytes("other") })]);
      expect(both.sort()).toEqual(["created", "exists"]);
    });

    it("B45: refuses one more than an owner may have open, and takes it when one has ended", async () => {
      const first = await begun({ maxOpen: 1 });
      const next = newTask({ owner: first.owner, maxOpen: 1 });
      expect(await b.create(next)).toBe("full");
      expect(await b.create(newTask({ maxOpen: 1 }))).toBe("created");
      await a.cancel(first.id, bytes("end"));
      expect(await b.create(next)).toBe("created");
    });

    it("hands a task to one runner, and only to one that knows its kind", async () => {
      const task = await begun();
      expect(await a.claim(request("kind-other"))).toBeUndefined();
      const both = await Promise.all([a.claim(request(task.kind)), b.claim(request(task.kind))]);
      expect(both.filter((claimed) => claimed !== undefined)).toHaveLength(1);
      expect(both.find((claimed) => claimed !== undefined)).toMatchObject({
        id: task.id,
        attempt: 1,
        cancelled: false,
      });
    });

    it("hands out what was ready first, and no more of one owner's than may run at once", async () => {
      const first = await begun();
      await world.pass(2);
      const second = await begun({ kind: first.kind, owner: first.owner });
      await world.pass(2);
      const other = await begun({ kind: first.kind });
      const claim = () => b.claim(request(first.kind, { perOwner: 1 }));
      expect([(await claim())?.id, (await claim())?.id, await claim()]).toEqual([first.id, other.id, undefined]);
      expect((await b.claim(request(first.kind, { perOwner: 2 })))?.id).toBe(second.id);
    });

    it("gives the next runner what the one before recorded, once its lease is over", async () => {
      const task = await begun();
      const [hold] = await taken(task, { leaseMs: SHORT });
      expect(await a.record(hold, bytes("step 1"), SHORT)).toBe(true);
      expect(await a.record(hold, bytes("step 2"), SHORT)).toBe(true);
      expect(await b.claim(request(task.kind))).toBeUndefined();
      await world.pass(SHORT * 2);
      const next = request(task.kind);
      const claimed = await b.claim(next);
      expect(claimed?.attempt).toBe(2);
      expect(claimed?.steps.map(text)).toEqual(["step 1", "step 2"]);
      // The one before has lost it, whatever it still wants to say.
      expect(await a.record(hold, bytes("late"), LONG)).toBe(false);
      expect(await a.renew(hold, LONG)).toBe("lost");
      expect(await settle(hold)).toBe(false);
      await a.release(hold);
      expect(await b.renew({ id: task.id, holder: next.holder }, LONG)).toBe("held");
    });

    it("prolongs a lease, and keeps what the run says of itself until it ends", async () => {
      const task = await begun();
      const [hold] = await taken(task, { leaseMs: SHORT });
      expect(await a.renew(hold, LONG, bytes("half"))).toBe("held");
      await world.pass(SHORT * 2);
      expect(await b.claim(request(task.kind))).toBeUndefined();
      expect(text((await b.read(task.id))?.note)).toBe("half");
      expect(await a.renew(hold, LONG)).toBe("held");
      expect(text((await b.read(task.id))?.note)).toBe("half");
      expect(await settle(hold)).toBe(true);
      expect((await b.read(task.id))?.note).toBeUndefined();
    });

    it("gives a run back in the middle, with what it recorded", async () => {
      const task = await begun();
      const [hold] = await taken(task);
      await a.record(hold, bytes("step 1"), LONG);
      await a.renew(hold, LONG, bytes("asks"));
      await a.release(hold);
      // H17: what it asked stays shown while nobody runs it, and until the next runner says something itself.
      expect(text((await b.read(task.id))?.note)).toBe("asks");
      const claimed = await b.claim(request(task.kind));
      expect([claimed?.attempt, claimed?.steps.map(text)]).toEqual([2, ["step 1"]]);
      expect(text((await b.read(task.id))?.note)).toBe("asks");
    });

    it("gives a run back until later, as one that did not count", async () => {
      const task = await begun();
      const [hold] = await taken(task);
      await a.record(hold, bytes("step 1"), LONG);
      await a.release(hold, SHORT);
      const other = await begun({ kind: task.kind, owner: task.owner });
      // It neither runs nor stands in the way of what its owner has besides.
      const claim = () => b.claim(request(task.kind, { perOwner: 2 }));
      expect([(await claim())?.id, await claim()]).toEqual([other.id, undefined]);
      await world.pass(SHORT * 2);
      const claimed = await claim();
      expect([claimed?.id, claimed?.attempt, claimed?.steps.map(text)]).toEqual([task.id, 1, ["step 1"]]);
    });

    it("waits until it is answered, and hands the answers to the run that follows", async () => {
      const task = await begun();
      const [hold] = await taken(task);
      await a.record(hold, bytes("step 1"), LONG);
      expect(await settle(hold)).toBe(true);
      expect(await b.claim(request(task.kind))).toBeUndefined();
      expect(await b.read(task.id)).toMatchObject({ phase: "waiting" });
      await b.answer(task.id, [{ key: "q", answer: bytes("yes") }]);
      // H26: the first answer to a key counts.
      await b.answer(task.id, [{ key: "q", answer: bytes("no") }]);
      expect((await a.read(task.id))?.answers.map(({ key, answer }) => [key, text(answer)])).toEqual([["q", "yes"]]);
      const claimed = await b.claim(request(task.kind));
      expect(claimed?.answers.map(({ key, answer }) => [key, text(answer)])).toEqual([["q", "yes"]]);
      expect([text(claimed?.body), claimed?.steps, claimed?.attempt]).toEqual(["body 2", [], 1]);
    });

    it("keeps an answer that came while the task ran, if its question is still open, and drops others", async () => {
      const task = await begun();
      const [hold] = await taken(task);
      await settle(hold, { open: ["q", "r"] });
      await b.answer(task.id, [{ key: "q", answer: bytes("1") }]);
      const [next] = await taken(task);
      await b.answer(task.id, [{ key: "r", answer: bytes("2") }]);
      await settle(next, { open: ["r"] });
      const found = await b.read(task.id);
      expect([found?.phase, found?.answers.map(({ key }) => key)]).toEqual(["ready", ["r"]]);
      // With an answer there is no waiting until a run wanted to look again.
      const [last] = await taken(task);
      await settle(last, { phase: "ready", wakeMs: LONG, open: ["r"] });
      expect((await b.claim(request(task.kind)))?.id).toBe(task.id);
    });

    it("looks again no sooner than a run said", async () => {
      const task = await begun();
      const [hold] = await taken(task);
      await settle(hold, { phase: "ready", wakeMs: SHORT, open: [] });
      expect(await b.claim(request(task.kind))).toBeUndefined();
      await world.pass(SHORT * 2);
      expect((await b.claim(request(task.kind)))?.id).toBe(task.id);
    });

    it("H14: what has ended stays as it ended", async () => {
      const task = await begun();
      const [hold] = await taken(task);
      expect(await settle(hold, { phase: "ended", body: bytes("result"), open: [] })).toBe(true);
      await b.answer(task.id, [{ key: "q", answer: bytes("late") }]);
      expect(await b.cancel(task.id, bytes("cancelled"))).toBe("nothing");
      expect(await settle(hold)).toBe(false);
      expect(await b.claim(request(task.kind))).toBeUndefined();
      const found = await b.read(task.id);
      expect([found?.phase, text(found?.body), found?.answers]).toEqual(["ended", "result", []]);
    });

    it("H28: ends a task that nobody runs, and asks the runner of one that runs", async () => {
      const idle = await begun();
      expect(await b.cancel(idle.id, bytes("cancelled"))).toBe("ended");
      expect(await b.claim(request(idle.kind))).toBeUndefined();
      expect(text((await b.read(idle.id))?.body)).toBe("cancelled");
      const running = await begun();
      const [hold] = await taken(running);
      expect(await b.cancel(running.id, bytes("cancelled"))).toBe("asked");
      expect(await b.read(running.id)).toMatchObject({ phase: "ready", cancelled: true });
      expect(await a.renew(hold, LONG)).toBe("cancelled");
      // It came to a question instead of its end: it is handed out once more, to be ended.
      await settle(hold);
      expect(await b.claim(request(running.kind))).toMatchObject({ id: running.id, cancelled: true });
      expect(await b.cancel("task-unknown", bytes("x"))).toBe("nothing");
    });

    it("ends a task whose runner went silent, and the runner has lost it", async () => {
      const task = await begun();
      const [hold] = await taken(task, { leaseMs: SHORT });
      await world.pass(SHORT * 2);
      expect(await b.cancel(task.id, bytes("cancelled"))).toBe("ended");
      expect(await settle(hold)).toBe(false);
    });

    it("H20: hands out no task whose life is over, tells how long it has, and forgets it after that", async () => {
      const task = await begun({ lifeMs: SHORT, keepMs: LONG });
      const gone = await begun({ lifeMs: SHORT / 2, keepMs: SHORT / 2 });
      expect((await b.read(task.id))?.lifeLeftMs).toBeLessThanOrEqual(SHORT);
      await world.pass(SHORT * 2);
      expect(await b.claim(request(task.kind))).toBeUndefined();
      expect((await b.read(task.id))?.lifeLeftMs).toBeLessThanOrEqual(0);
      expect(await b.read(gone.id)).toBeUndefined();
    });

    it("H20: an answer wakes no task whose life is over", async () => {
      const task = await begun({ lifeMs: SHORT, keepMs: LONG });
      const [hold] = await taken(task);
      await settle(hold);
      await world.pass(SHORT * 2);
      expect(await b.claim(request(task.kind))).toBeUndefined();
      await b.answer(task.id, [{ key: "q", answer: bytes("yes") }]);
      expect(await b.claim(request(task.kind))).toBeUndefined();
    });
  });
}
