import { setTimeout as sleep } from "node:timers/promises";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { type CallEvent, createCalls } from "../../src/client.ts";
import { Caller, post } from "./replicas-caller.ts";
import {
  inFiles,
  inPostgres,
  inRedis,
  type Replica,
  replica,
  type Shared,
  sharing,
  withPostgres,
  withRedis,
} from "./replicas-world.ts";

const LEASE_MS = 600;
/** What two busy cores may add to the lease: a look at the store every 250 ms, and the rest of the round. */
const SLACK_MS = 2_500;

const stores: [string, () => Promise<Shared>, typeof describe][] = [
  ["SQLite", () => inFiles(), describe],
  ["Redis", inRedis, withRedis],
  ["PostgreSQL", inPostgres, withPostgres],
];

/** One replica that hangs after the effect of its second step, and a second one that is well. */
async function pair(shared: Shared, record: "steps" | "rounds"): Promise<[Replica, Replica]> {
  const options = { record, leaseMs: LEASE_MS, waitMs: 20_000 };
  return Promise.all([replica("first", shared, { ...options, hangs: "label" }), replica("second", shared, options)]);
}

const done = (first: string) => JSON.stringify([`pack by ${first}`, "label by second", "send by second"]);

describe.each(stores)("a replica is killed in the middle of a step, over %s (C8)", (store, make, run) => {
  run(store, () => {
    it.each([
      ["steps", "no finished step repeats", "first", ["pack first", "label first", "label second", "send second"]],
      [
        "rounds",
        "the round's steps run again",
        "second",
        ["pack first", "label first", "pack second", "label second", "send second"],
      ],
    ] as const)(
      'record "%s": %s, under the same key, and the call ends',
      async (record, _, packedBy, expected) => {
        await sharing(make, async (shared) => {
          const [first, second] = await pair(shared, record);
          const caller = new Caller("ship", "parcel");
          await caller.round(first);
          const body = caller.body();
          const broken = post(first.url, body).catch((error: NodeJS.ErrnoException) => error.code);
          await first.hanging;

          // Control: while its replica lives, the round is its own for longer than a lease.
          let answered = false;
          const elsewhere = post(second.url, body).finally(() => {
            answered = true;
          });
          await sleep(2.5 * LEASE_MS);
          expect(answered).toBe(false);

          const killedAt = performance.now();
          await first.kill();
          expect(await broken).toBe("ECONNRESET");
          const response = await elsewhere;
          const tookMs = performance.now() - killedAt;
          caller.take(response);
          expect(caller.result).toBe(done(packedBy));
          expect(tookMs).toBeLessThan(LEASE_MS + SLACK_MS);

          const effects = await shared.seen();
          expect(effects.map(({ step, by }) => `${step} ${by}`)).toEqual(expected);
          const keys = new Map(effects.map(({ step, key }) => [step, key]));
          for (const { step, key } of effects) expect(key).toBe(keys.get(step));
          expect(new Set(keys.values()).size).toBe(3);
          expect((await second.counts()).events).toMatchObject({ taken_over: 1 });

          expect(await post(second.url, body)).toBe(response);
          expect(await shared.seen()).toHaveLength(expected.length);
        });
      },
      60_000,
    );

    it("B24 our driver sends the lost leg again, and gets the result of the other replica", async () => {
      await sharing(make, async (shared) => {
        const [first, second] = await pair(shared, "steps");
        let target = first;
        const balanced: typeof fetch = (_, init) => fetch(target.url, init);
        const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
        await client.connect(new StreamableHTTPClientTransport(new URL(first.url), { fetch: balanced }));
        const events: CallEvent[] = [];
        const calls = createCalls(client, {
          server: "shop",
          responders: { form: async () => ({ action: "accept", content: { confirm: true } }) },
          pacing: { initialMs: 1 },
          onEvent: (event) => events.push(event),
        });
        const calling = calls.callTool({ name: "ship", arguments: { call: "parcel" } });
        await first.hanging;
        target = second;
        await first.kill();
        expect((await calling).content).toEqual([{ type: "text", text: done("first") }]);
        expect(events.filter(({ type }) => type === "resent")).toHaveLength(1);
        expect((await shared.seen()).map(({ step }) => step)).toEqual(["pack", "label", "label", "send"]);
        await client.close();
      });
    }, 60_000);
  });
});
