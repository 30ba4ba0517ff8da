/** Tasks while they run: where, how many at once, and what becomes of them when a process ends. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { McpServer } from "@modelcontextprotocol/server";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AnyFlow,
  type BackgroundOptions,
  createParley,
  type Flow,
  type Parley,
  type ParleyEvent,
  type ParleyOptions,
  prompt,
  type TaskStore,
  type TasksOptions,
  type ToolFlow,
  tool,
} from "../../src/index.ts";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { sqliteTasks } from "../../src/tasks/sqlite.ts";
import { playFlow } from "../../src/testing.ts";
import { serveFlows } from "../helpers/mounts.ts";
import { EVERYTHING, mortal, TASKS, TaskWire, textIn, yes } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const NEWER_KEY = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ012345");
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

const folder = mkdtempSync(join(tmpdir(), "parley-running-"));
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${files++}.sqlite`);

interface Served {
  readonly parley: Parley;
  readonly wire: TaskWire;
  readonly events: ParleyEvent[];
}

async function serve(
  flows: readonly AnyFlow[],
  tasks: TasksOptions,
  options: ParleyOptions = {},
  mount: "sdk" | "native" = "native",
): Promise<Served> {
  const events: ParleyEvent[] = [];
  const parley = createParley({
    keys: [KEY],
    callers: "anonymous",
    tasks: { pollIntervalMs: 10, lookMs: 20, drainMs: 50, ...tasks },
    onEvent: (event) => events.push(event),
    ...options,
  });
  const server = await serveFlows(mount, parley, flows);
  closers.push(async () => {
    await server.close();
    await parley.close();
  });
  return { parley, wire: new TaskWire(server.url), events };
}

/** Steps that ran, over all processes of a test. */
class Effects {
  readonly done: string[] = [];
  readonly keys = new Set<string>();
  step(flow: Flow, name: string, then: () => Promise<void> = async () => {}): Promise<unknown> {
    return flow.step(name, async ({ idempotencyKey }) => {
      this.done.push(name);
      this.keys.add(`${name} ${idempotencyKey}`);
      await then();
      return name;
    });
  }
}

describe("a flow, wherever it runs", () => {
  type Place = "never" | "start" | "later";

  function release(place: Place, effects: Effects): AnyFlow {
    const background = { otherwise: "foreground" } as const;
    return tool("release", place === "start" ? { background } : {}, async (_args, flow) => {
      const version = await flow.form("version", { message: "Version?", schema: z.object({ version: z.string() }) });
      await effects.step(flow, "tag");
      if (!(await flow.confirm("build", `Build ${version.version}?`))) return text("stopped");
      if (place === "later") await flow.background(background);
      const [built, tested] = await Promise.all([effects.step(flow, "compile"), effects.step(flow, "test")]);
      if (!(await flow.confirm("publish", "Publish?"))) return text("kept");
      await effects.step(flow, "upload");
      return text(`released ${version.version}: ${built}, ${tested}`);
    });
  }
  const answers: Record<string, unknown> = {
    version: { action: "accept", content: { version: "1.2" } },
    build: yes,
    publish: yes,
  };

  async function drive(wire: TaskWire): Promise<{ rounds: number; result: unknown }> {
    let [answered, rounds] = [await wire.call("release"), 0];
    while (answered.result?.["resultType"] === "input_required") {
      const { inputRequests = {}, requestState } = answered.result as { inputRequests?: object; requestState?: string };
      const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answers[key]]));
      answered = await wire.call("release", {}, { requestState, inputResponses });
      rounds++;
    }
    if (answered.error) throw new Error(JSON.stringify(answered.error));
    if (answered.result?.["resultType"] !== "task") return { rounds, result: answered.result };
    const taskId = String(answered.result["taskId"]);
    const seen = new Set<string>();
    for (;;) {
      const { status, inputRequests = {}, result } = (await wire.get(taskId)).result as Record<string, unknown>;
      if (status === "completed") return { rounds, result };
      if (status === "failed") throw new Error(JSON.stringify(await wire.get(taskId)));
      const fresh = Object.keys(inputRequests as object).filter((key) => !seen.has(key));
      for (const key of fresh) seen.add(key);
      if (fresh.length > 0) await wire.update(taskId, Object.fromEntries(fresh.map((key) => [key, answers[key]])));
    }
  }

  it.each([
    ["in the foreground", "later", { elicitation: {} }, 3],
    ["in the foreground, where it never says background", "never", EVERYTHING, 3],
    ["as a task from the start", "start", EVERYTHING, 0],
    ["handed over after two rounds", "later", EVERYTHING, 2],
  ] as const)("ends the same, with the same effects: %s", async (_what, place, capabilities, rounds) => {
    for (const replay of ["when-needed", "every-step"] as const) {
      const effects = new Effects();
      const { wire } = await serve([release(place, effects)], { store: memoryTasks() }, { replay });
      wire.capabilities = capabilities;
      const driven = await drive(wire);
      expect(driven.rounds).toBe(rounds);
      expect(textIn(driven.result)).toBe("released 1.2: compile, test");
      expect(effects.done).toEqual(["tag", "compile", "test", "upload"]);
      expect(effects.keys.size).toBe(4);
    }
  });

  it("shows the questions of a round and of a task under the same keys (H24)", async () => {
    const { wire } = await serve([release("start", new Effects())], { store: memoryTasks() });
    const taskId = await wire.begin("release");
    expect(Object.keys(await wire.questions(taskId))).toEqual(["version"]);
  });

  it("is refused where it cannot be handed over, unless it may go on in the foreground", async () => {
    const ask = prompt("ask", {}, async (_args, flow) => {
      await flow.background();
      return { messages: [] };
    });
    const twice = tool("twice", { background: {} }, async (_args, flow) => {
      await flow.background();
      return text("no");
    });
    const { wire } = await serve([ask, twice], { store: memoryTasks() });
    const refused = await wire.send("prompts/get", { name: "ask" });
    expect(refused.error).toMatchObject({ code: -32603, data: { reason: "configuration" } });
    const task = await wire.ended(await wire.begin("twice"));
    expect(task["error"]).toMatchObject({ code: -32603, data: { reason: "duplicate_key" } });
  });
});

