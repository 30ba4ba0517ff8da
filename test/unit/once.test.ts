import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Flow, type ParleyEvent, type ParleyOptions, tool } from "../../src/index.ts";
import type { Claim, Ledger } from "../../src/ledger/contract.ts";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { accept, no, startFlow, yes } from "../../src/testing.ts";

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
const flowOf = (handler: (flow: Flow) => Promise<unknown>) =>
  tool("t", {}, async (_args, flow) => text(await handler(flow)));
const CALL = "0123456789abcdefABCDEF";
const refused = expect.objectContaining({ code: -32602, data: { reason: "invalid_request_state" } });
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Several replicas that share one ledger, and count what was done. */
function world(options: Partial<NonNullable<ParleyOptions["ledger"]>> & { store?: Ledger } = {}) {
  const events: ParleyEvent[] = [];
  let effects = 0;
  const store = options.store ?? memoryLedger();
  const flow = flowOf(async (own) => {
    const ok = await own.confirm("ok", "Pay?");
    if (!ok) return "kept";
    const receipt = await own.step("pay", async () => {
      await later(20);
      return ++effects;
    });
    const { note } = await own.form("note", { message: "Note?", schema: z.object({ note: z.string() }) });
    return [receipt, note, await own.step("file", () => ++effects)];
  });
  const replica = () =>
    startFlow(flow, {
      callId: CALL,
      ledger: { leaseMs: 200, waitMs: 2_000, ...options, store },
      onEvent: (e) => events.push(e),
    });
  return { replica, events, effects: () => effects, store };
}

describe("one answer, one effect (C8, L14)", () => {
  it("a round that is delivered again gets back what was recorded: interim and final alike", async () => {
    const { replica, effects, events } = world();
    const call = replica();
    const first = await call.next();
    const [again] = await Promise.all([replica().next()]);
    expect(again).toEqual(first);

    const second = await call.next({ ok: yes() }, { requestState: first.requestState });
    const secondAgain = await replica().next({ ok: yes() }, { requestState: first.requestState });
    expect(JSON.stringify(secondAgain)).toBe(JSON.stringify(second));

    const note = { note: accept({ note: "x" }) };
    const third = await call.next(note, { requestState: second.requestState });
    const thirdAgain = await replica().next(note, { requestState: second.requestState });
    expect(third.result).toEqual(text([1, "x", 2]));
    expect(JSON.stringify(thirdAgain)).toBe(JSON.stringify(third));
    expect(effects()).toBe(2);
    expect(events.filter((event) => event.type === "redelivered")).toHaveLength(3);
  });

  it("two deliveries at the same moment: one runs, the other waits and gets the same bytes", async () => {
    const { replica, effects } = world();
    const { requestState } = await replica().next();
    const both = await Promise.all([1, 2, 3].map(() => replica().next({ ok: yes() }, { requestState })));
    expect(new Set(both.map((round) => JSON.stringify(round))).size).toBe(1);
    expect(effects()).toBe(1);
  });

  it("the same round with other answers is refused like any bad state, whichever answer came first", async () => {
    const { replica, effects, events } = world();
    const { requestState } = await replica().next();
    await replica().next({ ok: no() }, { requestState });
    await expect(replica().next({ ok: yes() }, { requestState })).rejects.toEqual(refused);
    expect(effects()).toBe(0);
    expect(events).toContainEqual(expect.objectContaining({ type: "state_refused", reason: "other_answers" }));
  });

  it("an error of the flow's is recorded, too: it is not tried again", async () => {
    let runs = 0;
    const fail = flowOf(async () => {
      throw new Error(`boom ${++runs}`);
    });
    const ledger = memoryLedger();
    for (let delivery = 0; delivery < 2; delivery++) {
      await expect(startFlow(fail, { callId: CALL, ledger }).next()).rejects.toThrow("boom 1");
    }
  });

  it("without a call id every first request is a call of its own; singleUse: false leaves a flow out", async () => {
    let runs = 0;
    const ledger = memoryLedger();
    const count = tool("count", {}, async () => text(++runs));
    for (let delivery = 0; delivery < 2; delivery++) await startFlow(count, { ledger }).next();
    expect(runs).toBe(2);
    const free = tool("free", { singleUse: false }, async () => text(++runs));
    for (let delivery = 0; delivery < 2; delivery++) await startFlow(free, { ledger, callId: CALL }).next();
    expect(runs).toBe(4);
  });

  it("C14 a call id counts for its own caller only", async () => {
    let runs = 0;
    const ledger = memoryLedger();
    const count = tool("count", {}, async () => text(++runs));
    for (const sub of ["ann", "bob", "ann"]) {
      const authInfo = { token: sub, clientId: "app", scopes: [], extra: { sub } };
      await startFlow(count, { ledger, callId: CALL, authInfo }).next();
    }
    expect(runs).toBe(2);
  });
});

