import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, afterEach, expect, it } from "vitest";
import type { NewTask } from "../../src/tasks/contract.ts";
import { redisTasks } from "../../src/tasks/redis.ts";
import { freePort } from "../helpers/redis-server.ts";
import { until } from "../helpers/until.ts";
import { REDIS_URL } from "./servers.ts";
import { claimOf, RedisWorld, whenRedis } from "./tasks-redis-world.ts";
import { bytes, newTask, testTasks } from "./tasks-suite.ts";

testTasks(
  "redis",
  async () => {
    const world = new RedisWorld();
    return { open: () => world.process(), pass: (ms) => sleep(ms), end: () => world.end() };
  },
  whenRedis,
);

testTasks(
  "redis, a cluster",
  async () => {
    const world = new RedisWorld();
    const connect = await world.startCluster();
    return { open: () => world.process(connect()), pass: (ms) => sleep(ms), end: () => world.end() };
  },
  whenRedis,
);

whenRedis("redis task store", () => {
  const world = new RedisWorld();
  afterEach(() => world.close());
  afterAll(() => world.end());

  it("C14: keeps every key under one hash tag with an end, and nothing of a task that is over", async () => {
    const own = `${world.prefix}ends:`;
    const store = world.process(undefined, { prefix: own });
    const lives = { lifeMs: 400, keepMs: 100 };
    const [waiting, ended, held] = [newTask(lives), newTask(lives), newTask(lives)];
    for (const task of [waiting, ended, held]) await store.create(task);
    const hold = { id: ended.id, ...claimOf(ended) };
    await store.claim(hold);
    await store.record(hold, bytes("step"), 1_000);
    await store.answer(waiting.id, [{ key: "q", answer: bytes("a") }]);
    expect((await world.keysUnder(own)).length).toBeGreaterThan(8);
    await store.settle(hold, { body: bytes("end"), phase: "ended", open: [] });
    await store.claim(claimOf(held, { leaseMs: 50 }));
    const keys = await world.keysUnder(own);
    expect(keys.filter((key) => key.includes(ended.id))).toEqual([`{${own}tasks}:task:${ended.id}`]);
    expect(keys.filter((key) => key.includes(ended.owner) || key.includes(ended.kind))).toEqual([]);
    for (const key of keys) {
      expect(key.startsWith(`{${own}tasks}:`)).toBe(true);
      expect(await world.admin.pttl(key), key).toBeGreaterThan(0);
    }
    await sleep(600);
    expect(await world.keysUnder(own)).toEqual([]);
  });

  it("keeps its keys behind ioredis's own prefix, too", async () => {
    const client = new Redis(REDIS_URL, { keyPrefix: world.prefix });
    world.later(() => client.disconnect());
    const store = world.process(client, { prefix: "p:" });
    const task = newTask();
    await store.create(task);
    expect(await world.admin.exists(`${world.prefix}{p:tasks}:task:${task.id}`)).toBe(1);
    let taken = 0;
    const stop = store.watch?.(async () => {
      taken++;
    }, 1);
    await until(() => (taken === 1 ? true : undefined));
    await store.create(newTask());
    await until(() => (taken === 2 ? true : undefined));
    await stop?.();
  });

  it("looks at few of ten thousand tasks, whoever they belong to", async () => {
    const port = await freePort();
    await world.start(port);
    const url = `redis://127.0.0.1:${port}`;
    const [store, server] = [world.process({ url }), new Redis(url)];
    world.later(() => server.disconnect());
    const first = newTask({ maxOpen: 20_000 });
    const more = () => newTask({ kind: first.kind, owner: first.owner, maxOpen: 20_000 });
    await store.create(first);
    await store.claim(claimOf(first));
    for (let batch = 0; batch < 50; batch++) await Promise.all(Array.from({ length: 200 }, () => store.create(more())));
    await sleep(2);
    const other = newTask({ kind: first.kind });
    await store.create(other);
    await server.config("RESETSTAT");
    expect((await store.claim(claimOf(first, { perOwner: 1 })))?.id).toBe(other.id);
    expect(await store.claim(claimOf(first, { perOwner: 1 }))).toBeUndefined();
    const stats = await server.info("commandstats");
    const calls = [...stats.matchAll(/calls=(\d+)/g)].reduce((sum, match) => sum + Number(match[1]), 0);
    expect(calls).toBeGreaterThan(10);
    expect(calls).toBeLessThan(60);
  });

  it("passes over any number of tasks whose life is over", async () => {
    const store = world.process(undefined, { prefix: `${world.prefix}over:` });
    const first = newTask({ maxOpen: 1_000 });
    const over = Array.from({ length: 300 }, () => newTask({ ...first, id: randomUUID(), lifeMs: 600 }));
    expect(new Set(await Promise.all(over.map((task) => store.create(task))))).toEqual(new Set(["created"]));
    await sleep(2);
    await store.create(first);
    await sleep(700);
    expect((await store.claim(claimOf(first)))?.id).toBe(first.id);
  });

  it("passes over any number of tasks whose lease is over and that others run", async () => {
    const store = world.process(undefined, { prefix: `${world.prefix}lapsed:` });
    const first = newTask();
    const others = Array.from({ length: 300 }, () => newTask({ kind: "others" }));
    await Promise.all([first, ...others].map((task) => store.create(task)));
    const claims = others.map(() => store.claim(claimOf(others[0] as NewTask, { leaseMs: 500 })));
    expect(await Promise.all(claims)).not.toContain(undefined);
    await store.claim(claimOf(first, { leaseMs: 550 }));
    await sleep(700);
    expect(await store.claim(claimOf(first))).toMatchObject({ id: first.id, attempt: 2 });
  });

  it("a step sent twice by a client that reconnected is recorded once, and steps keep their order", async () => {
    const client = new Redis(REDIS_URL);
    world.later(() => client.disconnect());
    const twice = {
      ...quietClient(client),
      callBuffer: async (command: string, args: (string | Buffer | number)[]) => {
        await client.callBuffer(command, args);
        return client.callBuffer(command, args);
      },
    };
    const [store, doubling] = [world.process(client), redisTasks(twice, { prefix: world.prefix })];
    const task = newTask();
    await store.create(task);
    const hold = { id: task.id, ...claimOf(task) };
    await store.claim(hold);
    const entries = Array.from({ length: 200 }, (_, at) => `${at}:${"x".repeat(at)}`);
    for (const entry of entries) expect(await doubling.record(hold, bytes(entry), 60_000)).toBe(true);
    await store.release(hold);
    expect((await store.claim(claimOf(task)))?.steps.map(String)).toEqual(entries);
  });

  it("passes over a task that was evicted", async () => {
    const store = world.process();
    const first = newTask();
    await store.create(first);
    await sleep(2);
    const second = newTask({ kind: first.kind, owner: first.owner });
    await store.create(second);
    await world.admin.del(`{${world.prefix}tasks}:task:${first.id}`);
    expect((await store.claim(claimOf(first)))?.id).toBe(second.id);
    expect(await store.claim(claimOf(first))).toBeUndefined();
  });

  it("names a bad option", () => {
    expect(() => redisTasks({ url: REDIS_URL }, { timeoutMs: -1 })).toThrow(/redisTasks: option timeoutMs/);
    expect(() => redisTasks({ url: REDIS_URL }, { prefix: 1 as never })).toThrow(/redisTasks: option prefix/);
  });
});

function quietClient(client: Redis) {
  return {
    status: "ready",
    connect: () => client.connect(),
    disconnect: () => {},
    duplicate: () => client.duplicate(),
    on: () => client,
    once: () => client,
    off: () => client,
  };
}