describe("a task and its store", () => {
  const asks = tool(
    "asks",
    { background: {}, inputSchema: z.object({ secret: z.string() }) },
    async ({ secret }, flow) => {
      const { word } = await flow.form("word", { message: "Word?", schema: z.object({ word: z.string() }) });
      await flow.step("keep", () => `${secret} ${word}`);
      return text(`${secret} ${word}`);
    },
  );

  it("H11: is stored before its answer goes out", async () => {
    const store = memoryTasks();
    let letGo: (() => void) | undefined;
    const slow: TaskStore = {
      ...store,
      create: async (task) => {
        await new Promise<void>((resolve) => {
          letGo = resolve;
        });
        return store.create(task);
      },
    };
    const { wire } = await serve([asks], { store: slow });
    let answered: unknown;
    const call = wire.call("asks", { secret: "s" }).then((answer) => {
      answered = answer;
      return answer;
    });
    const go = await until(() => letGo);
    expect(answered).toBeUndefined();
    go();
    const { result } = await call;
    expect((await wire.get(String(result?.["taskId"]))).result).toMatchObject({ resultType: "complete" });
  });

  it("is no task when the store did not take it", async () => {
    const store = memoryTasks();
    const broken: TaskStore = { ...store, create: () => Promise.reject(new Error("disk full")) };
    const { wire, events } = await serve([asks], { store: broken });
    const { error } = await wire.call("asks", { secret: "s" });
    expect(error).toMatchObject({ code: -32603, data: { reason: "tasks_unavailable" } });
    // Why is for the operator.
    expect(error?.message).not.toContain("disk full");
    const told = { outcome: "error", error: { message: expect.stringContaining("disk full") } };
    expect(events.find(({ type }) => type === "round")).toMatchObject(told);
  });

  it("C14, C15: is kept sealed, under nothing that leads to it", async () => {
    const kept: string[] = [];
    const store = memoryTasks();
    const watched = new Proxy(store, {
      get: (target, name) => {
        const own = Reflect.get(target, name) as ((...args: unknown[]) => unknown) | undefined;
        if (own === undefined) return undefined;
        return (...args: unknown[]) => {
          kept.push(
            JSON.stringify(args, (_key, value) =>
              value?.type === "Buffer" ? Buffer.from(value.data).toString("latin1") : value,
            ),
          );
          return own.apply(target, args);
        };
      },
    });
    const { wire } = await serve([asks], { store: watched });
    const taskId = await wire.begin("asks", { secret: "plain-secret" });
    await wire.questions(taskId);
    await wire.update(taskId, { word: { action: "accept", content: { word: "plain-word" } } });
    expect(textIn((await wire.ended(taskId))["result"])).toBe("plain-secret plain-word");
    const all = kept.join("\n");
    expect(all).toContain("leaseMs");
    for (const word of ["plain-secret", "plain-word", taskId, "asks", "Word?"]) expect(all).not.toContain(word);
  });

  it("B45: a caller has no more than may be open, and may have another when one has ended", async () => {
    const { wire } = await serve([asks], { store: memoryTasks(), openPerCaller: 2 });
    const [first] = [await wire.begin("asks", { secret: "1" }), await wire.begin("asks", { secret: "2" })];
    const refused = await wire.call("asks", { secret: "3" });
    expect(refused.error).toMatchObject({ code: -32603, data: { reason: "limit_exceeded" } });
    await wire.cancel(first);
    await wire.begin("asks", { secret: "3" });
  });

  it("with a ledger the round that hands over gets the same bytes again", async () => {
    const { wire, events } = await serve([asks], { store: memoryTasks() }, { ledger: memoryLedger() });
    const named = { _meta: { "mcp-parley/call-id": "a-call-id-of-22-letters-or-more" } };
    const params = { name: "asks", arguments: { secret: "s" }, ...named };
    const call = () => wire.send("tools/call", params, { "mcp-name": "asks" });
    const [one, two] = [await call(), await call()];
    expect(two.result).toEqual(one.result);
    expect(events.filter(({ type }) => type === "task_begun").length).toBeLessThanOrEqual(2);
  });

  it("C21: outlives a key, as long as the key is in the ring", async () => {
    const path = newFile();
    const old = await serve([asks], { store: sqliteTasks({ path }) });
    const taskId = await old.wire.begin("asks", { secret: "s" });
    await old.wire.questions(taskId);
    await old.parley.close();
    const rotated = await serve([asks], { store: sqliteTasks({ path }) }, { keys: [NEWER_KEY, KEY] });
    await rotated.wire.update(taskId, { word: { action: "accept", content: { word: "w" } } });
    expect(textIn((await rotated.wire.ended(taskId))["result"])).toBe("s w");
    const dropped = await serve([asks], { store: sqliteTasks({ path }) }, { keys: [NEWER_KEY] });
    // Its last body was sealed with the newer key, what never changes with the older.
    expect((await dropped.wire.get(taskId)).error).toMatchObject({
      code: -32603,
      data: { reason: "tasks_unavailable" },
    });
  });
});

