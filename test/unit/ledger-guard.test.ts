/** The outside of every ledger store: what is late, lost or wrong (design: a ledger fails closed). */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { Hold } from "../../src/ledger/contract.ts";
import { guard, type StoreOperations } from "../../src/ledger/guard.ts";
import { Deadlines } from "../../src/store/deadlines.ts";
import type { Late } from "../../src/store/operations.ts";

const hold: Hold = { call: "call", round: 0, owner: "owner" };
const pause = (ms: number) => sleep(ms).then(() => true);

/** A ledger whose `renew` is `answer`; the rest answers at once. */
function ledgerWith(deadlines: Deadlines | undefined, answer: (late: Late) => boolean | Promise<boolean>) {
  const operations: StoreOperations = {
    claim: () => ({ type: "other_answers" }),
    recordStep: () => true,
    renew: (_hold, _leaseMs, late) => answer(late),
    settle: () => true,
    release: () => undefined,
    close: async () => undefined,
  };
  return guard("odd", deadlines, operations);
}

const failure = (why: RegExp) => ({ code: "ledger_unavailable", message: expect.stringMatching(why) });

describe("the outside of a store", () => {
  it("passes an answer on, whether it is there at once or later", async () => {
    for (const deadlines of [new Deadlines(1_000), undefined]) {
      expect(await ledgerWith(deadlines, () => true).renew(hold, 1)).toBe(true);
      expect(await ledgerWith(deadlines, () => pause(1)).renew(hold, 1)).toBe(true);
    }
  });

  it("names what was thrown at once or later, with its cause", async () => {
    const cause = new Error("broken pipe");
    const throwing = () => {
      throw cause;
    };
    for (const answer of [throwing, () => Promise.reject(cause)])
      for (const deadlines of [new Deadlines(1_000), undefined])
        await expect(ledgerWith(deadlines, answer).renew(hold, 1)).rejects.toMatchObject({
          ...failure(/broken pipe/),
          cause,
        });
  });

  it("each operation has its own deadline: those that came first are late first, the others still count", async () => {
    const lates: Late[] = [];
    const waits = [4_000, 0, 4_000];
    const ledger = ledgerWith(new Deadlines(300), (late) => {
      lates.push(late);
      return pause(waits[lates.length - 1] as number);
    });
    const told: string[] = [];
    const watch = async (name: string) => {
      await ledger.renew(hold, 1).then(
        () => told.push(`${name} answered`),
        (error) => {
          expect(error).toMatchObject(failure(/no answer within 300 ms/));
          told.push(`${name} late`);
        },
      );
    };
    const begun = performance.now();
    const first = watch("first");
    await watch("second");
    await sleep(150);
    const third = watch("third");
    await first;
    expect(told).toEqual(["second answered", "first late"]);
    expect(lates.map(({ now }) => now)).toEqual([true, false, false]);
    await third;
    expect(told).toEqual(["second answered", "first late", "third late"]);
    expect(performance.now() - begun, "on time").toBeLessThan(3_000);
  });

  it("an operation after a quiet time has its whole time, and is late after it", async () => {
    let waitMs = 0;
    const ledger = ledgerWith(new Deadlines(200), () => pause(waitMs));
    await ledger.renew(hold, 1);
    await sleep(250);
    waitMs = 1_000;
    const begun = performance.now();
    await expect(ledger.renew(hold, 1)).rejects.toMatchObject(failure(/no answer within 200 ms/));
    expect(performance.now() - begun).toBeGreaterThanOrEqual(199);
  });

  it("an answer that a blocked event loop lets in before the timer is late all the same", async () => {
    const ledger = ledgerWith(new Deadlines(50), async () => {
      await Promise.resolve();
      for (const until = performance.now() + 80; performance.now() < until; );
      return true;
    });
    await expect(ledger.renew(hold, 1)).rejects.toMatchObject(failure(/no answer within 50 ms/));
  });

  it("stops what is late, and all that waits when the store says so", async () => {
    const deadlines = new Deadlines(60_000);
    let stopped = 0;
    const ledger = ledgerWith(deadlines, (late) => {
      late.onLate = () => stopped++;
      return new Promise(() => {});
    });
    const waits = [ledger.renew(hold, 1), ledger.renew(hold, 1)].map((wait) => wait.catch((error) => error));
    deadlines.failAll(new Error("the connection was lost"));
    for (const wait of waits) expect(await wait).toMatchObject(failure(/the connection was lost/));
    expect(stopped).toBe(2);
  });
});
