/** One simulated world of tasks: the real desk, runner and engine, over processes that crash and a store that is away. */
import type { ToolFlow } from "../../src/flow/define.ts";
import { Cluster } from "../cluster.ts";
import { FAULTS_END_MS, WORLD_ENDS_MS } from "../config.ts";
import { Kernel } from "../kernel.ts";
import type { Life } from "../life.ts";
import { StoreLink } from "../link.ts";
import type { Scene } from "../plan.ts";
import { Rng } from "../rng.ts";
import { TaskClient } from "./client.ts";
import { TaskJudge } from "./judge.ts";
import type { TaskMutant } from "./mutants.ts";
import { drawProgram, flowOf, type Place, type Program, playInForeground } from "./program.ts";
import { TaskReplica } from "./replica.ts";
import { drawConfig, type TaskConfig, type TaskStage } from "./stage.ts";
import { SimTaskStore } from "./store.ts";

export interface TaskHistory {
  readonly seed: number;
  /** The broken promise, if there is one. */
  readonly broken: string | undefined;
  readonly config: object;
  /** Empty unless asked for. */
  readonly lines: readonly string[];
  readonly events: number;
  readonly repeated: number;
  readonly seen: Readonly<Record<string, number>>;
}

export class TaskWorld implements TaskStage {
  readonly rng: Rng;
  readonly config: TaskConfig;
  readonly kernel: Kernel;
  readonly secrets: readonly Uint8Array[];
  readonly mutant: TaskMutant | undefined;
  readonly judge = new TaskJudge();
  readonly store: SimTaskStore;
  readonly programs: readonly Program[];
  readonly flows: readonly ToolFlow[];
  readonly cluster: Cluster<TaskReplica>;
  readonly seen: Record<string, number> = {};
  readonly lines: string[] = [];
  readonly #link: StoreLink;
  readonly #verbose: boolean;

  constructor(seed: number, mutant: TaskMutant | undefined, verbose: boolean) {
    this.mutant = mutant;
    this.#verbose = verbose;
    this.rng = new Rng(seed);
    this.config = drawConfig(this.rng);
    this.kernel = new Kernel(this.rng);
    this.secrets = [this.rng.bytes(32), this.rng.bytes(32)];
    const reached = (from: Life) => this.cluster.critical(from);
    this.#link = new StoreLink(this, this.config.storeLoss, reached, (what) => this.judge.violation(what));
    this.store = new SimTaskStore(this, this.#link);
    this.programs = Array.from({ length: this.config.tasks }, (_, index) =>
      drawProgram(this.rng, "ABCDE"[index] as string),
    );
    this.flows = this.programs.map((program) => flowOf(program, (place) => this.#scene(program.label, place)));
    this.cluster = new Cluster(
      this,
      this.config,
      this.secrets,
      (name, keys, offsetMs) => new TaskReplica(this, name, keys, offsetMs),
    );
  }

  readonly faulty = (): boolean => this.kernel.now < FAULTS_END_MS;

  readonly log = (line: () => string): void => {
    if (this.#verbose) this.lines.push(`${String(this.kernel.now).padStart(6)} ms  ${line()}`);
  };

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
    this.cluster.trouble(this.#link);
    await kernel.run(() => judge.broken !== undefined || done === clients.length, WORLD_ENDS_MS);
    if (done < clients.length) judge.violation("a task did not end");
    if (judge.broken === undefined) for (const program of this.programs) await this.#compare(program);
  }

  /** H34, H36: what a call does and returns as a task is what it would have done and returned in the foreground. */
  async #compare(program: Program): Promise<void> {
    const { judge } = this;
    const { label } = program;
    const end = judge.endOf(label) ?? "";
    // Who wins a race is the world's to decide.
    if (!end.startsWith("completed ") || program.races) return;
    const expected = await playInForeground(program, (message) => judge.answerTo(message));
    if (!end.includes(JSON.stringify(expected.text)))
      judge.violation(`${label} ended with ${end}, and in the foreground with ${expected.text}`);
    const effects = judge.effectsOf(label).sort().join(" ");
    if (effects !== expected.effects.sort().join(" "))
      judge.violation(`${label} did ${effects}, and in the foreground ${expected.effects.join(" ")}`);
    this.count("compared with the foreground");
  }

  /** Nothing goes wrong here at all. */
  get #calm(): boolean {
    const { loss, crashes, pauses, outages, storeLoss, delayMs, rotation } = this.config;
    return loss + crashes + pauses + outages + storeLoss === 0 && delayMs <= 20 && !rotation;
  }

  #scene(label: string, place: Place): Scene {
    const { kernel, judge, cluster, config } = this;
    const current = () => kernel.process as TaskReplica;
    return {
      begun: () => undefined,
      asked: (message) => judge.asked(message, place === "task" ? current() : undefined, kernel.now),
      effect: async ({ step, ms, heeds }, { idempotencyKey, signal }) => {
        const by = current();
        if (place === "task") judge.begins(label, step);
        const ends = kernel.now + ms;
        while (kernel.now < ends) {
          await kernel.sleep(Math.min(20, ends - kernel.now), by);
          if (heeds) signal.throwIfAborted();
        }
        if (this.#calm && place === "task") judge.stillRuns(label, by, kernel.now);
        judge.effect(label, step, { idempotencyKey, by, loose: place === "round" && !config.ledger });
        this.log(() => `EFFECT ${label}/${step} by ${by.name} in the ${place}`);
        cluster.critical(by);
        return `did ${step}`;
      },
      answered: (_key, message, answer) => {
        const content = /^[^/]+\/c/.test(message) ? { confirm: answer === "true" } : { echo: answer };
        judge.answered(message, JSON.stringify({ action: "accept", content }));
      },
    };
  }
}

/** Plays the history of `seed`. The same seed plays the same history. */
export async function simulateTasks(
  seed: number,
  { mutant, verbose = false }: { mutant?: TaskMutant | undefined; verbose?: boolean } = {},
): Promise<TaskHistory> {
  const world = new TaskWorld(seed, mutant, verbose);
  await world.play();
  const { config, judge, kernel, seen, lines } = world;
  return { seed, config, broken: judge.broken, lines, events: kernel.steps, repeated: judge.repeated, seen };
}
