/** Questions of a task that are put beside a step that runs: seen, answered and asked again before it has ended. */
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createParley,
  type Flow,
  type Parley,
  type ParleyEvent,
  type ParleyOptions,
  type TaskStore,
  tool,
} from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { serveFlows } from "../helpers/mounts.ts";
import { mortal, TASKS, TaskWire, textIn, type Wire, yes } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
const valueIn = (task: Wire) => JSON.parse(textIn(task["result"]) ?? "null");
const keysIn = ({ inputRequests }: Wire) => Object.keys((inputRequests ?? {}) as object);
const size = (cm: number) => ({ action: "accept", content: { cm } });
const sizeForm = { message: "Size?", schema: z.object({ cm: z.number().refine((cm) => cm > 0, "must be above 0") }) };

const unfinished = new Set<() => void>();
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of unfinished) end();
  for (const close of closers.splice(0).reverse()) await close();
});

/** The outside world: work that ends when it is told to, and a count of what was done. */
class Work {
  readonly done: string[] = [];
  readonly #waiting = new Map<string, () => void>();

  /** A step that goes on until `finish`. */
  long(flow: Flow, name: string): Promise<unknown> {
    return flow.step(name, async () => {
      await new Promise<void>((resolve) => {
        this.#waiting.set(name, resolve);
        unfinished.add(resolve);
      });
      this.done.push(name);
      return name;
    });
  }

  short(flow: Flow, name: string): Promise<unknown> {
    return flow.step(name, () => {
      this.done.push(name);
      return name;
    });
  }