describe("take-over", () => {
  /** A replica that hangs in its second step, as one that was killed would. */
  function hanging(record: "steps" | "rounds") {
    const ran: string[] = [];
    const keys: string[] = [];
    let hang = true;
    const flow = flowOf(async (own) => {
      await own.confirm("ok", "Ok?");
      await own.step("one", () => void ran.push("one"));
      await own.step("two", async ({ idempotencyKey }) => {
        ran.push("two");
        keys.push(idempotencyKey);
        if (hang) await new Promise(() => undefined);
      });
      return ran;
    });
    const store = memoryLedger();
    // A replica that is gone renews nothing.
    const dead: Ledger = { ...store, renew: () => new Promise(() => undefined) };
    const events: ParleyEvent[] = [];
    const replica = (ledger: Ledger) =>
      startFlow(flow, { callId: CALL, ledger: { store: ledger, leaseMs: 60, record }, onEvent: (e) => events.push(e) });
    return { ran, keys, store, dead, replica, events, heal: () => (hang = false) };
  }

  it("with recorded steps no finished step repeats; the idempotency key of the other is the same", async () => {
    const { ran, keys, store, dead, replica, events, heal } = hanging("steps");
    const { requestState } = await replica(store).next();
    void replica(dead).next({ ok: yes() }, { requestState });
    await later(30);
    heal();
    const taken = await replica(store).next({ ok: yes() }, { requestState });
    expect(taken.result).toBeDefined();
    expect(ran).toEqual(["one", "two", "two"]);
    expect(new Set(keys).size).toBe(1);
    expect(events).toContainEqual(expect.objectContaining({ type: "taken_over", attempt: 2 }));
  });

  it('with record: "rounds" the steps of the round run again, under the same keys', async () => {
    const { ran, keys, store, dead, replica, heal } = hanging("rounds");
    const { requestState } = await replica(store).next();
    void replica(dead).next({ ok: yes() }, { requestState });
    await later(30);
    heal();
    await replica(store).next({ ok: yes() }, { requestState });
    expect(ran).toEqual(["one", "two", "one", "two"]);
    expect(new Set(keys).size).toBe(1);
  });

  it("a replica that comes back late neither goes on nor records anything: it gives what the other recorded", async () => {
    const store = memoryLedger();
    const ran: string[] = [];
    let slow = true;
    const flow = flowOf(async (own) => {
      await own.confirm("ok", "Ok?");
      await own.step("slow", async () => {
        ran.push("slow");
        if (slow) await later(150);
      });
      await own.step("next", () => void ran.push("next"));
      return "end";
    });
    const asleep: Ledger = { ...store, renew: () => new Promise(() => undefined) };
    const replica = (ledger: Ledger) => startFlow(flow, { callId: CALL, ledger: { store: ledger, leaseMs: 50 } });
    const { requestState } = await replica(store).next();
    const late = replica(asleep).next({ ok: yes() }, { requestState });
    await later(20);
    slow = false;
    const taken = await replica(store).next({ ok: yes() }, { requestState });
    expect(JSON.stringify(await late)).toBe(JSON.stringify(taken));
    expect(ran).toEqual(["slow", "slow", "next"]);
  });

  it("a claim whose answer came after its lease is claimed again; waitMs ends that", async () => {
    const { replica: healthy, effects, store } = world();
    const { requestState } = await healthy().next();
    const slow = (times: number): Ledger => ({
      ...store,
      claim: async (request) => {
        const claim = await store.claim(request);
        if (times-- > 0) await later(80);
        return claim;
      },
    });
    const never = world({ store: slow(100), leaseMs: 40, waitMs: 200 });
    const running = expect.objectContaining({ data: { reason: "round_running" } });
    await expect(never.replica().next({ ok: yes() }, { requestState })).rejects.toEqual(running);
    expect(never.effects()).toBe(0);
    const once = world({ store: slow(1), leaseMs: 40 });
    expect(Object.keys((await once.replica().next({ ok: yes() }, { requestState })).questions)).toEqual(["note"]);
    expect(once.effects() + effects()).toBe(1);
  });

  it("a client that goes away gives the round back with its steps; the next delivery goes on", async () => {
    const store = memoryLedger();
    const ran: string[] = [];
    const gone = new AbortController();
    const flow = flowOf(async (own) => {
      await own.confirm("ok", "Ok?");
      await own.step("one", async () => {
        ran.push("one");
        gone.abort(new Error("client left"));
        await later(20);
      });
      await own.step("two", () => void ran.push("two"));
      return "end";
    });
    const { requestState } = await startFlow(flow, { callId: CALL, ledger: store }).next();
    const left = startFlow(flow, { callId: CALL, ledger: store, signal: gone.signal });
    await expect(left.next({ ok: yes() }, { requestState })).rejects.toThrow("client left");
    const back = await startFlow(flow, { callId: CALL, ledger: store }).next({ ok: yes() }, { requestState });
    expect(back.result).toBeDefined();
    expect(ran).toEqual(["one", "two"]);
  });
});

