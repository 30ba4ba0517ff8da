/** Who hears that a task is ready in Redis, and when. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, expect, it } from "vitest";
import type { NewTask, TaskHold, TaskStore } from "../../src/tasks/contract.ts";
import { until } from "../helpers/until.ts";
import { claimOf, RedisWorld, whenRedis } from "./tasks-redis-world.ts";
import { bytes, newTask } from "./tasks-suite.ts";

whenRedis("redis task store, watched", () => {
  const world = new RedisWorld();
  afterEach(() => world.close());
  afterAll(() => world.end());

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
    world.later(stop);
    return { taken, stop };
  }
  const count = (taken: readonly string[], least: number) => until(() => (taken.length >= least ? true : undefined));

  it("tells another process at once: created, answered, given back, when it is time, and when a lease is over", async () => {
    const [here, there] = [world.process(), world.process()];
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
    const [here, there] = [world.process(), world.process()];
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
    const [here, ...others] = [world.process(), world.process(), world.process(), world.process()];
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
    const [here, there] = [world.process(), world.process()];
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
    const channel = `{${world.prefix}alone:tasks}`;
    const listeners = async () => (await world.admin.pubsub("NUMSUB", channel))[1];
    const store = world.process(undefined, { prefix: `${world.prefix}alone:` });
    for (const end of [(stop?: () => Promise<void>) => stop?.(), () => store.close()]) {
      const stop = store.watch?.(async () => {}, 1);
      await until(async () => ((await listeners()) === 1 ? true : undefined));
      await end(stop);
      await until(async () => ((await listeners()) === 0 ? true : undefined));
    }
  });

  it("tells processes in a cluster, too", async () => {
    const connect = await world.startCluster();
    const [here, there] = [world.process(connect()), world.process(connect())];
    const task = newTask();
    let told = 0;
    world.later(
      there.watch?.(async () => {
        told++;
      }, 1) as () => Promise<void>,
    );
    await until(() => (told === 1 ? true : undefined));
    await here.create(task);
    await until(() => (told === 2 ? true : undefined));
  });
});
