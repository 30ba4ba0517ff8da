/** What the simulator found (`npm run simulate`), as small tests. */
import { describe, expect, it } from "vitest";
import { type Flow, tool } from "../../src/index.ts";
import type { Ledger } from "../../src/ledger/contract.ts";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { startFlow, yes } from "../../src/testing.ts";

const CALL = "0123456789abcdefABCDEF";
const flowOf = (handler: (flow: Flow) => Promise<unknown>) =>
  tool("t", {}, async (_args, flow) => ({ content: [{ type: "text", text: JSON.stringify(await handler(flow)) }] }));
const text = (value: unknown) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));
const never = () => new Promise<never>(() => undefined);

describe("a take-over replays what is on record in its order", () => {
  it("a race between steps ends as it did in the first attempt: one branch takes effect, not both", async () => {
    const store = memoryLedger();
    const done: string[] = [];
    let hang = true;
    const flow = flowOf(async (own) => {
      const slow = async () => {
        await own.step("a", () => later(40));
        return "a";
      };
      const fast = async () => {
        await own.step("b", () => later(1));
        return "b";
      };
      const rest = slow();
      const winner = await Promise.race([rest, fast()]);
      await own.step(`after-${winner}`, () => void done.push(winner));
      await rest;
      await own.step("last", () => (hang ? never() : undefined));
      return winner;
    });
    const dead: Ledger = { ...store, renew: never };
    const options = { callId: CALL, ledger: { store, leaseMs: 80 } };
    void startFlow(flow, { ...options, ledger: { ...options.ledger, store: dead } }).next();
    await later(70);
    hang = false;
    // Both steps are on record now; asked in the flow's order, "a" would win.
    const { result } = await startFlow(flow, options).next();
    expect(result).toEqual(text("b"));
    expect(done).toEqual(["b"]);
  });

  it("an answer keeps its place between two steps", async () => {
    const store = memoryLedger();
    const done: string[] = [];
    let hang = true;
    const flow = flowOf(async (own) => {
      const asks = own
        .step("a", () => later(1))
        .then(() => own.confirm("ok", "Ok?", { unsolicited: "accept" }))
        .then(() => "asked");
      const works = own.step("b", () => later(30)).then(() => "worked");
      const winner = await Promise.race([asks, works]);
      await works;
      await own.step(`after-${winner}`, () => void done.push(winner));
      await own.step("last", () => (hang ? never() : undefined));
      return winner;
    });
    const dead: Ledger = { ...store, renew: never };
    const options = { callId: CALL, ledger: { store, leaseMs: 80 } };
    void startFlow(flow, { ...options, ledger: { ...options.ledger, store: dead } }).next({ ok: yes() });
    await later(70);
    hang = false;
    const { result } = await startFlow(flow, options).next({ ok: yes() });
    expect(result).toEqual(text("asked"));
    expect(done).toEqual(["asked"]);
  });
});

describe("a step that did not end is not recorded as ended", () => {
  it("a step that stops because its client left runs again in the next delivery, and does not fail for good", async () => {
    const store = memoryLedger();
    const client = new AbortController();
    let runs = 0;
    const flow = flowOf((own) =>
      own.step("heeds", async ({ signal }) => {
        if (++runs > 1) return "done";
        client.abort(new Error("client left"));
        await later(5);
        signal.throwIfAborted();
        return "never";
      }),
    );
    const left = startFlow(flow, { callId: CALL, ledger: store, signal: client.signal });
    await expect(left.next()).rejects.toThrow("client left");
    expect((await startFlow(flow, { callId: CALL, ledger: store }).next()).result).toEqual(text("done"));
  });

  it("I6 a client that leaves between two tries takes none from the next delivery", async () => {
    const triesOf = async (leavesAfterMs?: number) => {
      const store = memoryLedger();
      const client = new AbortController();
      const tries: number[] = [];
      const flow = flowOf((own) =>
        own.step(
          "tried",
          ({ attempt }) => {
            tries.push(attempt);
            if (attempt === 1 && tries.length < 3) throw new Error("not yet");
            return "done";
          },
          { retry: { attempts: 2, delayMs: 20 } },
        ),
      );
      if (leavesAfterMs !== undefined) setTimeout(() => client.abort(new Error("client left")), leavesAfterMs);
      const first = startFlow(flow, { callId: CALL, ledger: store, signal: client.signal }).next();
      if (leavesAfterMs !== undefined) await expect(first).rejects.toThrow("client left");
      else await first;
      expect((await startFlow(flow, { callId: CALL, ledger: store }).next()).result).toEqual(text("done"));
      return tries;
    };
    expect(await triesOf()).toEqual([1, 2]);
    expect(await triesOf(5)).toEqual([1, 1, 2]);
  });

  it("a failure of the step's own counts, though its client has left", async () => {
    const store = memoryLedger();
    const client = new AbortController();
    let runs = 0;
    const flow = flowOf((own) =>
      own.step("fails", () => {
        runs++;
        client.abort(new Error("client left"));
        throw new Error("card declined");
      }),
    );
    const left = startFlow(flow, { callId: CALL, ledger: store, signal: client.signal });
    await expect(left.next()).rejects.toThrow("card declined");
    await expect(startFlow(flow, { callId: CALL, ledger: store }).next()).rejects.toThrow("card declined");
    expect(runs).toBe(1);
  });
});

describe("a lease that ran out", () => {
  /** A replica whose renewals do not arrive, as if it had slept. */
  const asleep = (store: Ledger): Ledger => ({ ...store, renew: never });

  it("stops a step's further tries, and the round goes on under a new claim: the client gets no hold_lost", async () => {
    const store = memoryLedger();
    const tries: number[] = [];
    const flow = flowOf((own) =>
      own.step(
        "tried",
        ({ attempt }) => {
          tries.push(attempt);
          if (tries.length === 1) throw new Error("not yet");
          return "done";
        },
        { retry: { attempts: 2, delayMs: 60 } },
      ),
    );
    const served = startFlow(flow, { callId: CALL, ledger: { store: asleep(store), leaseMs: 30 } });
    expect((await served.next()).result).toEqual(text("done"));
    // The second try is the first one of the new attempt, not the second one without a lease.
    expect(tries).toEqual([1, 1]);
  });
});