describe("store faults never turn into two effects or a silent pass", () => {
  const failing = (store: Ledger, which: keyof Ledger, error: Error): Ledger => ({
    ...store,
    [which]: () => Promise.reject(error),
  });
  const down = Object.assign(new (class extends Error {})("down"), { code: "ledger_unavailable" });

  it.each(["claim", "recordStep", "settle"] as const)(
    "%s fails: the call fails closed, and works when it is back",
    async (which) => {
      const { ParleyError } = await import("../../src/errors.ts");
      const { replica: healthy, effects, store } = world({ leaseMs: 40 });
      const { requestState } = await healthy().next();
      const error = new ParleyError("ledger_unavailable", "down", { cause: down });
      const flow = flowOf(async (own) => {
        await own.confirm("ok", "Pay?");
        return "unused";
      });
      void flow;
      const broken = world({ store: failing(store, which, error), leaseMs: 40 });
      await expect(broken.replica().next({ ok: yes() }, { requestState })).rejects.toMatchObject({
        code: -32603,
        data: { reason: "ledger_unavailable" },
      });
      const before = broken.effects();
      expect(before).toBe(which === "claim" ? 0 : 1);
      const after = await healthy().next({ ok: yes() }, { requestState });
      expect(Object.keys(after.questions)).toEqual(["note"]);
      // settle failed after the step was recorded, so the take-over did not pay again; recordStep failed before.
      expect(effects()).toBe(which === "settle" ? 0 : 1);
    },
  );

  it('runs unrecorded only by name: onUnavailable: "run-unrecorded"', async () => {
    const { ParleyError } = await import("../../src/errors.ts");
    const error = new ParleyError("ledger_unavailable", "down");
    const open = world({ store: failing(memoryLedger(), "claim", error), onUnavailable: "run-unrecorded" });
    expect(Object.keys((await open.replica().next()).questions)).toEqual(["ok"]);
    expect(open.events).toContainEqual(expect.objectContaining({ type: "ledger_unavailable" }));
  });

  it("a second delivery waits no longer than waitMs, and says so", async () => {
    const store = memoryLedger();
    const busy: Ledger = { ...store, claim: async (): Promise<Claim> => ({ type: "running", leaseLeftMs: 5 }) };
    const { replica } = world({ store: busy, waitMs: 40 });
    await expect(replica().next()).rejects.toMatchObject({ data: { reason: "round_running" } });
  });
});

describe("the journal in the ledger", () => {
  const long = flowOf(async (own) => {
    const seen: unknown[] = [];
    for (let n = 0; n < 12; n++) {
      seen.push(await own.step(`s${n}`, () => `${n}`.padEnd(200, ".")));
      await own.confirm(`q${n}`, `${n}?`);
    }
    return seen.length;
  });

  async function play(ledger: ParleyOptions["ledger"]) {
    const call = startFlow(long, { ...(ledger !== undefined && { ledger }), callId: CALL });
    let round = await call.next();
    while (round.result === undefined) round = await call.next({ [Object.keys(round.questions)[0] as string]: yes() });
    return { result: round.result, sizes: call.rounds.flatMap((r) => (r.requestState ? [r.requestState.length] : [])) };
  }

  it("the state stops growing: a digest travels; the result is the same", async () => {
    const store = memoryLedger();
    const inState = await play(undefined);
    const pinned = await play({ store, journal: "ledger" });
    const auto = await play({ store: memoryLedger(), journal: "auto", journalAboveBytes: 1_500 });
    expect(pinned.result).toEqual(inState.result);
    expect(auto.result).toEqual(inState.result);
    expect(Math.max(...pinned.sizes)).toBeLessThan(500);
    expect(inState.sizes.at(-1)).toBeGreaterThan(3_000);
    expect(auto.sizes.at(-1)).toBeLessThan(500);
    expect(Math.max(...auto.sizes)).toBeGreaterThan(1_500);
  });

  it("a state whose journal is elsewhere is refused where there is no ledger, or where it holds something else", async () => {
    const call = startFlow(long, { ledger: { store: memoryLedger(), journal: "ledger" }, callId: CALL });
    await call.next();
    const { requestState } = await call.next({ q0: yes() });
    await expect(startFlow(long).next({ q1: yes() }, { requestState })).rejects.toEqual(refused);
    const empty = startFlow(long, { ledger: { store: memoryLedger(), journal: "ledger" } });
    await expect(empty.next({ q1: yes() }, { requestState })).rejects.toEqual(refused);
  });

  it("C14 nothing readable is stored", async () => {
    const stored: Uint8Array[] = [];
    const store = memoryLedger();
    const spy: Ledger = {
      ...store,
      recordStep: (hold, entry, leaseMs) => {
        stored.push(entry);
        return store.recordStep(hold, entry, leaseMs);
      },
      settle: (hold, settlement) => {
        stored.push(settlement.outcome, ...(settlement.journal ? [settlement.journal] : []));
        return store.settle(hold, settlement);
      },
    };
    await play({ store: spy, journal: "ledger" });
    expect(stored.length).toBeGreaterThan(20);
    for (const bytes of stored)
      expect(Buffer.from(bytes).toString("latin1")).not.toMatch(/\.{20}|confirm|input_required/);
  });
});
