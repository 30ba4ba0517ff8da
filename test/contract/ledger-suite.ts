/** What every ledger store must do. Each store's file runs it against the real thing. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Claim, ClaimRequest, Ledger } from "../../src/ledger/contract.ts";
import { modelCases } from "./ledger-model.ts";

export interface LedgerWorld {
  /** One more replica: its own connection to the same store, where the store has connections. */
  open(): Ledger;
  /** How many calls the store still holds, expired ones included. Absent: the store's own file shows that they leave. */
  calls?(): Promise<number>;
  end(): Promise<void>;
}

export const LONG = 60_000;

/** A hold that nobody else has: a fresh call unless told otherwise. */
export function fresh(more: Partial<ClaimRequest> = {}): ClaimRequest {
  return {
    call: `call-${randomUUID()}`,
    round: 0,
    owner: randomUUID(),
    answers: "answers-1",
    leaseMs: LONG,
    keepMs: LONG,
    wantJournal: false,
    ...more,
  };
}

export const other = (request: ClaimRequest, more: Partial<ClaimRequest> = {}): ClaimRequest => ({
  ...request,
  owner: randomUUID(),
  ...more,
});

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
export const text = (value: Uint8Array): string => new TextDecoder().decode(value);

function won(claim: Claim): Extract<Claim, { type: "won" }> {
  expect(claim.type).toBe("won");
  return claim as Extract<Claim, { type: "won" }>;
}

