import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { Caller, crowd, post, type Reply } from "./replicas-caller.ts";
import { gatedPostgres, ownRedis, type Stoppable, withRedisServer } from "./replicas-outage-servers.ts";
import { inFiles, type Replica, replicas, type Shared, sharing, withPostgres } from "./replicas-world.ts";

const stores: [string, () => Promise<Stoppable>, typeof describe][] = [
  ["Redis, killed with SIGKILL", ownRedis, withRedisServer],
  ["PostgreSQL, unreachable and its backends ended", gatedPostgres, withPostgres],
];
const LEASE_MS = 2_000;
const BACK_WITHIN_MS = 10_000;

/** Two replicas whose effects do not depend on the store that is stopped. */
async function outage(
  make: () => Promise<Stoppable>,
  work: (all: Replica[], store: Stoppable, shared: Shared) => Promise<void>,
): Promise<void> {
  const store = await make();
  onTestFinished(() => store.clean());
  await sharing(
    () => inFiles({ of: store.ledger }),
    async (shared) => work(await replicas(2, shared, { leaseMs: LEASE_MS, waitMs: 4_000 }), store, shared),
  );
}

const reasonIn = (response: string) => (JSON.parse(response) as Reply).error?.data?.reason;
const deliver = (all: readonly Replica[], body: string) => Promise.all(all.map(({ url }) => post(url, body)));

/** A round at both replicas at once, and again while the store is away. Returns how often it failed closed. */
async function persist(all: readonly Replica[], caller: Caller): Promise<number> {
  const body = caller.body();
  const until = performance.now() + 2 * BACK_WITHIN_MS;
  for (let failures = 0; ; failures++) {
    const [one, other] = (await deliver(all, body)) as [string, string];
    const reasons = [one, other].map(reasonIn).filter((reason) => reason !== undefined);
    if (reasons.length === 0) {
      expect(other).toBe(one);
      caller.take(one);
      return failures;
    }
    for (const reason of reasons) expect(reason).toMatch(/^(ledger_unavailable|round_running)$/);
    if (performance.now() > until) throw new Error(`${caller.call} does not end: ${one} ${other}`);
    await sleep(50);
  }
}

describe.each(stores)("the store is stopped in the middle: %s", (store, make, run) => {
  run(store, () => {
    it("open calls and new ones fail closed and quickly; nothing is done; all of them end when it is back", async () => {
      await outage(make, async (all, store, shared) => {
        const open = Array.from({ length: 40 }, (_, index) => new Caller("pay", `open-${index}`));
        const fresh = Array.from({ length: 10 }, (_, index) => new Caller("pay", `new-${index}`));
        for (const caller of open) await persist(all, caller);

        await store.stop();
        const stoppedAt = performance.now();
        await crowd([...open, ...fresh], 8, async (caller) => {
          for (const response of await deliver(all, caller.body()))
            expect(JSON.parse(response).error).toMatchObject({ code: -32603, data: { reason: "ledger_unavailable" } });
        });
        expect(performance.now() - stoppedAt).toBeLessThan(10_000);
        expect(await shared.seen()).toEqual([]);

        await store.start();
        const backAt = performance.now();
        await persist(all, open[0] as Caller);
        expect(performance.now() - backAt).toBeLessThan(BACK_WITHIN_MS);
        await crowd([...open, ...fresh], 8, async (caller) => {
          while (caller.result === undefined) await persist(all, caller);
        });
        const effects = await shared.seen();
        expect(effects).toHaveLength(50);
        expect(new Set(effects.map(({ key }) => key)).size).toBe(50);
      });
    }, 120_000);

    it("under load, three times: every call ends with one result; only what was between its effect and its record may act again, under the same key", async () => {
      await outage(make, async (all, store, shared) => {
        const callers = Array.from({ length: 240 }, (_, index) => new Caller("pay", `call-${index}`));
        const failures = new Map<string, number>();
        let ended = 0;
        const playing = crowd(callers, 16, async (caller) => {
          while (caller.result === undefined) failures.set(caller.call, await persist(all, caller));
          ended += 1;
        });
        let over = false;
        const end = () => {
          over = true;
        };
        playing.then(end, end);
        for (const share of [60, 120, 180]) {
          while (ended < share && !over) await sleep(5);
          await store.stop();
          await sleep(400);
          await store.start();
        }
        await playing;

        const effects = await shared.seen();
        const acted = new Map<string, string[]>();
        for (const { call, key } of effects) acted.set(call, [...(acted.get(call) ?? []), key]);
        expect(acted.size).toBe(callers.length);
        let again = 0;
        for (const [call, keys] of acted) {
          expect(new Set(keys).size).toBe(1);
          if (keys.length === 1) continue;
          again += keys.length - 1;
          expect(failures.get(call), `${call} acted twice in a round that never failed`).toBeGreaterThan(0);
        }
        expect(again).toBeLessThanOrEqual(3 * 16);
        expect([...failures.values()].some((count) => count > 0)).toBe(true);
        const last = new Map(effects.map(({ call, by }) => [call, `pay by ${by}`]));
        for (const caller of callers)
          expect(JSON.parse(caller.result ?? "{}")).toEqual({ call: caller.call, receipt: last.get(caller.call) });
      });
    }, 120_000);
  });
});