  async finish(name: string): Promise<void> {
    (await until(() => this.#waiting.get(name)))();
    this.#waiting.delete(name);
  }

  runs(name: string): Promise<true> {
    return until(() => (this.#waiting.has(name) ? true : undefined));
  }
}

interface Served {
  readonly wire: TaskWire;
  readonly events: ParleyEvent[];
  readonly parley: Parley;
}

async function serve(
  handler: (flow: Flow) => Promise<unknown>,
  store: TaskStore = memoryTasks(),
  options: ParleyOptions = {},
  // Nothing is found by looking, unless a test says so: who is told must act.
  { leaseMs = 30_000, lookMs = 60_000, name = "job" } = {},
): Promise<Served> {
  const events: ParleyEvent[] = [];
  const job = tool(name, { background: {} }, async (_args, flow) => text(await handler(flow)));
  const parley = createParley({
    keys: [KEY],
    callers: "anonymous",
    tasks: { store, pollIntervalMs: 10, drainMs: 50, lookMs, leaseMs },
    onEvent: (event) => events.push(event),
    ...options,
  });
  const server = await serveFlows("native", parley, [job]);
  closers.push(async () => {
    await server.close();
    await parley.close();
  });
  return { wire: new TaskWire(server.url), events, parley };
}

describe.each(["when-needed", "every-step"] as const)("a question beside a step, replay %s", (replay) => {
  it("H14, H17: is shown while the step runs, and its answer is taken before the step has ended", async () => {
    const work = new Work();
    const { wire } = await serve(
      async (flow) => {
        const asked = async () => {
          const sure = await flow.confirm("approve", "Approve?");
          return [sure, await work.short(flow, "after")];
        };
        return Promise.all([work.long(flow, "build"), asked()]);
      },
      memoryTasks(),
      { replay },
    );
    const taskId = await wire.begin("job");
    await work.runs("build");
    expect(Object.keys(await wire.questions(taskId))).toEqual(["approve"]);
    await wire.update(taskId, { approve: yes });
    await until(() => (work.done.includes("after") ? true : undefined));
    expect(work.done).toEqual(["after"]);
    // H14: from input_required back to working, with nothing left to answer.
    expect((await wire.get(taskId)).result).toMatchObject({ status: "working" });
    await work.finish("build");
    expect(valueIn(await wire.ended(taskId))).toEqual(["build", [true, "after"]]);
    expect(work.done).toEqual(["after", "build"]);
  });

  it("H17, H26: all that are asked at once are shown at once, and one that is answered vanishes", async () => {
    const work = new Work();
    const { wire } = await serve(
      (flow) => Promise.all([work.long(flow, "build"), flow.confirm("a", "A?"), flow.confirm("b", "B?")]),
      memoryTasks(),
      { replay },
    );
    const taskId = await wire.begin("job");
    expect(Object.keys(await wire.questions(taskId))).toEqual(["a", "b"]);
    // Keys that are not out are ignored.
    await wire.update(taskId, { b: yes, c: yes, "a~2": yes });
    expect((await wire.get(taskId)).result).toMatchObject({ status: "input_required" });
    expect(keysIn((await wire.get(taskId)).result as Wire)).toEqual(["a"]);
    // The first answer counts.
    await wire.update(taskId, { b: { action: "decline" }, a: yes });
    await work.finish("build");
    expect(valueIn(await wire.ended(taskId))).toEqual(["build", true, true]);
  });

  it("H24: is asked again under a new key and with the reason, and is bounded, all beside the step", async () => {
    const work = new Work();
    const { wire } = await serve(
      (flow) => Promise.all([work.long(flow, "build"), flow.outcome.form("size", sizeForm)]),
      memoryTasks(),
      { replay },
    );
    const taskId = await wire.begin("job");
    await wire.questions(taskId);
    for (const [answered, again] of [
      ["size", "size~2"],
      ["size~2", "size~3"],
    ] as const) {
      await wire.update(taskId, { [answered]: size(-1) });
      const task = await wire.when(taskId, (task) => keysIn(task).includes(again));
      expect(keysIn(task)).toEqual([again]);
      expect(JSON.stringify(task["inputRequests"])).toContain("must be above 0");
    }
    await wire.update(taskId, { "size~3": size(-1) });
    await wire.when(taskId, ({ status }) => status === "working");
    await work.finish("build");
    expect(valueIn(await wire.ended(taskId))).toEqual([
      "build",
      { action: "invalid", reason: expect.stringContaining("must be above 0") },
    ]);
  });

  it("keeps its key when the step ends first, and waits in no process", async () => {
    const work = new Work();
    const { wire, parley } = await serve(
      (flow) => Promise.all([work.long(flow, "build"), flow.confirm("approve", "Approve?")]),
      memoryTasks(),
      { replay },
    );
    const taskId = await wire.begin("job");
    await wire.questions(taskId);
    await work.finish("build");
    await until(() => (work.done.includes("build") ? true : undefined));
    expect(keysIn((await wire.get(taskId)).result as Wire)).toEqual(["approve"]);
    await parley.close();
    expect(keysIn((await wire.get(taskId)).result as Wire)).toEqual(["approve"]);
  });
});

describe("a question beside a step, and who may see it", () => {
  it("A11: is not shown to a task whose call did not declare it, which fails when the step has ended", async () => {
    const work = new Work();
    const { wire } = await serve((flow) =>
      Promise.all([work.long(flow, "build"), flow.confirm("approve", "Approve?")]),
    );
    wire.capabilities = TASKS;
    const taskId = await wire.begin("job");
    await work.runs("build");
    expect((await wire.get(taskId)).result).toMatchObject({ status: "working" });
    await work.finish("build");
    expect((await wire.ended(taskId))["error"]).toMatchObject({ code: -32021 });
  });

  it("fails at once when more are asked than may be out", async () => {
    const work = new Work();
    const { wire } = await serve(
      (flow) => Promise.all([work.long(flow, "build"), flow.confirm("a", "A?"), flow.confirm("b", "B?")]),
      memoryTasks(),
      { limits: { questions: 1 } },
    );
    const task = await wire.ended(await wire.begin("job"));
    expect(task["error"]).toMatchObject({ data: { reason: "limit_exceeded" } });
  });

  it("H28: an answer to a task that was cancelled begins nothing", async () => {
    const work = new Work();
    const { wire } = await serve(async (flow) => {
      const asked = flow.confirm("approve", "Approve?").then(() => work.short(flow, "after"));
      return Promise.all([work.long(flow, "build"), asked]);
    });
    const taskId = await wire.begin("job");
    await wire.questions(taskId);
    await wire.cancel(taskId);
    await wire.update(taskId, { approve: yes });
    await work.finish("build");
    expect(await wire.ended(taskId)).toMatchObject({ status: "cancelled" });
    expect(work.done).toEqual(["build"]);
  });
});

describe("a question beside a step whose process goes away", () => {
  it("H24: stays shown under its key, and what was answered is taken up where the task goes on", async () => {
    const store = memoryTasks();
    const { store: mine, die } = mortal(store);
    const asks = (work: Work) => (flow: Flow) =>
      Promise.all([work.long(flow, "build"), flow.form("size", sizeForm), flow.confirm("approve", "Approve?")]);
    const first = new Work();
    const one = await serve(asks(first), mine, {}, { leaseMs: 150 });
    const taskId = await one.wire.begin("job");
    await one.wire.questions(taskId);
    await one.wire.update(taskId, { size: size(-1) });
    await one.wire.when(taskId, (task) => keysIn(task).includes("size~2"));
    die();
    closers.pop();
    const second = new Work();
    const two = await serve(asks(second), store, {}, { leaseMs: 150, lookMs: 20 });
    // Nobody runs it now, and what was put is still out.
    expect(keysIn((await two.wire.get(taskId)).result as Wire)).toEqual(["size~2", "approve"]);
    await second.runs("build");
    expect(keysIn((await two.wire.get(taskId)).result as Wire)).toEqual(["size~2", "approve"]);
    await two.wire.update(taskId, { "size~2": size(3), approve: yes });
    await two.wire.when(taskId, ({ status }) => status === "working");
    await second.finish("build");
    expect(valueIn(await two.wire.ended(taskId))).toEqual(["build", { cm: 3 }, true]);
  });

  it("takes the answer that came first again, though the store holds another by then", async () => {
    const store = memoryTasks();
    const { store: mine, die } = mortal(store);
    const asks = (work: Work) => async (flow: Flow) => {
      const won = (key: string) => flow.confirm(key, `${key}?`).then(() => key);
      return work.long(flow, `did-${await Promise.race([won("a"), won("b")])}`);
    };
    const first = new Work();
    const one = await serve(asks(first), mine, {}, { leaseMs: 150 });
    const taskId = await one.wire.begin("job");
    expect(Object.keys(await one.wire.questions(taskId))).toEqual(["a", "b"]);
    await one.wire.update(taskId, { b: yes });
    await first.runs("did-b");
    await one.wire.update(taskId, { a: yes });
    die();
    closers.pop();
    const second = new Work();
    const two = await serve(asks(second), store, {}, { leaseMs: 150, lookMs: 20 });
    await second.finish("did-b");
    expect(valueIn(await two.wire.ended(taskId))).toBe("did-b");
    expect(second.done).toEqual(["did-b"]);
  });

  it("is shown by the next process when the one that put it on record died before it said so", async () => {
    const store = memoryTasks();
    let records = 0;
    const silent: TaskStore = {
      ...store,
      record: (...args) => store.record(...args).finally(() => records++),
      renew: (hold, leaseMs) => store.renew(hold, leaseMs),
    };
    const { store: mine, die } = mortal(silent);
    const asks = (work: Work) => (flow: Flow) =>
      Promise.all([work.long(flow, "build"), flow.confirm("approve", "Approve?")]);
    const one = await serve(asks(new Work()), mine, {}, { leaseMs: 150 });
    const taskId = await one.wire.begin("job");
    await until(() => (records === 1 ? true : undefined));
    expect((await one.wire.get(taskId)).result).toMatchObject({ status: "working" });
    die();
    closers.pop();
    const work = new Work();
    const two = await serve(asks(work), store, {}, { leaseMs: 150, lookMs: 20 });
    expect(Object.keys(await two.wire.questions(taskId))).toEqual(["approve"]);
    await work.finish("build");
  });
});

describe("a question beside a step, between processes", () => {
  it("takes up an answer that another process stored", async () => {
    const store = memoryTasks();
    const work = new Work();
    const asks = (flow: Flow) =>
      Promise.all([
        work.long(flow, "build"),
        flow.confirm("approve", "Approve?").then(() => work.short(flow, "after")),
      ]);
    const runner = await serve(asks, store, {}, { lookMs: 20 });
    const taskId = await runner.wire.begin("job");
    await runner.wire.questions(taskId);
    const front = await serve(async () => undefined, store, {}, { name: "other" });
    expect(Object.keys(await front.wire.questions(taskId))).toEqual(["approve"]);
    await front.wire.update(taskId, { approve: yes });
    await until(() => (work.done.includes("after") ? true : undefined));
    await work.finish("build");
    expect(valueIn(await front.wire.ended(taskId))).toEqual(["build", "after"]);
  });

  it("H17: is never shown without what was asked with it, however slow the store is", async () => {
    const store = memoryTasks();
    const slow: TaskStore = {
      ...store,
      renew: async (...args) => {
        await new Promise((resolve) => setTimeout(resolve, 40));
        return store.renew(...args);
      },
    };
    const work = new Work();
    const asks = (flow: Flow) =>
      Promise.all([work.long(flow, "build"), flow.confirm("a", "A?"), flow.confirm("b", "B?")]);
    const { wire } = await serve(asks, slow);
    expect(Object.keys(await wire.questions(await wire.begin("job")))).toEqual(["a", "b"]);
    await work.finish("build");
  });

  it("is said again when the store did not take it", async () => {
    const store = memoryTasks();
    let lost = 0;
    const forgetful: TaskStore = {
      ...store,
      renew: (hold, leaseMs, note) => (lost++ === 0 ? store.renew(hold, leaseMs) : store.renew(hold, leaseMs, note)),
    };
    const work = new Work();
    const asks = (flow: Flow) => Promise.all([work.long(flow, "build"), flow.confirm("approve", "Approve?")]);
    const { wire } = await serve(asks, forgetful, {}, { lookMs: 20 });
    expect(Object.keys(await wire.questions(await wire.begin("job")))).toEqual(["approve"]);
    expect(lost).toBeGreaterThan(1);
    await work.finish("build");
  });
});

describe("a question that is asked again (H24)", () => {
  it("keeps its reason under its key when another is answered", async () => {
    const asks = (flow: Flow) => Promise.all([flow.form("size", sizeForm), flow.confirm("a", "A?")]);
    const { wire } = await serve(asks);
    const taskId = await wire.begin("job");
    await wire.questions(taskId);
    await wire.update(taskId, { size: size(-1) });
    const asked = await wire.when(taskId, (task) => keysIn(task).includes("size~2"));
    await wire.update(taskId, { a: yes });
    const later = await wire.when(taskId, (task) => keysIn(task).length === 1 && task["status"] === "input_required");
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { inputRequests } = (await wire.get(taskId)).result as { inputRequests: Wire };
    expect(keysIn(later)).toEqual(["size~2"]);
    expect(inputRequests["size~2"]).toEqual((asked["inputRequests"] as Wire)["size~2"]);
  });
});

describe("H31: what a task said of itself", () => {
  /** A store that counts what was written to it. */
  function counted(store: TaskStore) {
    const count = { settled: 0, noted: 0 };
    const own: TaskStore = {
      ...store,
      settle: (hold, settlement) => store.settle(hold, settlement).finally(() => count.settled++),
      renew: (hold, leaseMs, note) =>
        store.renew(hold, leaseMs, note).finally(() => {
          if (note !== undefined) count.noted++;
        }),
    };
    return { store: own, count };
  }

  it("stays while it waits, when the step beside its question has ended", async () => {
    const work = new Work();
    const { store, count } = counted(memoryTasks());
    const { wire } = await serve(async (flow) => {
      const both = Promise.all([flow.confirm("ok", "Ok?"), work.long(flow, "test")]);
      await flow.progress({ progress: 1, message: "testing" });
      return both;
    }, store);
    const id = await wire.begin("job");
    const asks = (task: Wire) => task["status"] === "input_required" && task["statusMessage"] === "testing";
    await wire.when(id, asks);
    await work.finish("test");
    await until(() => count.settled === 1 || undefined);
    expect((await wire.get(id)).result).toMatchObject({ status: "input_required", statusMessage: "testing" });
    await wire.update(id, { ok: yes });
    expect(valueIn(await wire.ended(id))).toEqual([true, "test"]);
  });

  it("is not said again by a run that replays it", async () => {
    const work = new Work();
    const { wire } = await serve(
      async (flow) => {
        await flow.progress({ progress: 1, message: "one" });
        await work.short(flow, "first");
        await flow.progress({ progress: 2, message: "two" });
        const ok = await flow.confirm("ok", "Ok?");
        await flow.progress({ progress: 3, message: "three" });
        await work.long(flow, "last");
        return ok;
      },
      memoryTasks(),
      {},
      { leaseMs: 300_000 },
    );
    const id = await wire.begin("job");
    const asked = await wire.when(id, ({ status }) => status === "input_required");
    expect(asked["statusMessage"]).toBe("two");
    await wire.update(id, { ok: yes });
    await work.runs("last");
    // The first that a run says is told at once, what follows within a quarter of a second with the next beat: too late here.
    const seen = new Set<unknown>();
    await wire.when(id, ({ statusMessage }) => seen.add(statusMessage).has("three"));
    expect([...seen]).not.toContain("one");
    await work.finish("last");
    await wire.ended(id);
  });

  it("is kept by a run that takes over", async () => {
    const work = new Work();
    const kept = memoryTasks();
    const handler = async (flow: Flow) => {
      await flow.progress({ progress: 1, message: "one" });
      await work.short(flow, "first");
      return Promise.all([flow.confirm("ok", "Ok?"), work.long(flow, "last")]);
    };
    const { store, die } = mortal(kept);
    const first = await serve(handler, store, {}, { leaseMs: 150, lookMs: 20 });
    closers.pop();
    const id = await first.wire.begin("job");
    const asks = (task: Wire) => task["status"] === "input_required" && task["statusMessage"] === "one";
    await first.wire.when(id, asks);
    die();
    const after = counted(kept);
    const second = await serve(handler, after.store, {}, { leaseMs: 150, lookMs: 20 });
    await until(() => after.count.noted > 0 || undefined);
    expect((await second.wire.get(id)).result).toMatchObject({ status: "input_required", statusMessage: "one" });
    await second.wire.update(id, { ok: yes });
    await work.finish("last");
    expect(valueIn(await second.wire.ended(id))).toEqual([true, "last"]);
  });
});
