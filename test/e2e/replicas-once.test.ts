import { describe, expect, it } from "vitest";
import { Caller, crowd, post } from "./replicas-caller.ts";
import {
  type Counts,
  inFiles,
  inPostgres,
  inRedis,
  type Replica,
  replicas,
  type Shared,
  sharing,
  withPostgres,
  withRedis,
} from "./replicas-world.ts";

const IN_FLIGHT = 32;
/** Every fourth call asks for a note after its effect: a round more. */
const asksNote = (index: number) => index % 4 === 0;

interface Played {
  readonly callers: Caller[];
  /** Rounds whose two deliveries got other bytes. */
  readonly unlike: string[];
}

/** Plays calls to their end. Every round goes to two different replicas at the same moment; each pair has its turn. */
async function playTwice(all: readonly Replica[], calls: number): Promise<Played> {
  const callers = Array.from(
    { length: calls },
    (_, index) => new Caller("pay", `call-${index}`, { note: asksNote(index) }),
  );
  const unlike: string[] = [];
  await crowd(callers, IN_FLIGHT, async (caller, index) => {
    while (caller.result === undefined && caller.rounds < 3) {
      const turn = index + caller.rounds;
      const first = all[turn % all.length] as Replica;
      const distance = 1 + (Math.floor(turn / all.length) % (all.length - 1));
      const second = all[(turn + distance) % all.length] as Replica;
      const body = caller.body();
      const [one, other] = await Promise.all([post(first.url, body), post(second.url, body)]);
      if (one !== other) unlike.push(`${caller.call}, round ${caller.rounds}:\n${one}\n${other}`);
      caller.take(one);
    }
  });
  return { callers, unlike };
}

function sum(counts: readonly Counts[], pick: (each: Counts) => number | undefined): number {
  return counts.reduce((total, each) => total + (pick(each) ?? 0), 0);
}

const stores: [string, () => Promise<Shared>, typeof describe][] = [
  ["Redis", inRedis, withRedis],
  ["PostgreSQL", inPostgres, withPostgres],
];

describe.each(stores)("one answer, one effect, over %s (C8, L14)", (store, make, run) => {
  run(store, () => {
    it.each([2, 4])(
      "a thousand calls on %i replicas, every round delivered twice at the same moment",
      async (count) => {
        const calls = 1_000;
        const rounds = 2 * calls + calls / 4;
        await sharing(make, async (shared) => {
          const all = await replicas(count, shared);
          const { callers, unlike } = await playTwice(all, calls);
          expect(unlike.slice(0, 3)).toEqual([]);
          const results = callers.map(({ result }) => JSON.parse(result ?? "{}"));
          for (const [index, result] of results.entries())
            expect(result).toEqual({
              call: `call-${index}`,
              receipt: expect.stringMatching(/^pay by r\d$/),
              ...(asksNote(index) && { note: "thanks" }),
            });

          const effects = await shared.seen();
          expect(effects).toHaveLength(calls);
          expect(new Set(effects.map(({ call }) => call)).size).toBe(calls);
          expect(new Set(effects.map(({ key }) => key)).size).toBe(calls);
          // The one that acted is the one whose result was given out.
          expect(new Map(effects.map(({ call, by }) => [call, `pay by ${by}`]))).toEqual(
            new Map(results.map(({ call, receipt }) => [call, receipt])),
          );

          // Every round ran once and was given back once, and the two deliveries did meet.
          const counts = await Promise.all(all.map((each) => each.counts()));
          expect(sum(counts, ({ requests }) => requests)).toBe(2 * rounds);
          expect(sum(counts, ({ events }) => events["round"])).toBe(rounds);
          expect(sum(counts, ({ claims }) => claims.won)).toBe(rounds);
          expect(sum(counts, ({ claims }) => claims.settled)).toBe(rounds);
          expect(sum(counts, ({ claims }) => claims.running)).toBeGreaterThan(calls / 4);
          for (const { claims } of counts) expect(claims.won).toBeGreaterThan(calls / 10);
        });
      },
      240_000,
    );
  });
});

describe("the same without a ledger", () => {
  it("control: every effect happens twice, and the two deliveries get other bytes", async () => {
    await sharing(
      () => inFiles({ of: undefined }),
      async (shared) => {
        const { callers, unlike } = await playTwice(await replicas(2, shared), 20);
        expect(callers.every(({ result }) => result !== undefined)).toBe(true);
        expect(await shared.seen()).toHaveLength(40);
        expect(unlike.length).toBeGreaterThan(20);
      },
    );
  }, 60_000);
});
