/** What every store of pending calls promises. */
import { describe, expect, it } from "vitest";
import type { PendingCall } from "../../src/pending/call.ts";
import type { PendingStore, PendingStoreOptions } from "../../src/pending/contract.ts";
import { claim, conclude, decide, end, expire, isExpired } from "../../src/pending/rules.ts";

export interface PendingWorld {
  open(options?: PendingStoreOptions): PendingStore;
  /** Another view of the same store, as another process has it; absent when there is none. */
  again?(options?: PendingStoreOptions): PendingStore;
}

/** A clock that stands until it is moved. */
export function standingClock(start = 1_000_000) {
  let time = start;
  return { now: () => time, move: (ms: number) => (time += ms) };
}

let made = 0;

/** A call that waits for answers to `keys`. */
export function waitingCall(keys: readonly string[] = ["ok"], more: Partial<PendingCall> = {}): PendingCall {
  made += 1;
  const id = made.toString(16).padStart(32, "0");
  const request = { method: "elicitation/create", params: { message: "?", requestedSchema: EMPTY } } as const;
  return {
    id,
    server: "s",
    method: "tools/call",
    target: "t",
    params: { name: "t" },
    state: "waiting",
    version: 1,
    round: 1,
    startedAt: 1,
    changedAt: 1,
    saved: {
      format: "mcp-parley/call",
      version: 1,
      server: "s",
      callId: id,
      method: "tools/call",
      params: { name: "t" },
      capabilities: { elicitation: {} },
      round: 1,
      restarted: false,
      requestState: "secret-state",
      questions: Object.fromEntries(keys.map((key) => [key, request])),
      answers: {},
      acceptedUrls: {},
    },
    questions: keys.map((key, index) => ({ id: `r1-${index}`, key, repeated: false })),
    history: [{ type: "started", by: "host", at: 1, round: 0 }],
    ...more,
  };
}
const EMPTY = { type: "object" as const, properties: {} };

/** A call that became a task, which is looked at again at `at`. */
export function taskCall(at: number, more: Partial<PendingCall> = {}): PendingCall {
  const call = waitingCall([]);
  const saved = {
    ...call.saved,
    task: { taskId: "task-1", pollIntervalMs: 1, answered: [] },
  } as PendingCall["saved"] & {};
  const task = { status: "working", message: "a-word-of-the-server", since: 1 };
  return { ...call, state: "sending", saved, task, pause: { type: "task", at }, ...more };
}

export const person = (action: "accept" | "decline" | "cancel" | "refuse", at = 1) =>
  ({ action, by: { type: "person" }, at }) as const;
const accepted = { action: "accept" as const, content: {} };
const stop = (call: PendingCall) => ({ call: end(call, 2, "stopped", "over"), value: true });

