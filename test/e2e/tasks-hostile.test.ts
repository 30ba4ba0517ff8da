/** Tasks whose flows, stores and callers do what nobody should. */
import { ProtocolError } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, it } from "vitest";
import { type AnyFlow, createParley, type ParleyEvent, type ParleyOptions, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { serveFlows } from "../helpers/mounts.ts";
import { TaskWire, textIn } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const NEWER_KEY = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345");
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(flows: readonly AnyFlow[], options: ParleyOptions = {}) {
  const events: ParleyEvent[] = [];
  const parley = createParley({
    keys: [KEY],
    callers: "anonymous",
    tasks: { store: memoryTasks(), pollIntervalMs: 10, lookMs: 20, drainMs: 50, leaseMs: 100 },
    onEvent: (event) => events.push(event),
    ...options,
  });
  const server = await serveFlows("native", parley, flows);
  const close = async () => {
    await server.close();
    await parley.close();
  };
  closers.push(close);
  return { wire: new TaskWire(server.url), events, close };
}

describe("H16: what a flow ends with", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const result = (structuredContent: unknown) => ({ ...text("done"), structuredContent }) as ReturnType<typeof text>;

  /** The end of a task of such a flow, and how often it ran. */
  async function endOf(end: () => ReturnType<typeof text>) {
    let runs = 0;
    const served = await serve([
      tool("job", { background: {} }, () => {
        runs++;
        return end();
      }),
    ]);
    const task = await served.wire.ended(await served.wire.begin("job"));
    return { task, runs, events: served.events };
  }

  it("is its result", async () => {
    const { task, runs } = await endOf(() => result({ n: 1 }));
    expect([task["result"], runs]).toMatchObject([{ structuredContent: { n: 1 } }, 1]);
  });

  it.each<[string, () => ReturnType<typeof text>]>([
    ["a result with a bigint", () => result({ n: 1n })],
    ["a result that holds itself", () => result(circle)],
    [
      "an error of the protocol with such data",
      () => {
        throw new ProtocolError(-32_000, "no", circle);
      },
    ],
  ])("is a failure, told once, and no reason to run again, when it is no JSON: %s", async (_, end) => {
    const { task, runs, events } = await endOf(end);
    expect(task).toMatchObject({ status: "failed", error: { code: -32603, message: "Internal server error" } });
    expect(runs).toBe(1);
    const told = events.find(({ type }) => type === "task_ended");
    expect(told).toMatchObject({ status: "failed", error: { message: expect.stringMatching(/written as JSON/) } });
  });

  it("is a result that says so when what was thrown cannot be read", async () => {
    const { task, runs } = await endOf(() => {
      throw Object.create(null);
    });
    expect(task).toMatchObject({ status: "completed", result: { isError: true } });
    expect(textIn(task["result"])).toBe("something was thrown that cannot be read");
    expect(runs).toBe(1);
  });
});

describe("a task that is given back", () => {
  /** A tool that runs until its process closes; once `patient` is false it ends at once. */
  function job() {
    const state = { patient: true, runs: 0, begun: 0 };
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      state.begun++;
      await flow.step("before", () => state.runs++);
      await flow.step("work", ({ signal }) =>
        state.patient ? new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))) : 1,
      );
      return text("done");
    });
    return { state, flow };
  }
  const pace = { pollIntervalMs: 10, lookMs: 20, drainMs: 5 };

  it("by a process that closes is no nearer to being given up", async () => {
    const { state, flow } = job();
    const store = memoryTasks();
    const tasks = { store, ...pace, maxAttempts: 1 };
    let [served, taskId] = [await serve([flow], { tasks }), ""];
    for (let deployed = 0; deployed < 3; deployed++) {
      if (deployed === 0) taskId = await served.wire.begin("job");
      await until(() => (state.begun > deployed ? true : undefined));
      await served.close();
      state.patient = deployed < 2;
      served = await serve([flow], { tasks });
    }
    expect(textIn((await served.wire.ended(taskId))["result"])).toBe("done");
    expect(state.runs).toBe(1);
  });

  it("by a process that closes goes on elsewhere though its step does not let go, and holds up no closing", async () => {
    const store = memoryTasks();
    const tasks = { store, ...pace, leaseMs: 100 };
    let begun = 0;
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      await flow.step("work", () => (begun++ === 0 ? new Promise(() => {}) : 1));
      return text("done");
    });
    const first = await serve([flow], { tasks });
    const taskId = await first.wire.begin("job");
    await until(() => (begun === 1 ? true : undefined));
    await first.close();
    const second = await serve([flow], { tasks });
    expect(textIn((await second.wire.ended(taskId))["result"])).toBe("done");
  });

  it("C21: because its key is missing stands in nobody's way, and goes on when the key is back", async () => {
    const { state, flow } = job();
    const store = memoryTasks();
    const tasks = { store, ...pace, concurrency: 2, leaseMs: 600, maxAttempts: 1 };
    const first = await serve([flow], { tasks });
    const ids = [await first.wire.begin("job"), await first.wire.begin("job")];
    await until(() => (state.runs === 2 ? true : undefined));
    await first.close();
    state.patient = false;

    const dropped = await serve([flow], { tasks, keys: [NEWER_KEY] });
    const missing = () => dropped.events.filter(({ type }) => type === "task_runner_failed").length;
    await until(() => (missing() >= 2 ? true : undefined));
    const refused = await dropped.wire.get(String(ids[0]));
    expect(refused.error).toMatchObject({ code: -32603, data: { reason: "tasks_unavailable" } });
    // Both places of the only caller are free for another.
    const before = Date.now();
    await dropped.wire.ended(await dropped.wire.begin("job"));
    expect(Date.now() - before).toBeLessThan(500);
    await until(() => (missing() >= 4 ? true : undefined));
    await dropped.close();

    const restored = await serve([flow], { tasks, keys: [NEWER_KEY, KEY] });
    for (const id of ids) expect(textIn((await restored.wire.ended(id))["result"])).toBe("done");
    expect(state.runs).toBe(3);
  });
});

describe("a store of an author's own", () => {
  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["what cannot be read", Object.create(null)],
    ["text", "no route to store.internal"],
  ])("that throws %s is reported, takes nobody down, and is told to no caller", async (_, thrown) => {
    let away = true;
    const own = memoryTasks();
    const store = new Proxy(own, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as unknown;
        if (typeof method !== "function") return method;
        return (...args: unknown[]) => (away ? Promise.reject(thrown) : Reflect.apply(method, target, args));
      },
    });
    const flow = tool("job", { background: {} }, () => text("done"));
    const { wire, events } = await serve([flow], { tasks: { store, lookMs: 20 } });
    await until(() => events.find(({ type }) => type === "task_runner_failed"));
    for (const refused of [await wire.get("x"), await wire.call("job")]) {
      expect(refused.error).toMatchObject({ code: -32603, data: { reason: "tasks_unavailable" } });
      expect(JSON.stringify(refused)).not.toMatch(/internal"|route/);
    }
    away = false;
    expect(textIn((await wire.ended(await wire.begin("job")))["result"])).toBe("done");
  });
});