describe("H12: flow.background() without an await", () => {
  it.each<[string, (flow: Flow, effects: Effects) => unknown]>([
    ["returns", () => undefined],
    ["goes on to a step", (flow, effects) => effects.step(flow, "work")],
    ["goes on to a question", (flow) => flow.confirm("ok", "Ok?")],
    ["goes on to a wait", (flow) => flow.until("word", () => true)],
    ["goes on to something else", () => new Promise((resolve) => setTimeout(resolve, 20))],
  ])("fails a call that %s, and nothing behind it has run", async (_, then) => {
    const effects = new Effects();
    const right = tool("right", {}, async (_args, flow) => {
      await flow.background();
      await then(flow, new Effects());
      return text("done");
    });
    const wrong = tool("wrong", {}, async (_args, flow) => {
      void flow.background();
      await then(flow, effects);
      return text("done");
    });
    const { wire } = await serve([right, wrong], { store: memoryTasks() });
    await wire.begin("right");
    const { error } = await wire.call("wrong");
    expect(error).toMatchObject({ code: -32603, data: { reason: "unawaited_background" } });
    expect(error?.message).toContain('Write "await" before it');
    expect(effects.done).toEqual([]);
  });

  it("fails it in the foreground, too, and where a flow is played, also with options that are none", async () => {
    const unawaited = { data: { reason: "unawaited_background" } };
    for (const options of [{ otherwise: "foreground" }, { otherwise: "foreground", ttlMs: -1 }] as const) {
      const wrong = tool("wrong", {}, async (_args, flow) => {
        void flow.background(options);
        return text("done");
      });
      const { wire } = await serve([wrong], { store: memoryTasks() });
      wire.capabilities = {};
      expect((await wire.call("wrong")).error).toMatchObject(unawaited);
      await expect(playFlow(wrong)).rejects.toMatchObject(unawaited);
    }
  });

  it("counts as awaited where it is raced or beside something, and a step beside it is the task's", async () => {
    const effects = new Effects();
    const beside = tool("beside", {}, async (_args, flow) => {
      await Promise.all([flow.background(), effects.step(flow, "work")]);
      return text(effects.done.join());
    });
    const { wire } = await serve([beside], { store: { ...memoryTasks(), claim: async () => undefined } });
    await wire.begin("beside");
    expect(effects.done).toEqual([]);
  });
});

