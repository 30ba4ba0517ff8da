/** One simulated world of tasks: the real desk, runner and engine, over processes that crash and a store that is away. */
import { type ToolFlow, tool } from "../../src/flow/define.ts";
import type { TaskStore } from "../../src/tasks/contract.ts";
import { FAULTS_END_MS, LEASE_MS, WORLD_ENDS_MS } from "../config.ts";
import { Kernel } from "../kernel.ts";
import { drawPlan, type Plan, runPlan, type Scene } from "../plan.ts";
import { Rng } from "../rng.ts";
import { TaskClient } from "./client.ts";
import { TaskJudge } from "./judge.ts";
import { TaskReplica } from "./replica.ts";
import { SimTaskStore } from "./store.ts";

export type TaskMutant = (store: TaskStore) => TaskStore;

export interface TaskHistory {
  readonly seed: number;
  /** The broken promise, if there is one. */
  readonly broken: string | undefined;
  readonly events: number;
  readonly repeated: number;
  readonly seen: Readonly<Record<string, number>>;
}

function drawConfig(rng: Rng) {
  const sometimes = <T>(value: T, none: T): T => (rng.chance(0.5) ? value : none);
  return {
    replicas: rng.int(1, 3),
    tasks: rng.int(1, 5),
    loss: sometimes(0.1, 0),
    delayMs: rng.pick([2, 20, 100]),
    crashes: sometimes(rng.int(1, 5), 0),
    pauses: sometimes(rng.int(1, 3), 0),
    outages: sometimes(rng.int(1, 2), 0),
    storeLoss: sometimes(0.05, 0),
    cancels: sometimes(0.4, 0),
  };
}

export class TaskWorld {
  readonly rng: Rng;
  readonly config: ReturnType<typeof drawConfig>;
  readonly kernel: Kernel;
  readonly key: Buffer;
  readonly mutant: TaskMutant | undefined;
  readonly judge = new TaskJudge();
  readonly store: SimTaskStore;
  readonly flows: readonly ToolFlow[];
  readonly cluster: TaskCluster;
  readonly seen: Record<string, number> = {};

  constructor(seed: number, mutant: TaskMutant | undefined) {
    this.mutant = mutant;
    this.rng = new Rng(seed);
    this.config = drawConfig(this.rng);
    this.kernel = new Kernel(this.rng);
    this.key = this.rng.bytes(32);
    this.store = new SimTaskStore(this);
    this.flows = Array.from({ length: this.config.tasks }, (_, index) => this.#flow("ABCDE"[index] as string));
    this.cluster = new TaskCluster(this);
  }

  readonly faulty = (): boolean => this.kernel.now < FAULTS_END_MS;

  readonly count = (what: string): void => {
    this.seen[what] = (this.seen[what] ?? 0) + 1;
  };

  async play(): Promise<void> {
    const { judge, kernel } = this;
    const clients = this.flows.map((flow) => new TaskClient(this, flow));
    let done = 0;
    for (const client of clients) {
      client.run().then(
        () => done++,
        (error: unknown) => judge.violation(`the simulator itself failed: ${String((error as Error).stack)}`),
      );
    }
    this.cluster.trouble();
    await kernel.run(() => judge.broken !== undefined || done === clients.length, WORLD_ENDS_MS);
    if (done < clients.length) judge.violation("a task did not end");
  }

  #flow(label: string): ToolFlow {
    const plan: Plan = drawPlan(this.rng, LEASE_MS * 2);
    return tool(label, { background: {} }, async (_args, flow) => {
      const seen = await runPlan(label, plan, flow, this.#scene(label));
      return { content: [{ type: "text", text: JSON.stringify(seen) }] };
    });
  }

  #scene(label: string): Scene {
    const { kernel, judge } = this;
    return {
      begun: () => undefined,
      effect: async ({ step, ms, heeds }, { idempotencyKey, signal }) => {
        const by = this.cluster.current();
        judge.begins(label, step);
        const ends = kernel.now + ms;
        while (kernel.now < ends) {
          await kernel.sleep(Math.min(20, ends - kernel.now), by);
          if (heeds) signal.throwIfAborted();
        }
        judge.effect(label, step, { idempotencyKey, by });
        this.cluster.critical(by);
        return idempotencyKey;
      },
      answered: (_key, message, answer) => {
        const content = /^[^/]+\/c/.test(message) ? { confirm: answer === "true" } : { echo: answer };
        judge.answered(message, JSON.stringify({ action: "accept", content }));
      },
    };
  }
}

/** The replicas, and what befalls them. */
class TaskCluster {
  readonly #world: TaskWorld;
  readonly #replicas: TaskReplica[];
  #lives = 0;
  #strikes = 0;

  constructor(world: TaskWorld) {
    this.#world = world;
    this.#replicas = Array.from({ length: world.config.replicas }, () => this.#start());
  }

  any(): TaskReplica | undefined {
    const up = this.#replicas.filter(({ alive }) => alive);
    return up.length === 0 ? undefined : this.#world.rng.pick(up);
  }

  trouble(): void {
    const { kernel, rng, config, store, count } = this.#world;
    this.#strikes = config.crashes;
    for (let n = 0; n < config.pauses; n++) {
      kernel.after(rng.int(0, FAULTS_END_MS), undefined, () => {
        const replica = this.any();
        if (replica === undefined) return;
        count("pause");
        replica.faults++;
        replica.pausedUntil = kernel.now + rng.int(10, 3 * LEASE_MS);
      });
    }
    for (let n = 0; n < config.outages; n++) {
      kernel.after(rng.int(0, FAULTS_END_MS), undefined, () => {
        count("outage");
        store.downUntil = kernel.now + rng.int(50, 1_200);
      });
    }
  }

  /** Something was just done that is not on record yet: the worst moment to die. */
  critical(replica: TaskReplica): void {
    const { kernel, rng, count, faulty } = this.#world;
    if (this.#strikes === 0 || !faulty() || !rng.chance(0.3)) return;
    this.#strikes--;
    kernel.after(rng.int(0, 3), undefined, () => {
      if (!replica.alive) return;
      count("crash");
      replica.faults++;
      replica.alive = false;
      kernel.after(rng.int(10, 1_500), undefined, () => {
        this.#replicas[this.#replicas.indexOf(replica)] = this.#start();
      });
    });
  }

  #start(): TaskReplica {
    return new TaskReplica(this.#world, `t${++this.#lives}`);
  }

  /** Whose code runs now: the kernel runs one process at a time. */
  current(): TaskReplica {
    return this.#world.kernel.process as TaskReplica;
  }
}

/** Plays the history of `seed`. The same seed plays the same history. */
export async function simulateTasks(seed: number, mutant?: TaskMutant): Promise<TaskHistory> {
  const world = new TaskWorld(seed, mutant);
  await world.play();
  const { judge, kernel, seen } = world;
  return { seed, broken: judge.broken, events: kernel.steps, repeated: judge.repeated, seen };
}
