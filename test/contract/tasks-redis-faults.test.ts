/** What becomes of tasks when their Redis is killed, late, full or away. */
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, afterEach, expect, it } from "vitest";
import { freePort, killServer } from "../helpers/redis-server.ts";
import { until } from "../helpers/until.ts";
import { claimOf, RedisWorld, whenRedis } from "./tasks-redis-world.ts";
import { bytes, newTask } from "./tasks-suite.ts";

whenRedis("redis task store, faults", () => {
  const world = new RedisWorld();
  afterEach(() => world.close());
  afterAll(() => world.end());

  const durable = () => ["--dir", world.folder(), "--appendonly", "yes", "--appendfsync", "always"];

  it.each(["its own client", "a client handed in"])(
    "%s: killed, fails closed quickly; back with its file, goes on, and hears again of what is ready",
    async (whose) => {
      const port = await freePort();
      const args = [...durable(), "--save", ""];
      let server = await world.start(port, args);
      const url = `redis://127.0.0.1:${port}`;
      const client = new Redis(url);
      client.on("error", () => {});
      world.later(() => client.disconnect());
      const store = world.process(whose === "its own client" ? { url } : client);
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
      server = await world.start(port, args);
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
    const server = await world.start(port);
    const client = new Redis(port);
    world.later(() => client.disconnect());
    const store = world.process(client, { timeoutMs: 200 });
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
    const store = world.process({ url: `redis://127.0.0.1:${await freePort()}` });
    const stop = store.watch?.(async () => {}, 1);
    await expect(store.read("x")).rejects.toMatchObject({ code: "tasks_unavailable", cause: expect.any(Error) });
    await stop?.();
    await store.close();
    await expect(store.read("x")).rejects.toMatchObject({ message: expect.stringMatching(/it is closed/) });
  });

  it("refuses a task when its memory is full, and loses none", async () => {
    const port = await freePort();
    await world.start(port);
    const url = `redis://127.0.0.1:${port}`;
    const [store, server] = [world.process({ url }), new Redis(url)];
    world.later(() => server.disconnect());
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
