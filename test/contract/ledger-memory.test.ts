import { describe, expect, it } from "vitest";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { bytes, fresh, other, testLedger } from "./ledger-suite.ts";

testLedger("memory", async () => {
  const ledger = memoryLedger();
  return { open: () => ledger, end: async () => {} };
});

describe("memory ledger", () => {
  function withClock(maxRounds?: number) {
    const clock = { ms: 1_000 };
    return { clock, ledger: memoryLedger({ now: () => clock.ms, ...(maxRounds !== undefined && { maxRounds }) }) };
  }

  it("lives by the injected clock alone", async () => {
    const { clock, ledger } = withClock();
    const request = fresh({ leaseMs: 1_000, keepMs: 10_000 });
    await ledger.claim(request);
    clock.ms += 999;
    expect(await ledger.claim(other(request))).toEqual({ type: "running", leaseLeftMs: 1 });
    clock.ms += 1;
    expect(await ledger.claim(other(request))).toMatchObject({ type: "won", attempt: 2 });
    clock.ms += 10_000;
    expect(await ledger.claim(other(request))).toMatchObject({ type: "won", attempt: 1 });
  });

  it("refuses claims past maxRounds, forgets nothing unexpired, and works again when calls leave (B45)", async () => {
    const { clock, ledger } = withClock(3);
    const first = fresh({ keepMs: 1_000, leaseMs: 1_000 });
    await ledger.claim(first);
    await ledger.claim(other(first, { round: 1 }));
    const third = fresh();
    await ledger.claim(third);
    await expect(ledger.claim(fresh())).rejects.toMatchObject({ code: "ledger_unavailable" });
    expect((await ledger.claim(other(first))).type).toBe("running");
    expect(await ledger.settle(third, { outcome: bytes("x"), keepMs: 1 })).toBe(true);
    clock.ms += 1_000;
    expect((await ledger.claim(fresh())).type).toBe("won");
    expect((await ledger.claim(fresh())).type).toBe("won");
    await expect(ledger.claim(fresh())).rejects.toMatchObject({ code: "ledger_unavailable" });
  });

  it("a thousand expired calls leave in pieces, each operation dropping a few (B45)", async () => {
    const { clock, ledger } = withClock(1_000);
    for (let count = 0; count < 1_000; count++)
      await ledger.claim(fresh({ keepMs: 1_000 + ((count * 7) % 100), leaseMs: 1 }));
    clock.ms += 1_100;
    for (let count = 0; count < 1_000; count++) expect((await ledger.claim(fresh())).type).toBe("won");
    await expect(ledger.claim(fresh())).rejects.toMatchObject({ code: "ledger_unavailable" });
  });

  it("names a bad option", () => {
    expect(() => memoryLedger({ maxRounds: 0 })).toThrow(/maxRounds/);
  });
});