describe("a task and its process", () => {
  it("goes on elsewhere when its process dies, and repeats no step that was finished", async () => {
    const path = newFile();
    const effects = new Effects();
    let dying: (() => void) | undefined;
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      await effects.step(flow, "one");
      await effects.step(flow, "two", async () => {
        const die = dying;
        dying = undefined;
        if (die === undefined) return;
        die();
        await new Promise(() => {});
      });
      return text("done");
    });
    const { store, die } = mortal(sqliteTasks({ path }));
    dying = die;
    const first = await serve([flow], { store, leaseMs: 150 });
    closers.pop();
    const taskId = await first.wire.begin("job");
    await until(() => (effects.done.length === 2 ? true : undefined));
    const second = await serve([flow], { store: sqliteTasks({ path }), leaseMs: 150 });
    expect(textIn((await second.wire.ended(taskId))["result"])).toBe("done");
    expect(effects.done).toEqual(["one", "two", "two"]);
    // The effect that may have happened comes again under the same key.
    expect(effects.keys.size).toBe(2);
    expect(second.events).toContainEqual(expect.objectContaining({ type: "taken_over", attempt: 2 }));
  });

  it("B45: waits for an answer in no process, and one that starts before its first request goes on with it", async () => {
    const path = newFile();
    const effects = new Effects();
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      await effects.step(flow, "before");
      const agreed = await flow.confirm("go", "Go?");
      await effects.step(flow, "after");
      return text(String(agreed));
    });
    const first = await serve([flow], { store: sqliteTasks({ path }) });
    const taskId = await first.wire.begin("job");
    await first.wire.questions(taskId);
    await first.parley.close();
    // A process that answers requests and runs nothing: the answer is stored.
    const front = await serve([tool("other", {}, () => text("x"))], { store: sqliteTasks({ path }) });
    expect(Object.keys(await front.wire.questions(taskId))).toEqual(["go"]);
    await front.wire.update(taskId, { go: yes });
    expect((await front.wire.get(taskId)).result).toMatchObject({ status: "working" });
    const worker = createParley({
      keys: [KEY],
      callers: "anonymous",
      tasks: { store: sqliteTasks({ path }), lookMs: 20 },
    });
    worker.runTasks([flow]);
    closers.push(() => worker.close());
    expect(textIn((await front.wire.ended(taskId))["result"])).toBe("true");
    expect(effects.done).toEqual(["before", "after"]);
  });

  it("H26: shows what is still open as soon as a part is answered, before anything has run", async () => {
    const path = newFile();
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      const both = await Promise.all([flow.confirm("a", "A?"), flow.confirm("b", "B?")]);
      return text(String(both));
    });
    const worker = await serve([flow], { store: sqliteTasks({ path }) });
    const taskId = await worker.wire.begin("job");
    await worker.wire.questions(taskId);
    await worker.parley.close();
    const front = await serve([tool("other", {}, () => text("x"))], { store: sqliteTasks({ path }) });
    await front.wire.update(taskId, { a: yes });
    const partly = (await front.wire.get(taskId)).result;
    expect([partly?.["status"], Object.keys(partly?.["inputRequests"] as object)]).toEqual(["input_required", ["b"]]);
  });

  it("starts over when its flow has another version, with the same keys for its steps", async () => {
    const path = newFile();
    const effects = new Effects();
    const make = (version: string) =>
      tool("job", { background: {}, version }, async (_args, flow) => {
        await effects.step(flow, "before");
        await flow.confirm(`go-${version}`, "Go?");
        return text(version);
      });
    const first = await serve([make("1")], { store: sqliteTasks({ path }) });
    const taskId = await first.wire.begin("job");
    await first.wire.questions(taskId);
    await first.parley.close();
    const second = await serve([make("2")], { store: sqliteTasks({ path }) });
    await second.wire.update(taskId, { "go-1": yes });
    await second.wire.when(taskId, ({ inputRequests }) => "go-2" in Object(inputRequests));
    await second.wire.update(taskId, { "go-2": yes });
    expect(textIn((await second.wire.ended(taskId))["result"])).toBe("2");
    expect([effects.done, effects.keys.size]).toEqual([["before", "before"], 1]);
  });

  it("starts over in another version when its process died in the middle of a run", async () => {
    const path = newFile();
    const effects = new Effects();
    const { store, die } = mortal(sqliteTasks({ path }));
    const make = (version: string, second: () => Promise<void>) =>
      tool("job", { background: {}, version }, async (_args, flow) => {
        await effects.step(flow, `only-in-${version}`);
        await effects.step(flow, "second", second);
        return text(version);
      });
    const dying = async () => {
      die();
      await new Promise(() => {});
    };
    const first = await serve([make("1", dying)], { store, leaseMs: 100 });
    closers.pop();
    const taskId = await first.wire.begin("job");
    await until(() => (effects.done.includes("second") ? true : undefined));
    const second = await serve([make("2", async () => {})], { store: sqliteTasks({ path }), leaseMs: 100 });
    expect(textIn((await second.wire.ended(taskId))["result"])).toBe("2");
    expect(effects.done).toEqual(["only-in-1", "second", "only-in-2", "second"]);
    expect(effects.keys.size).toBe(3);
  });

  it("is let end when its process closes, or given back to go on elsewhere", async () => {
    const store = memoryTasks();
    const effects = new Effects();
    let letGo = () => {};
    const running = new Set<string>();
    const job = (name: string, work: (signal: AbortSignal) => Promise<void>) =>
      tool(name, { background: {} }, async (_args, flow) => {
        await flow.step(name, ({ signal }) => {
          effects.done.push(name);
          running.add(name);
          return work(signal);
        });
        return text(name);
      });
    let patient = true;
    const flows = [
      job("quick", () => new Promise((resolve) => (letGo = resolve))),
      job("long", async (signal) => {
        if (patient) await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      }),
    ];
    const first = await serve(flows, { store, drainMs: 300 });
    const [quick, long] = [await first.wire.begin("quick"), await first.wire.begin("long")];
    await until(() => (running.size === 2 ? true : undefined));
    const closed = first.parley.close();
    letGo();
    await closed;
    patient = false;
    expect((await first.wire.get(quick)).result).toMatchObject({ status: "completed" });
    expect((await first.wire.get(long)).result).toMatchObject({ status: "working" });
    const second = await serve(flows, { store });
    expect(textIn((await second.wire.ended(long))["result"])).toBe("long");
    expect(effects.done).toEqual(["quick", "long", "long"]);
  });

  it.each([
    ["in all", { concurrency: 2, concurrencyPerCaller: 10 }, 2],
    ["of one caller", { concurrencyPerCaller: 1 }, 1],
  ])("runs no more than may run at once, %s", async (_what, limits, most) => {
    let [now, peak] = [0, 0];
    const waiting: (() => void)[] = [];
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      await flow.step("work", async () => {
        peak = Math.max(peak, ++now);
        await new Promise<void>((resolve) => waiting.push(resolve));
        now--;
      });
      return text("done");
    });
    const { wire } = await serve([flow], { store: memoryTasks(), ...limits });
    const ids = await Promise.all(Array.from({ length: 4 }, () => wire.begin("job")));
    for (let ended = 0; ended < ids.length; ended++) (await until(() => waiting.shift()))();
    for (const id of ids) expect(await wire.ended(id)).toMatchObject({ status: "completed" });
    expect(peak).toBe(most);
  });

  it("belongs to no step of another task, wherever the store calls from", async () => {
    let take: (() => Promise<void>) | undefined;
    const store = memoryTasks();
    let [begun, allowed] = [0, 1];
    const told: TaskStore = {
      ...store,
      claim: async (request) => {
        if (begun < 3 || allowed === 0) return undefined;
        allowed--;
        return store.claim(request);
      },
      create: (task) => store.create(task).finally(() => begun++),
      watch: (callback) => {
        take = callback;
        return async () => {};
      },
    };
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      // As a pool does that the step and the store share: it calls back in the step's own context.
      await flow.step("work", () => {
        allowed++;
        return take?.();
      });
      return text("done");
    });
    const { wire } = await serve([flow], { store: told });
    const ids = await Promise.all([wire.begin("job"), wire.begin("job"), wire.begin("job")]);
    for (const id of ids) expect(textIn((await wire.ended(id))["result"])).toBe("done");
  });

  it("is given up when everybody who takes it goes silent", async () => {
    const path = newFile();
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      await flow.step("deadly", () => new Promise(() => {}));
      return text("not reached");
    });
    const dead = mortal(sqliteTasks({ path }));
    const first = await serve([flow], { store: dead.store, leaseMs: 50 });
    closers.pop();
    const taskId = await first.wire.begin("job");
    await until(async () => ((await first.wire.get(taskId)).result?.["status"] === "working" ? true : undefined));
    dead.die();
    const second = await serve([flow], { store: sqliteTasks({ path }), leaseMs: 50, maxAttempts: 1 });
    expect((await second.wire.ended(taskId))["error"]).toMatchObject({ data: { reason: "given_up" } });
    const told = { type: "task_ended", status: "failed", error: { message: expect.stringContaining("maxAttempts") } };
    await until(() => second.events.some(({ type }) => type === "task_ended") || undefined);
    expect(second.events).toContainEqual(expect.objectContaining(told));
  });

  it("E11: waits for what a link leads to", async () => {
    let done = false;
    const flow = tool("job", { background: {} }, async (_args, flow) => {
      const link = { message: "Open", url: "https://example.com", until: () => done, pollMs: 5, everyMs: 1 };
      await flow.url("link", link);
      return text("connected");
    });
    const { wire } = await serve([flow], { store: memoryTasks() });
    const taskId = await wire.begin("job");
    await wire.questions(taskId);
    await wire.update(taskId, { link: { action: "accept" } });
    expect((await wire.when(taskId, ({ status }) => status === "working"))["status"]).toBe("working");
    done = true;
    expect(textIn((await wire.ended(taskId))["result"])).toBe("connected");
  });

  it("H3: without the option tasks nothing is handed over, and no method of tasks is there", async () => {
    const parley = createParley({ keys: [KEY], callers: "anonymous" });
    const job = tool("job", {}, async (_args, flow) => text(String(await flow.background())));
    const server = await serveFlows("sdk", parley, [job]);
    closers.push(() => server.close());
    const wire = new TaskWire(server.url);
    expect((await wire.call("job")).error).toMatchObject({ code: -32603, data: { reason: "configuration" } });
    wire.capabilities = TASKS;
    expect((await wire.get("x")).error?.code).toBe(-32601);
    expect(() => parley.runTasks([])).toThrow(expect.objectContaining({ code: "configuration" }));
    await parley.close();
  });

  it("H3: without the option tasks a tool that starts as one is refused where the server starts", () => {
    const parley = createParley({ keys: [KEY], callers: "anonymous" });
    const job = (background: BackgroundOptions) => tool("job", { background }, () => text("x"));
    const mounts: ((flow: ToolFlow) => unknown)[] = [
      (flow) => parley.handler({ name: "s", version: "1", tools: [flow] }),
      (flow) => parley.register(new McpServer({ name: "s", version: "1" }), [flow]),
    ];
    for (const mounted of mounts) {
      expect(() => mounted(job({ otherwise: "foreground" }))).not.toThrow();
      const refused = {
        code: "configuration",
        message: expect.stringMatching(/^tool "job" starts as a task.+option tasks/),
      };
      expect(() => mounted(job({}))).toThrow(expect.objectContaining(refused));
    }
  });
});