export function testLedger(
  name: string,
  start: () => Promise<LedgerWorld>,
  run: typeof describe | typeof describe.skip = describe,
) {
  run(`ledger contract: ${name}`, () => {
    let world: LedgerWorld;
    let a: Ledger;
    let b: Ledger;
    beforeAll(async () => {
      world = await start();
      a = world.open();
      b = world.open();
    });
    afterAll(async () => {
      await a?.close();
      await b?.close();
      await world?.end();
    });

    describe("claims (C8)", () => {
      it("gives a round to the first of 50 deliveries at once, and tells the others that it runs", async () => {
        const request = fresh();
        const claims = await Promise.all(
          Array.from({ length: 50 }, (_, index) => (index % 2 ? a : b).claim(other(request))),
        );
        expect(claims.filter((claim) => claim.type === "won")).toEqual([
          { type: "won", attempt: 1, steps: [], journal: [] },
        ]);
        const losers = claims.filter((claim) => claim.type === "running");
        expect(losers).toHaveLength(49);
        for (const { leaseLeftMs } of losers) {
          expect(leaseLeftMs).toBeGreaterThan(LONG / 2);
          expect(leaseLeftMs).toBeLessThanOrEqual(LONG);
          expect(Number.isInteger(leaseLeftMs)).toBe(true);
        }
      });

      it("gives the recorded bytes to the same answers, on every replica (L14)", async () => {
        const request = fresh();
        await a.claim(request);
        expect(await a.settle(request, { outcome: bytes("outcome"), keepMs: LONG })).toBe(true);
        for (const ledger of [a, b]) {
          const claim = await ledger.claim(other(request));
          expect(claim.type === "settled" && text(claim.outcome)).toBe("outcome");
        }
        const again = await b.claim(request);
        expect(again.type).toBe("settled");
      });

      it("refuses other answers in every state, also to the owner", async () => {
        const request = fresh();
        const wrong = { answers: "answers-2" };
        await a.claim(request);
        expect(await b.claim(other(request, wrong))).toEqual({ type: "other_answers" });
        expect(await b.claim({ ...request, ...wrong })).toEqual({ type: "other_answers" });
        await a.release(request);
        expect(await b.claim(other(request, wrong))).toEqual({ type: "other_answers" });
        won(await a.claim(request));
        await a.settle(request, { outcome: bytes("x"), keepMs: LONG });
        expect(await b.claim(other(request, wrong))).toEqual({ type: "other_answers" });
        expect((await b.claim(other(request))).type).toBe("settled");
      });

      it("lets the owner claim again, which is no new attempt", async () => {
        const request = fresh();
        await a.claim(request);
        await a.recordStep(request, bytes("one"), LONG);
        const again = won(await b.claim(request));
        expect(again.attempt).toBe(1);
        expect(again.steps.map(text)).toEqual(["one"]);
      });

      it("keeps calls and rounds apart", async () => {
        const first = fresh();
        const nextRound = { ...first, round: 1 };
        const elsewhere = { ...first, call: `${first.call}x` };
        for (const request of [first, nextRound, elsewhere]) won(await a.claim(request));
        await a.settle(first, { outcome: bytes("first"), keepMs: LONG });
        for (const request of [nextRound, elsewhere]) expect((await b.claim(other(request))).type).toBe("running");
      });
    });

    describe("leases and take-over", () => {
      it("runs while the lease lasts, and is taken over after it, as the next attempt", async () => {
        const request = fresh({ leaseMs: 400 });
        won(await a.claim(request));
        const early = await b.claim(other(request));
        expect(early.type).toBe("running");
        await sleep(early.type === "running" ? early.leaseLeftMs + 30 : 0);
        expect(won(await b.claim(other(request, { leaseMs: 20 }))).attempt).toBe(2);
        await sleep(60);
        expect(won(await a.claim(other(request))).attempt).toBe(3);
      });

      it("renew and recordStep prolong the lease", async () => {
        const request = fresh({ leaseMs: 1_000 });
        await a.claim(request);
        expect(await a.renew(request, LONG)).toBe(true);
        const renewed = await b.claim(other(request));
        expect(renewed.type === "running" && renewed.leaseLeftMs).toBeGreaterThan(2_000);
        expect(await a.recordStep(request, bytes("s"), 2 * LONG)).toBe(true);
        const stepped = await b.claim(other(request));
        expect(stepped.type === "running" && stepped.leaseLeftMs).toBeGreaterThan(LONG);
      });

      it("after a take-over the late owner settles, steps, renews and releases nothing", async () => {
        const late = fresh({ leaseMs: 1 });
        await a.claim(late);
        await a.recordStep(late, bytes("before"), 1);
        await sleep(20);
        const taker = other(late, { leaseMs: LONG });
        expect(won(await b.claim(taker)).steps.map(text)).toEqual(["before"]);
        expect(await a.settle(late, { outcome: bytes("late"), journal: bytes("late"), keepMs: LONG })).toBe(false);
        expect(await a.recordStep(late, bytes("late"), LONG)).toBe(false);
        expect(await a.renew(late, LONG)).toBe(false);
        await a.release(late);
        const state = await a.claim(other(late));
        expect(state.type === "running" && state.leaseLeftMs).toBeLessThanOrEqual(LONG);
        expect(won(await b.claim(taker)).steps.map(text)).toEqual(["before"]);
        expect(await b.settle(taker, { outcome: bytes("taken"), keepMs: LONG })).toBe(true);
        const end = await a.claim(other(late));
        expect(end.type === "settled" && text(end.outcome)).toBe("taken");
      });

      it("at the moment of a take-over, either the late owner has settled or one taker has the round", async () => {
        for (let turn = 0; turn < 12; turn++) {
          const late = fresh({ leaseMs: 1 });
          await a.claim(late);
          await sleep(5);
          const takers = Array.from({ length: 8 }, () => other(late, { leaseMs: LONG }));
          const settling = (ledger: Ledger) => ledger.settle(late, { outcome: bytes("late"), keepMs: LONG });
          const taking = takers.map((taker, index) => (index % 2 ? a : b).claim(taker));
          const [settled, ...claims] = await Promise.all([settling(turn % 2 ? a : b), ...taking]);
          const winners = claims.filter(({ type }) => type === "won");
          expect(winners).toHaveLength(settled ? 0 : 1);
          if (!settled) expect(winners).toEqual([{ type: "won", attempt: 2, steps: [], journal: [] }]);
          expect((await b.claim(other(late))).type).toBe(settled ? "settled" : "running");
          expect(await settling(a)).toBe(settled);
        }
      });

      it("an owner whose lease is over but whose round nobody took still settles", async () => {
        const request = fresh({ leaseMs: 1 });
        await a.claim(request);
        await sleep(20);
        expect(await a.settle(request, { outcome: bytes("slow"), keepMs: LONG })).toBe(true);
      });

      it("release gives the round back at once and keeps its steps", async () => {
        const request = fresh();
        await a.claim(request);
        await a.recordStep(request, bytes("kept"), LONG);
        await a.release(request);
        expect(await a.recordStep(request, bytes("no"), LONG)).toBe(false);
        expect(await a.settle(request, { outcome: bytes("no"), keepMs: LONG })).toBe(false);
        const next = won(await b.claim(other(request)));
        expect([next.attempt, next.steps.map(text)]).toEqual([2, ["kept"]]);
      });

      it("knows nothing of holds that were never claimed", async () => {
        const request = fresh();
        expect(await a.renew(request, LONG)).toBe(false);
        expect(await a.recordStep(request, bytes("x"), LONG)).toBe(false);
        expect(await a.settle(request, { outcome: bytes("x"), keepMs: LONG })).toBe(false);
        await a.release(request);
        expect(won(await a.claim(other(request))).attempt).toBe(1);
      });
    });

    describe("settling", () => {
      it("settles once: again as the owner is true and changes nothing", async () => {
        const request = fresh();
        await a.claim(request);
        await a.settle(request, { outcome: bytes("one"), keepMs: LONG });
        expect(await b.settle(request, { outcome: bytes("two"), journal: bytes("two"), keepMs: LONG })).toBe(true);
        const claim = await b.claim(other(request, { wantJournal: true }));
        expect(claim.type === "settled" && text(claim.outcome)).toBe("one");
        expect(won(await b.claim(other(request, { round: 1, wantJournal: true }))).journal).toEqual([]);
      });

      it("nothing more happens to a round that has ended", async () => {
        const request = fresh();
        await a.claim(request);
        await a.settle(request, { outcome: bytes("end"), keepMs: LONG });
        expect(await a.renew(request, LONG)).toBe(false);
        expect(await a.recordStep(request, bytes("x"), LONG)).toBe(false);
        await a.release(request);
        expect((await b.claim(other(request))).type).toBe("settled");
      });
    });

    describe("steps and journal", () => {
      it("keeps steps in order over two attempts, those of one moment too", async () => {
        const first = fresh();
        await a.claim(first);
        for (const step of ["1", "2", "2"]) await a.recordStep(first, bytes(step), LONG);
        await a.release(first);
        const second = other(first);
        await b.claim(second);
        expect(await Promise.all(["3", "4", "5"].map((step) => b.recordStep(second, bytes(step), LONG)))).toEqual([
          true,
          true,
          true,
        ]);
        const steps = won(await a.claim(second)).steps.map(text);
        expect(steps.slice(0, 3)).toEqual(["1", "2", "2"]);
        expect(steps.slice(3).sort()).toEqual(["3", "4", "5"]);
        expect(won(await a.claim(second)).steps.map(text)).toEqual(steps);
      });

      it("gives journal chunks of earlier rounds, oldest first, only when wanted", async () => {
        const base = fresh();
        for (const round of [0, 1, 2, 3, 9, 10, 11]) {
          const request = other(base, { round });
          await a.claim(request);
          const journal = round === 2 ? {} : { journal: bytes(`chunk ${round}`) };
          await a.settle(request, { outcome: bytes("o"), ...journal, keepMs: LONG });
        }
        const chunks = async (round: number, wantJournal: boolean) =>
          won(await b.claim(other(base, { round, wantJournal }))).journal.map(text);
        expect(await chunks(12, true)).toEqual([0, 1, 3, 9, 10, 11].map((round) => `chunk ${round}`));
        expect(await chunks(5, true)).toEqual([0, 1, 3].map((round) => `chunk ${round}`));
        expect(await chunks(13, false)).toEqual([]);
      });
    });

    describe("expiry (B45)", () => {
      it("forgets a call when its time is over, and not before", async () => {
        const request = fresh({ leaseMs: 1, keepMs: 1_500 });
        await a.claim(request);
        await a.recordStep(request, bytes("old"), 1);
        await a.settle(request, { outcome: bytes("old"), journal: bytes("old"), keepMs: 1_500 });
        await sleep(700);
        expect((await b.claim(other(request))).type).toBe("settled");
        await sleep(1_500);
        expect(await a.settle(request, { outcome: bytes("old"), keepMs: LONG })).toBe(false);
        const again = won(await b.claim(other(request, { answers: "others", wantJournal: true })));
        expect(again).toEqual({ type: "won", attempt: 1, steps: [], journal: [] });
        expect(won(await b.claim(other(request, { round: 1, wantJournal: true }))).journal).toEqual([]);
      });

      it("a round that has expired is new to whoever claims it, one of many, while another round of its call lives", async () => {
        const old = fresh({ leaseMs: 1, keepMs: 200 });
        await a.claim(old);
        await a.recordStep(old, bytes("old"), 1);
        const living = other(old, { round: 1, leaseMs: LONG, keepMs: 200 });
        await sleep(300);
        won(await b.claim(living));
        const claims = await Promise.all(
          Array.from({ length: 12 }, (_, index) =>
            (index % 2 ? a : b).claim(other(old, { answers: "new", leaseMs: LONG })),
          ),
        );
        expect(claims.filter(({ type }) => type === "won")).toEqual([
          { type: "won", attempt: 1, steps: [], journal: [] },
        ]);
        expect(await a.settle(old, { outcome: bytes("old"), keepMs: LONG })).toBe(false);
        expect((await a.claim(other(living))).type).toBe("running");
      });

      it("settle prolongs every round of the call", async () => {
        const first = fresh({ leaseMs: 1, keepMs: 300 });
        await a.claim(first);
        await a.settle(first, { outcome: bytes("first"), journal: bytes("j"), keepMs: 300 });
        const second = other(first, { round: 1 });
        await a.claim(second);
        await a.settle(second, { outcome: bytes("second"), keepMs: LONG });
        await sleep(600);
        expect((await b.claim(other(first))).type).toBe("settled");
        expect(won(await b.claim(other(first, { round: 2, wantJournal: true }))).journal.map(text)).toEqual(["j"]);
      });

      it("does not forget a round that is being worked on", async () => {
        const request = fresh({ leaseMs: 600, keepMs: 10 });
        await a.claim(request);
        await sleep(150);
        expect((await b.claim(other(request))).type).toBe("running");
        expect(await a.renew(request, LONG)).toBe(true);
        await sleep(800);
        expect((await b.claim(other(request))).type).toBe("running");
      });

      it("expired calls leave by themselves", async ({ skip }) => {
        const count = world.calls ?? skip("this store's own file shows it");
        const before = await count();
        const old = Array.from({ length: 150 }, () => fresh({ leaseMs: 1, keepMs: 100 }));
        await Promise.all(old.map((request) => a.claim(request)));
        expect(await count()).toBeGreaterThan(before);
        await sleep(200);
        for (let round = 0; round < 130; round++) await a.claim(fresh({ call: "the same", leaseMs: 1, round }));
        await expect.poll(count, { timeout: 3_000 }).toBeLessThanOrEqual(before + 1);
      });
    });

    describe("what is stored", () => {
      it("gives back every byte, nothing and a megabyte too", async () => {
        const all = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
        const large = Uint8Array.from({ length: 1_048_576 }, (_, index) => (index * 31 + (index >> 8)) % 256);
        for (const value of [all, large, new Uint8Array(0), bytes("\0\0"), large.subarray(1, 70_000)]) {
          const request = fresh({ wantJournal: true });
          await a.claim(request);
          await a.recordStep(request, value, LONG);
          const step = won(await b.claim(request)).steps[0] as Uint8Array;
          expect(Buffer.compare(step, value)).toBe(0);
          await a.settle(request, { outcome: value, journal: value, keepMs: LONG });
          const settled = await b.claim(other(request));
          expect(settled.type === "settled" && Buffer.compare(settled.outcome, value)).toBe(0);
          const next = won(await b.claim(other(request, { round: 1 })));
          expect(next.journal).toHaveLength(1);
          expect(Buffer.compare(next.journal[0] as Uint8Array, value)).toBe(0);
        }
      });

      it("what was stored does not change with the caller's buffer", async () => {
        const request = fresh();
        const mine = bytes("mine");
        await a.claim(request);
        await a.settle(request, { outcome: mine, keepMs: LONG });
        mine.fill(0);
        const settled = await b.claim(other(request));
        expect(settled.type === "settled" && text(settled.outcome)).toBe("mine");
      });

      it.each([
        "{",
        "}",
        "{}a",
        "{a}b",
        "'; DROP TABLE parley_calls; --",
        '"',
        "%s\\x00",
        "a b\n\t:*",
        "ключ-鍵-🔑",
        "0:owner",
        "\u00e9",
        "e\u0301",
      ])("keys with odd characters stay apart: %j", async (odd) => {
        const salt = randomUUID();
        const request = fresh({ call: odd + salt, owner: odd + salt, answers: odd });
        won(await a.claim(request));
        await a.recordStep(request, bytes(odd), LONG);
        expect((await b.claim(other(request))).type).toBe("running");
        expect(await b.claim(other(request, { answers: `${odd} ` }))).toEqual({ type: "other_answers" });
        expect(won(await b.claim(request)).steps.map(text)).toEqual([odd]);
        await b.settle(request, { outcome: bytes(odd), keepMs: LONG });
        const settled = await a.claim(other(request));
        expect(settled.type === "settled" && text(settled.outcome)).toBe(odd);
      });

      it.each([
        ["an empty call", { call: "" }],
        ["a call of 513 bytes", { call: "é".repeat(257) }],
        ["a NUL", { owner: "a\0b" }],
        ["half a surrogate pair", { answers: "\ud800" }],
        ["a negative round", { round: -1 }],
        ["half a round", { round: 0.5 }],
        ["a round beyond 31 bits", { round: 2 ** 31 }],
        ["no lease", { leaseMs: 0 }],
        ["an endless keep", { keepMs: Number.POSITIVE_INFINITY }],
        ["a duration in parts", { keepMs: 1.5 }],
      ])("refuses %s by name and writes nothing", async (_, more) => {
        const good = fresh();
        await expect(a.claim({ ...good, ...more })).rejects.toMatchObject({
          code: "configuration",
          details: { name: Object.keys(more)[0] },
        });
        expect(won(await a.claim(good)).attempt).toBe(1);
      });
    });

    modelCases(() => [a, b]);

    it("refuses to work after close", async ({ skip }) => {
      const ledger = world.open();
      const request = fresh();
      if (ledger === a) skip("one ledger is all there is");
      won(await ledger.claim(request));
      await ledger.close();
      await ledger.close();
      await expect(ledger.claim(other(request))).rejects.toMatchObject({ code: "ledger_unavailable" });
      expect((await a.claim(other(request))).type).toBe("running");
    });
  });
}
