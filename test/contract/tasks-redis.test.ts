import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Cluster, Redis } from "ioredis";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { NewTask, TaskClaimRequest, TaskHold, TaskStore } from "../../src/tasks/contract.ts";
import { type RedisTasksClient, redisTasks } from "../../src/tasks/redis.ts";
import { freePort, killServer, startRedis } from "../helpers/redis-server.ts";
import { until } from "../helpers/until.ts";
import { REDIS_URL, whenReachable } from "./servers.ts";
import { bytes, newTask, testTasks } from "./tasks-suite.ts";

const run = await whenReachable(`Redis at ${REDIS_URL}`, async () => {
  const probe = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
  probe.on("error", () => {});
  await probe.connect();
  probe.disconnect();
});

const newPrefix = () => `parley-test-${randomUUID()}:`;

async function keysUnder(client: Redis, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of client.scanStream({ match: `*${prefix}*`, count: 1_000 }))
    found.push(...(batch as string[]));
  return found;
}

testTasks(
  "redis",
  async () => {
    const prefix = newPrefix();
    const clients: Redis[] = [];
    const connect = () => {
      const client = new Redis(REDIS_URL);
      clients.push(client);
      return client;
    };
    const admin = connect();
    return {
      open: () => redisTasks(connect(), { prefix }),
      pass: (ms) => sleep(ms),
      end: async () => {
        const left = await keysUnder(admin, prefix);
        if (left.length > 0) await admin.del(...left);
        for (const client of clients) client.disconnect();
      },
    };
  },
  run,
);

testTasks(
  "redis, a cluster",
  async () => {
    const [port, folder] = [await freePort(), mkdtempSync(join(tmpdir(), "parley-tasks-cluster-"))];
    const args = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--dir", folder, "--save", ""];
    const server = await startRedis(port, { args });
    const admin = new Redis(port);
    await admin.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    await until(async () => ((await admin.cluster("INFO")).includes("cluster_state:ok") ? true : undefined));
    const clients: { disconnect(): void }[] = [admin];
    return {
      open: () => {
        const client = new Cluster([{ host: "127.0.0.1", port }]);
        clients.push(client);
        return redisTasks(client);
      },
      pass: (ms) => sleep(ms),
      end: async () => {
        for (const client of clients) client.disconnect();
        await killServer(server);
        rmSync(folder, { recursive: true, force: true });
      },
    };
  },
  run,
);

