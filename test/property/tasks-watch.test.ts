/**
 * H30 over random interleavings: changes that are told of here and changes that are not, reads that take their time or fail,
 * clients that come at any moment and take what there is at theirs. Whatever happens, each client hears the task's states in
 * their order, none twice, its end last, and of what waits for a slow client only the latest.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DetailedTask } from "../../src/protocol/tasks.ts";
import { rowId } from "../../src/server/tasks/identity.ts";
import { resolveTasks } from "../../src/server/tasks/options.ts";
import type { TaskSubscription } from "../../src/server/tasks/subscription.ts";
import { TaskWatch } from "../../src/server/tasks/watch.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { TASKS } from "../helpers/tasks.ts";

const IDS = ["s", "t", "u"];
const LAST = 6;

type Action =
  | { readonly type: "change"; readonly task: number; readonly told: boolean }
  | { readonly type: "look"; readonly task: number }
  /** A read sees the task as it is now. */
  | { readonly type: "serve"; readonly read: number; readonly fails: boolean }
  | { readonly type: "answer"; readonly read: number }
  | { readonly type: "open"; readonly ids: readonly string[] }
  | { readonly type: "take"; readonly client: number };

const task = fc.nat({ max: IDS.length - 1 });
const some = fc.nat({ max: 30 });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("change" as const), task, told: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("look" as const), task }) },
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("serve" as const),
      read: some,
      fails: fc.nat({ max: 9 }).map((n) => n === 0),
    }),
  },
  { weight: 6, arbitrary: fc.record({ type: fc.constant("answer" as const), read: some }) },
  {
    weight: 2,
    arbitrary: fc.record({ type: fc.constant("open" as const), ids: fc.subarray(IDS, { minLength: 1, maxLength: 2 }) }),
  },
  { weight: 3, arbitrary: fc.record({ type: fc.constant("take" as const), client: some }) },
);

interface Read {
  readonly taskId: string;
  served: (() => void) | undefined;
  resolve(task: DetailedTask | undefined): void;
  reject(error: Error): void;
}

interface Client {
  readonly subscription: TaskSubscription;
  readonly since: ReadonlyMap<string, number>;
  readonly heard: Map<string, number[]>;
}

class World {
  readonly #versions: Map<string, number>;
  readonly reads: Read[] = [];
  readonly clients: Client[] = [];
  readonly timers = new Map<object, () => void>();
  readonly watch: TaskWatch;
  readonly #desk: { get(taskId: string): Promise<DetailedTask | undefined>; onChange(id: string): void };

