/** A server whose Redis dies in the middle of a task, and comes back with its file. */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createParley, type ParleyEvent, tool } from "../../src/index.ts";
import { redisTasks } from "../../src/tasks/redis.ts";
import { whenRedis } from "../contract/tasks-redis-world.ts";
import { serveFlows } from "../helpers/mounts.ts";
import { freePort, killServer, startRedis } from "../helpers/redis-server.ts";
import { TaskWire, textIn, yes } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

whenRedis("tasks while Redis is away", () => {
  it("are refused by name meanwhile, and go on after it: no finished step again, and one under the same key", async () => {
    const folder = mkdtempSync(join(tmpdir(), "parley-outage-"));
    const port = await freePort();
    const durable = ["--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
    let redis: ChildProcess = await startRedis(port, { args: durable });
    const done: string[] = [];
    let letGo = () => {};
    const job = tool("job", { background: {} }, async (_args, flow) => {
      await flow.step("first", ({ idempotencyKey }) => void done.push(`first ${idempotencyKey}`));
      await flow.confirm("go", "Go?");
      await flow.step("second", async ({ idempotencyKey }) => {
        done.push(`second ${idempotencyKey}`);
        await new Promise<void>((resolve) => (letGo = resolve));
      });
      return { content: [{ type: "text", text: "done" }] };
    });
    const events: ParleyEvent[] = [];
    const store = redisTasks({ url: `redis://127.0.0.1:${port}` }, { timeoutMs: 1_000 });
    const parley = createParley({
      keys: [Buffer.from("0123456789abcdef0123456789abcdef")],
      callers: "anonymous",
      tasks: { store, leaseMs: 1_000, lookMs: 100, drainMs: 50 },
      onEvent: (event) => events.push(event),
    });
    const server = await serveFlows("native", parley, [job]);
    const wire = new TaskWire(server.url);
    try {
      const [waiting, taskId] = [await wire.begin("job"), await wire.begin("job")];
      await wire.questions(waiting);
      await wire.questions(taskId);
      await wire.update(taskId, { go: yes });
      await until(() => (done.length === 3 ? true : undefined));
      await killServer(redis);
      expect((await wire.get(taskId)).error).toMatchObject({ code: -32603, data: { reason: "tasks_unavailable" } });
      expect((await wire.call("job")).error).toMatchObject({ data: { reason: "tasks_unavailable" } });
      letGo();
      await until(() => events.find(({ type }) => type === "task_runner_failed"));
      redis = await startRedis(port, { args: durable });
      await until(() => (done.length === 4 ? true : undefined));
      letGo();
      expect(textIn((await wire.ended(taskId))["result"])).toBe("done");
      expect(done.filter((step) => step.startsWith("first"))).toHaveLength(2);
      const second = done.filter((step) => step.startsWith("second"));
      expect([second.length, new Set(second).size]).toEqual([2, 1]);
      // The other waits as it did.
      expect(Object.keys(await wire.questions(waiting))).toEqual(["go"]);
    } finally {
      await server.close();
      await parley.close();
      await store.close();
      redis.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