run("redis task store", () => {
  const prefix = newPrefix();
  let admin: Redis;
  const servers: ChildProcess[] = [];
  const folder = mkdtempSync(join(tmpdir(), "parley-tasks-redis-"));
  const closers: (() => unknown)[] = [];
  beforeAll(() => {
    admin = new Redis(REDIS_URL);
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  afterAll(async () => {
    const left = await keysUnder(admin, prefix);
    if (left.length > 0) await admin.del(...left);
    admin.disconnect();
    for (const server of servers) server.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  /** One more process, on a connection of its own. */
  function process(source: RedisTasksClient | { url: string } = { url: REDIS_URL }, more: object = {}): TaskStore {
    const store = redisTasks(source, { prefix, ...more });
    closers.push(() => store.close());
    return store;
  }
  const start = (port: number, args?: readonly string[]) =>
    startRedis(port, { ...(args && { args }), onSpawn: (server) => servers.push(server) });
  const claimOf = (task: NewTask, more: Partial<TaskClaimRequest> = {}): TaskClaimRequest => ({
    holder: randomUUID(),
    kinds: [task.kind],
    leaseMs: 60_000,
    perOwner: 10,
    ...more,
  });

  it("C14: keeps every key under one hash tag with an end, and nothing of a task that is over", async () => {
    const own = `${prefix}ends:`;
    const store = process(undefined, { prefix: own });
    const lives = { lifeMs: 400, keepMs: 100 };
    const [waiting, ended, held] = [newTask(lives), newTask(lives), newTask(lives)];
    for (const task of [waiting, ended, held]) await store.create(task);
    const hold = { id: ended.id, ...claimOf(ended) };
    await store.claim(hold);
    await store.record(hold, bytes("step"), 1_000);
    await store.answer(waiting.id, [{ key: "q", answer: bytes("a") }]);
    expect((await keysUnder(admin, own)).length).toBeGreaterThan(8);
    await store.settle(hold, { body: bytes("end"), phase: "ended", open: [] });
    await store.claim(claimOf(held, { leaseMs: 50 }));
    const keys = await keysUnder(admin, own);
    expect(keys.filter((key) => key.includes(ended.id))).toEqual([`{${own}tasks}:task:${ended.id}`]);
    expect(keys.filter((key) => key.includes(ended.owner) || key.includes(ended.kind))).toEqual([]);
    for (const key of keys) {
      expect(key.startsWith(`{${own}tasks}:`)).toBe(true);
      expect(await admin.pttl(key), key).toBeGreaterThan(0);
    }
    await sleep(600);
    expect(await keysUnder(admin, own)).toEqual([]);
  });

  it("keeps its keys behind ioredis's own prefix, too", async () => {
    const client = new Redis(REDIS_URL, { keyPrefix: prefix });
    closers.push(() => client.disconnect());
    const store = process(client, { prefix: "p:" });
    const task = newTask();
    await store.create(task);
    expect(await admin.exists(`${prefix}{p:tasks}:task:${task.id}`)).toBe(1);
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
    await start(port);
    const url = `redis://127.0.0.1:${port}`;
    const [store, server] = [process({ url }), new Redis(url)];
    closers.push(() => server.disconnect());
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
    const store = process(undefined, { prefix: `${prefix}over:` });
    const first = newTask({ maxOpen: 1_000 });
    const over = Array.from({ length: 300 }, () => newTask({ ...first, id: randomUUID(), lifeMs: 600 }));
    expect(new Set(await Promise.all(over.map((task) => store.create(task))))).toEqual(new Set(["created"]));
    await sleep(2);
    await store.create(first);
    await sleep(700);
    expect((await store.claim(claimOf(first)))?.id).toBe(first.id);
  });

  it("passes over any number of tasks whose lease is over and that others run", async () => {
    const store = process(undefined, { prefix: `${prefix}lapsed:` });
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
    closers.push(() => client.disconnect());
    const twice = {
      ...quietClient(client),
      callBuffer: async (command: string, args: (string | Buffer | number)[]) => {
        await client.callBuffer(command, args);
        return client.callBuffer(command, args);
      },
    };
    const [store, doubling] = [process(client), redisTasks(twice, { prefix })];
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
    const store = process();
    const first = newTask();
    await store.create(first);
    await sleep(2);
    const second = newTask({ kind: first.kind, owner: first.owner });
    await store.create(second);
    await admin.del(`{${prefix}tasks}:task:${first.id}`);
    expect((await store.claim(claimOf(first)))?.id).toBe(second.id);
    expect(await store.claim(claimOf(first))).toBeUndefined();
  });

  it("names a bad option", () => {
    expect(() => redisTasks({ url: REDIS_URL }, { timeoutMs: -1 })).toThrow(/redisTasks: option timeoutMs/);
    expect(() => redisTasks({ url: REDIS_URL }, { prefix: 1 as never })).toThrow(/redisTasks: option prefix/);
  });

  describe("watch", () => {
    /** A process that runs what it is told of, by what `run` does with it. */
    function runner(
      store: TaskStore,
      task: NewTask,
      slots: number,
      run: (hold: TaskHold) => Promise<void>,
      leaseMs: (run: number) => number = () => 60_000,
    ) {
      const taken: string[] = [];
      const stop = store.watch?.(async () => {
        const holder = randomUUID();
        const claimed = await store.claim(claimOf(task, { holder, leaseMs: leaseMs(taken.length) }));
        if (claimed === undefined) return;
        taken.push(claimed.id);
        await run({ id: claimed.id, holder });
      }, slots) as () => Promise<void>;
      closers.push(stop);
      return { taken, stop };
    }
    const count = (taken: readonly string[], least: number) => until(() => (taken.length >= least ? true : undefined));

    it("tells another process at once: created, answered, given back, when it is time, and when a lease is over", async () => {
      const [here, there] = [process(), process()];
      const task = newTask();
      const waiting = { body: task.body, phase: "waiting", open: ["q"] } as const;
      const runs = [
        (hold: TaskHold) => there.settle(hold, waiting),
        (hold: TaskHold) => there.release(hold),
        (hold: TaskHold) => there.settle(hold, { ...waiting, phase: "ready", wakeMs: 300, open: [] }),
        // Goes silent.
        async () => {},
        (hold: TaskHold) => there.settle(hold, { ...waiting, phase: "ended" }),
      ];
      const silent = runs.length - 2;
      const { taken } = runner(
        there,
        task,
        2,
        async (hold) => {
          await runs[taken.length - 1]?.(hold);
        },
        (run) => (run === silent ? 400 : 60_000),
      );
      // It listens, and nothing but a word sets it going.
      await sleep(300);
      const began = performance.now();
      await here.create(task);
      await count(taken, 1);
      await until(async () => ((await here.read(task.id))?.phase === "waiting" ? true : undefined));
      await here.answer(task.id, [{ key: "q", answer: bytes("a") }]);
      await count(taken, 3);
      const gone = performance.now();
      expect(gone - began).toBeLessThan(5_000);
      await count(taken, 5);
      expect(performance.now() - gone).toBeLessThan(10_000);
      await until(async () => ((await here.read(task.id))?.phase === "ended" ? true : undefined));
    });

    it("takes all that is ready when it begins, no more than its slots at the same time", async () => {
      const [here, there] = [process(), process()];
      const first = newTask();
      const tasks = [first, ...Array.from({ length: 9 }, () => newTask({ kind: first.kind, owner: first.owner }))];
      for (const task of tasks) await here.create(task);
      let [now, peak] = [0, 0];
      const { taken } = runner(there, first, 3, async (hold) => {
        peak = Math.max(peak, ++now);
        await sleep(20);
        now--;
        await there.settle(hold, { body: first.body, phase: "ended", open: [] });
      });
      await count(taken, 10);
      expect([...taken].sort()).toEqual(tasks.map(({ id }) => id).sort());
      expect(peak).toBe(3);
    });

    it("hands each task to one of several processes that hear of it together", async () => {
      const [here, ...others] = [process(), process(), process(), process()];
      const first = newTask({ maxOpen: 200 });
      const runners = others.map((store) =>
        runner(store, first, 50, async (hold) => {
          await store.settle(hold, { body: first.body, phase: "ended", open: [] });
        }),
      );
      const taken = () => runners.flatMap((one) => one.taken);
      await here.create(first);
      const more = Array.from({ length: 99 }, () => newTask({ kind: first.kind, owner: first.owner, maxOpen: 200 }));
      await Promise.all(more.map((task) => here.create(task)));
      await until(() => (taken().length >= 100 ? true : undefined));
      expect(new Set(taken()).size).toBe(100);
      expect(taken()).toHaveLength(100);
    });

    it("ends with the last run, and hears nothing after that", async () => {
      const [here, there] = [process(), process()];
      const task = newTask();
      let letGo = () => {};
      const { taken, stop } = runner(there, task, 1, () => new Promise((resolve) => (letGo = resolve)));
      await here.create(task);
      await count(taken, 1);
      // Its slot is taken, so it would look after the run.
      await here.create(newTask({ kind: task.kind }));
      await sleep(100);
      let stopped = false;
      const stopping = stop().then(() => {
        stopped = true;
      });
      await here.create(newTask({ kind: task.kind }));
      await sleep(100);
      expect([stopped, taken.length]).toEqual([false, 1]);
      letGo();
      await stopping;
      await sleep(100);
      expect(taken).toHaveLength(1);
    });

    it("keeps no connection when it is stopped, or its store is closed", async () => {
      const channel = `{${prefix}alone:tasks}`;
      const listeners = async () => (await admin.pubsub("NUMSUB", channel))[1];
      const store = process(undefined, { prefix: `${prefix}alone:` });
      for (const end of [(stop?: () => Promise<void>) => stop?.(), () => store.close()]) {
        const stop = store.watch?.(async () => {}, 1);
        await until(async () => ((await listeners()) === 1 ? true : undefined));
        await end(stop);
        await until(async () => ((await listeners()) === 0 ? true : undefined));
      }
    });
  });

  describe("faults", () => {
    const durable = () => ["--dir", mkdtempSync(join(folder, "d")), "--appendonly", "yes", "--appendfsync", "always"];

    it.each(["its own client", "a client handed in"])(
      "%s: killed, fails closed quickly; back with its file, goes on, and hears again of what is ready",
      async (whose) => {
        const port = await freePort();
        const args = [...durable(), "--save", ""];
        let server = await start(port, args);
        const url = `redis://127.0.0.1:${port}`;
        const client = new Redis(url);
        client.on("error", () => {});
        closers.push(() => client.disconnect());
        const store = process(whose === "its own client" ? { url } : client);
        const task = newTask();
        await store.create(task);
        const hold = { id: task.id, ...claimOf(task) };
        await store.claim(hold);
        await store.record(hold, bytes("step"), 400);
        let told = 0;
        const stop = store.watch?.(async () => {
          told++;
        }, 1);
        await until(() => (told > 0 ? true : undefined));
        await killServer(server);
        for (let count = 0; count < 3; count++) {
          const begun = performance.now();
          await expect(store.record(hold, bytes("lost"), 400)).rejects.toMatchObject({
            code: "tasks_unavailable",
            message: expect.stringMatching(/^The redis task store failed closed at record: /),
          });
          expect(performance.now() - begun).toBeLessThan(2_000);
        }
        const before = told;
        server = await start(port, args);
        // It listens again, and looks for what was said meanwhile.
        await until(() => (told > before ? true : undefined));
        const again = await until(() => store.claim(claimOf(task)).catch(() => undefined));
        expect([again.id, again.attempt, again.steps.map(String)]).toEqual([task.id, 2, ["step"]]);
        const heard = told;
        await store.create(newTask());
        await until(() => (told > heard ? true : undefined));
        await stop?.();
        await killServer(server);
      },
    );

    it("an answer that comes too late is a failure and never a win; the lease frees the task", async () => {
      const port = await freePort();
      const server = await start(port);
      const client = new Redis(port);
      closers.push(() => client.disconnect());
      const store = process(client, { timeoutMs: 200 });
      const task = newTask();
      // From now on the server knows the script.
      expect(await store.claim(claimOf(task))).toBeUndefined();
      await store.create(task);
      server.kill("SIGSTOP");
      const begun = performance.now();
      await expect(store.claim(claimOf(task, { leaseMs: 300 }))).rejects.toMatchObject({ code: "tasks_unavailable" });
      expect(performance.now() - begun).toBeLessThan(1_500);
      server.kill("SIGCONT");
      await sleep(50);
      expect(await store.claim(claimOf(task))).toBeUndefined();
      await sleep(400);
      expect(await store.claim(claimOf(task))).toMatchObject({ id: task.id, attempt: 2 });
    });

    it("nobody listens, or it is closed: tasks_unavailable, and a watch ends all the same", async () => {
      const store = process({ url: `redis://127.0.0.1:${await freePort()}` });
      const stop = store.watch?.(async () => {}, 1);
      await expect(store.read("x")).rejects.toMatchObject({ code: "tasks_unavailable", cause: expect.any(Error) });
      await stop?.();
      await store.close();
      await expect(store.read("x")).rejects.toMatchObject({ message: expect.stringMatching(/it is closed/) });
    });

    it("refuses a task when its memory is full, and loses none", async () => {
      const port = await freePort();
      await start(port);
      const url = `redis://127.0.0.1:${port}`;
      const [store, server] = [process({ url }), new Redis(url)];
      closers.push(() => server.disconnect());
      const task = newTask();
      await store.create(task);
      await server.config("SET", "maxmemory-policy", "noeviction");
      await server.config("SET", "maxmemory", "1mb");
      await expect(store.create(newTask())).rejects.toMatchObject({
        code: "tasks_unavailable",
        message: expect.stringMatching(/OOM/),
      });
      expect(await store.read(task.id)).toMatchObject({ phase: "ready" });
      await server.config("SET", "maxmemory", "0");
      expect((await store.claim(claimOf(task)))?.id).toBe(task.id);
    });
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