  constructor(ids = IDS) {
    this.#versions = new Map(ids.map((id) => [id, 0]));
    this.#desk = {
      onChange: () => {},
      get: (taskId) =>
        new Promise((resolve, reject) => {
          this.reads.push({ taskId, served: undefined, resolve, reject });
        }),
    };
    const every = (_ms: number, callback: () => void) => {
      const timer = {};
      this.timers.set(timer, callback);
      return () => void this.timers.delete(timer);
    };
    this.watch = new TaskWatch(this.#desk, {
      audience: "a",
      tasks: resolveTasks(memoryTasks(), "anonymous"),
      holdClock: { now: () => 0, sleep: async () => {}, every },
      now: () => 0,
      principal: () => null,
    });
  }

  view(taskId: string): DetailedTask {
    const version = this.#versions.get(taskId) as number;
    const stamps = { createdAt: "c", lastUpdatedAt: `u${Math.random()}`, ttlMs: 1_000, pollIntervalMs: 10 };
    const status = version < LAST ? "working" : "completed";
    return { taskId, status, statusMessage: String(version), ...stamps };
  }

  change(taskId: string, told: boolean): void {
    this.#versions.set(taskId, Math.min(LAST, (this.#versions.get(taskId) as number) + 1));
    if (told) this.#desk.onChange(rowId(taskId));
  }

  serve(read: Read, fails: boolean): void {
    const seen = this.view(read.taskId);
    read.served ??= () => (fails ? read.reject(new Error("away")) : read.resolve(seen));
  }

  async answer(read: Read): Promise<void> {
    this.serve(read, false);
    this.reads.splice(this.reads.indexOf(read), 1);
    read.served?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  open(ids: readonly string[]): void {
    const since = new Map(this.#versions);
    const request = { taskIds: ids, capabilities: TASKS, authInfo: undefined };
    this.watch.open(request).then(
      (subscription) => this.clients.push({ subscription, since, heard: new Map(ids.map((id) => [id, []])) }),
      () => undefined,
    );
  }

  take({ subscription, heard }: Client): boolean {
    const text = subscription.next();
    if (text === undefined) return false;
    const { taskId, statusMessage } = JSON.parse(text) as DetailedTask;
    heard.get(taskId)?.push(Number(statusMessage));
    return true;
  }

  /** Everybody looks until nothing changes any more; nobody tells. */
  async settle(): Promise<void> {
    for (const id of IDS) for (let count = 0; count <= LAST; count++) this.change(id, false);
    for (let turn = 0; turn < 8; turn++) {
      for (const look of [...this.timers.values()]) look();
      while (this.reads.length > 0) await this.answer(this.reads[0] as Read);
    }
  }
}

describe("tasks that clients listen for", () => {
  it("H30 H14 each client hears states in order, none twice, the end last; a slow one the latest only", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 120, size: "max" }), async (actions) => {
        const world = new World();
        world.open(IDS);
        for (const step of actions) {
          const read = "read" in step ? world.reads[step.read % Math.max(1, world.reads.length)] : undefined;
          if (step.type === "change") world.change(IDS[step.task] as string, step.told);
          else if (step.type === "look") [...world.timers.values()][step.task]?.();
          else if (step.type === "open") world.open(step.ids);
          else if (step.type === "serve" && read !== undefined) world.serve(read, step.fails);
          else if (step.type === "answer" && read !== undefined) await world.answer(read);
          else if (step.type === "take") {
            const client = world.clients[step.client % Math.max(1, world.clients.length)];
            if (client !== undefined) world.take(client);
          }
        }
        await world.settle();
        for (const client of world.clients) {
          const before = new Map([...client.heard].map(([id, heard]) => [id, heard.length]));
          while (world.take(client));
          for (const [id, heard] of client.heard) {
            expect(heard, `order of ${id}`).toEqual([...new Set(heard)].sort((a, b) => a - b));
            expect(heard.at(-1), `end of ${id}`).toBe(LAST);
            expect(heard[0], `begin of ${id}`).toBeGreaterThanOrEqual(client.since.get(id) as number);
            expect(heard.length - (before.get(id) as number), `waiting of ${id}`).toBeLessThanOrEqual(1);
          }
          expect(client.subscription.isOver).toBe(true);
        }
        // Nothing is looked at for nobody.
        expect(world.timers.size).toBe(0);
      }),
      { numRuns: 400 },
    );
  });

  it("reads each task once for all who listen, and eight tasks at a time, however many are due", async () => {
    const ids = Array.from({ length: 20 }, (_, n) => `t${n}`);
    const world = new World(ids);
    for (let client = 0; client < 3; client++) world.open(ids);
    while (world.reads.length > 0) await world.answer(world.reads[0] as Read);
    expect(world.timers.size).toBe(20);
    for (let round = 0; round < 5; round++) for (const look of world.timers.values()) look();
    const served = new Map<string, number>();
    while (world.reads.length > 0) {
      expect(world.reads.length).toBeLessThanOrEqual(8);
      const [read] = world.reads as [Read];
      served.set(read.taskId, (served.get(read.taskId) ?? 0) + 1);
      await world.answer(read);
    }
    // Once, and once more for those that fell due while they were read.
    expect([...served.values()].sort()).toEqual([...Array(12).fill(1), ...Array(8).fill(2)]);
  });

  it("closing tells what is being read and what was heard before, and then nothing", async () => {
    const world = new World(["t"]);
    world.open(["t"]);
    await world.answer(world.reads[0] as Read);
    const [client] = world.clients as [Client];
    while (world.take(client));
    world.change("t", true);
    const closing = world.watch.close();
    await world.answer(world.reads[0] as Read);
    await closing;
    world.change("t", true);
    expect(world.reads).toEqual([]);
    expect(client.subscription.isOver).toBe(false);
    while (world.take(client));
    expect(client.heard.get("t")).toEqual([0, 1]);
    expect([client.subscription.isOver, world.timers.size]).toEqual([true, 0]);
  });
});