export function testPending(name: string, world: () => PendingWorld, run: typeof describe = describe): void {
  run(`${name} pending calls`, () => {
    it("keeps a call as it is, counts its changes, and hands out copies", async () => {
      const store = world().open();
      const call = waitingCall(["a", "b"]);
      await store.add(call);
      const kept = await store.get(call.id);
      expect(kept).toEqual({ ...call, version: 1, changedAt: kept?.changedAt });
      (kept as { target: string }).target = "changed";
      expect((await store.get(call.id))?.target).toBe("t");
      await store.update(call.id, (one) => ({ call: { ...one, target: "u" }, value: undefined }));
      await store.update(call.id, (one) => ({ call: { ...one, target: "v" }, quiet: true, value: undefined }));
      await store.update(call.id, () => ({ value: undefined }));
      expect(await store.get(call.id)).toMatchObject({ target: "v", version: 2 });
      await expect(store.add(call)).rejects.toMatchObject({ code: "call_state" });
      expect(await store.get("nobody")).toBeUndefined();
      expect(await store.update("nobody", () => ({ value: 1 }))).toBeUndefined();
      await store.close();
    });

    it("what a change throws is thrown, and nothing is written", async () => {
      const store = world().open();
      const call = waitingCall();
      await store.add(call);
      const thrown = new Error("no");
      await expect(
        store.update(call.id, () => {
          throw thrown;
        }),
      ).rejects.toBe(thrown);
      expect((await store.get(call.id))?.version).toBe(1);
      await store.update(call.id, stop);
      expect((await store.get(call.id))?.state).toBe("stopped");
      await store.close();
    });

    it("D3: of many decisions at once exactly one counts, and every other learns which", async () => {
      const { open, again } = world();
      const stores = [open(), (again ?? open)()];
      const [first] = stores as [PendingStore];
      const call = waitingCall(["a", "b"]);
      await first.add(call);
      const shared = again === undefined ? [first] : stores;
      const actions = Array.from({ length: 40 }, (_, at) => person(at % 2 === 0 ? "accept" : "decline", at + 2));
      const verdicts = await Promise.all(
        actions.map((decision, at) =>
          (shared[at % shared.length] as PendingStore).update(call.id, (one) =>
            decide(one, "r1-0", decision, { action: decision.action as "accept" }),
          ),
        ),
      );
      const won = verdicts.flatMap((verdict, at) => (verdict?.type === "won" ? [actions[at]] : []));
      expect(won).toHaveLength(1);
      for (const verdict of verdicts) {
        if (verdict?.type !== "won") expect(verdict).toEqual({ type: "decided", decision: won[0] });
      }
      const kept = await first.get(call.id);
      expect(kept?.state, "the other question is open").toBe("waiting");
      expect(kept?.history.filter(({ type }) => type === "decided")).toHaveLength(1);
      for (const store of stores) await store.close();
    });

    it("the last decision makes a call due; one claim carries it on, and is taken over when it runs out", async () => {
      const clock = standingClock();
      const store = world().open({ now: clock.now });
      const call = waitingCall();
      await store.add(call);
      expect(await store.due(["s"], 9)).toEqual([]);
      await store.update(call.id, (one) => decide(one, "r1-0", person("accept"), accepted));
      expect(await store.due(["s"], 9)).toEqual([call.id]);
      expect(await store.due(["other"], 9), "another server's").toEqual([]);
      const take = (owner: string) => store.update(call.id, (one) => claim(one, owner, clock.now(), 100));
      expect([await take("a"), await take("b")].map((one) => one?.claim?.owner)).toEqual(["a", undefined]);
      expect(await store.due(["s"], 9), "carried on").toEqual([]);
      clock.move(100);
      expect(await store.due(["s"], 9)).toEqual([call.id]);
      expect((await take("b"))?.claim?.owner).toBe("b");
      expect((await store.get(call.id))?.history.at(-1)?.type).toBe("resumed");
      await store.close();
    });

    it("a call whose time is over is due, and then expired; a decision after that is told so", async () => {
      const clock = standingClock();
      const store = world().open({ now: clock.now });
      const call = waitingCall(["ok"], { answerBy: clock.now() + 50 });
      await store.add(call);
      expect((await store.list(9)).calls[0]?.answerBy).toBe(clock.now() + 50);
      clock.move(49);
      expect(await store.due(["s"], 9)).toEqual([]);
      clock.move(1);
      expect(await store.due(["s"], 9)).toEqual([call.id]);
      const late = await store.update(call.id, (one) => decide(one, "r1-0", person("accept", clock.now()), accepted));
      expect(late).toEqual({ type: "expired" });
      const kept = await store.get(call.id);
      expect(kept).toMatchObject({ state: "expired", problem: "Nobody answered in time; nothing was sent." });
      expect(kept?.history.some(({ type }) => type === "decided")).toBe(false);
      expect(isExpired(kept as PendingCall, clock.now())).toBe(false);
      await store.close();
    });

    it("H19, B45: a task is due when it is to be looked at; nobody holds it until then, and nothing expires it", async () => {
      const clock = standingClock();
      const store = world().open({ now: clock.now, keepEndedMs: 0, maxCalls: 2 });
      const call = taskCall(clock.now() + 50);
      await store.add(call);
      const take = (owner: string) => store.update(call.id, (one) => claim(one, owner, clock.now(), 100));
      clock.move(49);
      expect([await store.due(["s"], 9), await take("a")]).toEqual([[], undefined]);
      clock.move(1);
      expect(await store.due(["s"], 9)).toEqual([call.id]);
      expect((await take("a"))?.claim?.owner).toBe("a");
      expect((await store.get(call.id))?.version, "that a process looks is no news").toBe(1);
      expect([await take("b"), await store.due(["s"], 9)]).toEqual([undefined, []]);
      clock.move(10_000_000_000);
      await store.add(waitingCall());
      await expect(store.add(waitingCall()), "a task has not ended").rejects.toMatchObject({ code: "limit_exceeded" });
      expect(isExpired((await store.get(call.id)) as PendingCall, clock.now())).toBe(false);
      await store.close();
    });

    it("H28: a task that is stopped is due at once, whenever it was to be looked at; stopped again, it ends", async () => {
      const clock = standingClock();
      const store = world().open({ now: clock.now });
      const call = taskCall(clock.now() + 1_000_000);
      await store.add(call);
      const stopTask = () =>
        store.update(call.id, (one) => ({ call: conclude(one, clock.now(), "stopped", "Stop."), value: true }));
      await stopTask();
      expect(await store.get(call.id)).toMatchObject({
        state: "sending",
        ending: { state: "stopped", reason: "Stop." },
      });
      expect(await store.due(["s"], 9)).toEqual([call.id]);
      await stopTask();
      expect(await store.get(call.id)).toMatchObject({
        state: "stopped",
        problem: "Stop. The server was not told: the task may go on there.",
      });
      expect(await store.due(["s"], 9)).toEqual([]);
      await store.close();
    });

    it("lists of a task how it stands, and of an end whether it is a tool's failure", async () => {
      const store = world().open();
      const [task, failure, success] = [taskCall(1), waitingCall(), waitingCall()];
      for (const call of [task, failure, success]) await store.add(call);
      for (const [{ id }, isError] of [
        [failure, true],
        [success, false],
      ] as const)
        await store.update(id, (one) => ({
          call: end(one, 2, "complete", undefined, { text: "", isError }),
          value: undefined,
        }));
      const of = async (list: Promise<readonly { id: string; task?: string; isError?: boolean }[]>) =>
        Object.fromEntries((await list).map(({ id, task: status, isError }) => [id, [status, isError]]));
      const expected = {
        [task.id]: ["working", undefined],
        [failure.id]: [undefined, true],
        [success.id]: [undefined, undefined],
      };
      expect(await of(store.list(9).then(({ calls }) => calls))).toEqual(expected);
      expect(await of(store.changes(0, 9))).toEqual(expected);
      await store.close();
    });

    it("lists calls that go on before ended ones, newest change first, page by page", async () => {
      const clock = standingClock();
      const store = world().open({ now: clock.now });
      const calls = Array.from({ length: 25 }, () => waitingCall());
      for (const call of calls) {
        await store.add(call);
        if (Number.parseInt(call.id, 16) % 2 === 0) clock.move(1);
      }
      for (const call of calls.slice(0, 12)) await store.update(call.id, stop);
      const seen: string[] = [];
      let pages = 0;
      for (let after: string | undefined; ; ) {
        const page = await store.list(4, after);
        expect(page).toMatchObject({ total: 25, waiting: 13 });
        seen.push(...page.calls.map(({ id }) => id));
        pages += 1;
        after = page.next;
        if (after === undefined) break;
      }
      const all = (await Promise.all(seen.map((id) => store.get(id)))) as PendingCall[];
      const order = all.map((call) => [call.state === "waiting" ? 0 : 1, -call.changedAt, call.id] as const);
      expect(order).toEqual([...order].sort((a, b) => a[0] - b[0] || a[1] - b[1] || (a[2] < b[2] ? -1 : 1)));
      expect([new Set(seen).size, pages]).toEqual([25, 7]);
      await expect(store.list(4, "nonsense")).rejects.toMatchObject({ code: "configuration" });
      await store.close();
    });

    it("B45: full of calls that go on, it refuses; the oldest ended call leaves first", async () => {
      const clock = standingClock();
      const store = world().open({ now: clock.now, maxCalls: 3 });
      const [a, b, c, d] = Array.from({ length: 4 }, () => waitingCall()) as [PendingCall, ...PendingCall[]];
      for (const call of [a, b, c] as PendingCall[]) await store.add(call);
      await expect(store.add(d as PendingCall)).rejects.toMatchObject({
        code: "limit_exceeded",
        message: expect.stringContaining("maxCalls"),
      });
      await store.update((b as PendingCall).id, stop);
      clock.move(1);
      await store.update(a.id, stop);
      await store.add(d as PendingCall);
      const left = (await store.list(9)).calls.map(({ id }) => id).sort();
      expect(left).toEqual([a, c, d].map((call) => (call as PendingCall).id).sort());
      await store.close();
    });

    it("forgets ended calls after keepEndedMs, and no others", async () => {
      const clock = standingClock();
      const store = world().open({ now: clock.now, keepEndedMs: 1000 });
      const [a, b, c] = Array.from({ length: 3 }, () => waitingCall()) as [PendingCall, PendingCall, PendingCall];
      await store.add(a);
      await store.add(b);
      await store.update(a.id, stop);
      clock.move(1000);
      await store.add(c);
      expect((await store.list(9)).calls.map(({ id }) => id).sort()).toEqual([b.id, c.id].sort());
      await store.close();
    });

    it("tells what changed since a moment, to another process too", async () => {
      const clock = standingClock();
      const { open, again } = world();
      const store = open({ now: clock.now });
      const other = again?.({ now: clock.now }) ?? store;
      const [a, b] = [waitingCall(), waitingCall()];
      await store.add(a);
      clock.move(5);
      await store.add(b);
      expect((await other.changes(clock.now(), 9)).map(({ id }) => id)).toEqual([b.id]);
      clock.move(5);
      await store.update(a.id, (call) => ({ call: { ...call, target: "x" }, value: undefined }));
      expect((await other.changes(clock.now() - 5, 9)).map(({ id, version }) => [id, version])).toEqual([
        [b.id, 1],
        [a.id, 2],
      ]);
      await store.close();
      if (other !== store) await other.close();
    });

    it("F6: remembers muted servers", async () => {
      const store = world().open();
      await store.mute("a", true);
      await store.mute("a", true);
      await store.mute("b", true);
      await store.mute("b", false);
      expect(await store.muted()).toEqual(["a"]);
      await store.close();
    });

    it("an end forgets the state and the answers, and only an end can come once", async () => {
      const store = world().open();
      const call = waitingCall(["a", "b"]);
      await store.add(call);
      await store.update(call.id, (one) =>
        decide(one, "r1-0", person("accept"), { action: "accept", content: { x: "hush" } }),
      );
      expect(JSON.stringify(await store.get(call.id)), "kept while it is needed").toMatch(/secret-state.*hush/s);
      await store.update(call.id, (one) => ({ call: expire(one, 9), value: undefined }));
      expect(JSON.stringify(await store.get(call.id))).not.toMatch(/secret-state|hush/);
      await expect(store.update(call.id, stop)).rejects.toMatchObject({ code: "call_state" });
      await store.close();
    });

    it("names a bad option", () => {
      expect(() => world().open({ maxCalls: 0 })).toThrowError(expect.objectContaining({ code: "configuration" }));
      expect(() => world().open({ keepEndedMs: -1 })).toThrowError(/keepEndedMs/);
    });
  });
}
