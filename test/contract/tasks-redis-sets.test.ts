/** The sorted sets of the Redis task store say what its tasks say, whatever was done to them in whatever order. */
import { randomInt, randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { expect, it } from "vitest";
import type { NewTask, TaskHold } from "../../src/tasks/contract.ts";
import { redisTasks } from "../../src/tasks/redis.ts";
import { freePort, killServer, startRedis } from "../helpers/redis-server.ts";
import { whenRedis } from "./tasks-redis-world.ts";
import { bytes, newTask } from "./tasks-suite.ts";

const OPERATIONS = 400;
const KINDS = ["k1", "k2"];
const OWNERS = ["o1", "o2", "o3"];
const FAR_MS = 60_000;

interface Row {
  readonly id: string;
  readonly kind: string;
  readonly owner: string;
  readonly phase: string;
  readonly holder: string;
  readonly wake: number;
  readonly lease: number;
  readonly ends: number;
}
type Sets = Map<string, Map<string, number>>;

const oneOf = <T>(from: readonly T[]): T => from[randomInt(from.length)] as T;

async function look(admin: Redis, base: string): Promise<{ rows: Row[]; sets: Sets; now: number }> {
  const [rows, sets]: [Row[], Sets] = [[], new Map()];
  const keys = (await admin.keys(`${base}:*`)).filter((key) => !/^:(steps|answers):/.test(key.slice(base.length)));
  const reading = admin.pipeline().time();
  for (const key of keys) {
    if (key.startsWith(`${base}:task:`)) reading.hgetall(key);
    else reading.zrange(key, 0, "-1", "WITHSCORES");
  }
  const [time, ...found] = ((await reading.exec()) ?? []).map(([, reply]) => reply);
  for (const [at, key] of keys.entries()) {
    const name = key.slice(base.length + 1);
    if (name.startsWith("task:")) {
      const row = found[at] as Record<string, string>;
      const [wake, lease, ends] = [Number(row["wake"]), Number(row["lease"]), Number(row["ends"])];
      rows.push({ ...(row as unknown as Row), id: name.slice(5), wake, lease, ends });
    } else {
      const flat = found[at] as string[];
      const members = flat.flatMap((member, at) => (at % 2 === 0 ? [[member, Number(flat[at + 1])] as const] : []));
      sets.set(name, new Map(members));
    }
  }
  const [seconds, micros] = time as [string, string];
  return { rows, sets, now: Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) };
}

/** What the sets must hold by what the tasks say; a lease that is over may have been noticed or not. */
function expectedSets(rows: readonly Row[], found: Sets, now: number): Sets {
  const sets: Sets = new Map();
  const put = (set: string, member: string, at: number) =>
    sets.set(set, (sets.get(set) ?? new Map()).set(member, at)) && undefined;
  for (const { id, kind, owner, phase, holder, wake, lease, ends } of rows) {
    if (phase === "ended") continue;
    put(`open:${owner}`, id, ends);
    put("ends", `${id}\0${kind}\0${owner}`, ends);
    const isHeld = holder !== "" && (lease > now || found.get("held")?.has(id) === true);
    if (isHeld) {
      put("held", id, lease);
      put(`held:${owner}`, id, lease);
    } else if (phase === "ready") {
      put(`ready:${kind}:${owner}`, id, wake);
      const first = sets.get(`owners:${kind}`)?.get(owner) ?? Number.POSITIVE_INFINITY;
      put(`owners:${kind}`, owner, Math.min(first, wake));
    }
  }
  return sets;
}

/** When the task that a claim must hand out became ready. */
function firstReady(rows: readonly Row[], kinds: readonly string[], perOwner: number, now: number): number | undefined {
  const runs = (row: Row) => row.holder !== "" && row.lease > now;
  const full = (owner: string) => rows.filter((row) => row.owner === owner && runs(row)).length >= perOwner;
  const wakes = rows
    .filter((row) => row.phase === "ready" && row.wake <= now && !runs(row))
    .filter((row) => kinds.includes(row.kind) && !full(row.owner))
    .map(({ wake }) => wake);
  return wakes.length === 0 ? undefined : Math.min(...wakes);
}

whenRedis("redis task store, its sorted sets", () => {
  it(`agree with the tasks after each of ${OPERATIONS} operations, and a claim takes what they say comes first`, async () => {
    const port = await freePort();
    const server = await startRedis(port);
    const base = "{parley:tasks}";
    const [admin, client] = [new Redis(port), new Redis(port)];
    const store = redisTasks(client);
    const holds: TaskHold[] = [];
    const made: NewTask[] = [];
    const counts = { claimed: 0, refused: 0, lapsed: 0 };
    const leaseMs = () => oneOf([FAR_MS, FAR_MS, 1]);

    async function claim(): Promise<void> {
      const [holder, perOwner] = [randomUUID(), oneOf([1, 2, 5])];
      const kinds = oneOf([KINDS, ["k1"], ["k2"]]);
      // No lease ends between the look and the claim.
      await sleep(3);
      const { rows, now } = await look(admin, base);
      const first = firstReady(rows, kinds, perOwner, now);
      const claimed = await store.claim({ holder, kinds, leaseMs: leaseMs(), perOwner });
      expect(rows.find(({ id }) => id === claimed?.id)?.wake).toBe(first);
      if (claimed === undefined) {
        counts.refused++;
        return;
      }
      counts.claimed++;
      if (claimed.attempt > 1) counts.lapsed++;
      holds.push({ id: claimed.id, holder });
    }
    const operations: (() => Promise<unknown>)[] = [
      async () => {
        const task = newTask({ kind: oneOf(KINDS), owner: oneOf(OWNERS), maxOpen: 8 });
        made.push(task);
        return store.create(task);
      },
      claim,
      claim,
      claim,
      () => store.answer(oneOf(made).id, [{ key: oneOf(["a", "b"]), answer: bytes("x") }]),
      () => store.renew(oneOf(holds), leaseMs(), oneOf([undefined, bytes("note")])),
      () => store.record(oneOf(holds), bytes("step"), leaseMs()),
      () => store.release(oneOf(holds)),
      () => {
        const phase = oneOf(["ready", "waiting", "waiting", "ended"] as const);
        const wakeMs = oneOf([0, FAR_MS]);
        return store.settle(oneOf(holds), { body: bytes("b"), phase, wakeMs, open: oneOf([["a"], ["a", "b"], []]) });
      },
      () => (randomInt(4) === 0 ? store.cancel(oneOf(made).id, bytes("c")) : Promise.resolve()),
    ];
    try {
      for (let count = 0; count < OPERATIONS; count++) {
        const operation = oneOf(holds.length === 0 || made.length < 3 ? operations.slice(0, 2) : operations);
        await operation();
        const { rows, sets, now } = await look(admin, base);
        expect(sets).toEqual(expectedSets(rows, sets, now));
      }
      for (const many of Object.values(counts)) expect(many).toBeGreaterThan(5);
    } finally {
      admin.disconnect();
      client.disconnect();
      await killServer(server);
    }
  });
});
