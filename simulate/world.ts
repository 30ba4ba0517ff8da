/** One simulated world, made and played from a seed. */
import { Client } from "./clients.ts";
import { Cluster } from "./cluster.ts";
import { type Config, drawConfig, FAULTS_END_MS, LEASE_MS, WORLD_ENDS_MS } from "./config.ts";
import { Judge } from "./judge.ts";
import { Kernel } from "./kernel.ts";
import type { Life } from "./life.ts";
import { StoreLink } from "./link.ts";
import { Mallory } from "./mallory.ts";
import type { Mutant } from "./mutants.ts";
import { Names } from "./names.ts";
import { drawPlan } from "./plan.ts";
import { Incarnation } from "./replica.ts";
import { Rng } from "./rng.ts";
import type { RoundStage } from "./stage.ts";
import { SimStore } from "./store.ts";
import { Wire } from "./wire.ts";

/** What became of one seed. */
export interface History {
  readonly seed: number;
  readonly config: Config;
  /** The broken promise, if there is one. */
  readonly broken: string | undefined;
  /** Empty unless asked for. */
  readonly lines: readonly string[];
  readonly events: number;
  /** Effects that happened again under the same key because a fault hit between effect and record. */
  readonly repeated: number;
  /** What happened, counted: a history in which nothing goes wrong shows nothing. */
  readonly seen: Readonly<Record<string, number>>;
}

export class World implements RoundStage {
  readonly rng: Rng;
  readonly config: Config;
  readonly kernel: Kernel;
  readonly names = new Names();
  readonly secrets: readonly Uint8Array[];
  readonly mutant: Mutant | undefined;
  readonly store: SimStore;
  readonly judge: Judge;
  readonly wire: Wire;
  readonly link: StoreLink;
  readonly cluster: Cluster<Incarnation>;
  readonly mallory: Mallory;
  readonly lines: string[] = [];
  readonly seen: Record<string, number> = {};
  readonly #verbose: boolean;

  constructor(seed: number, mutant: Mutant | undefined, verbose: boolean) {
    this.#verbose = verbose;
    this.mutant = mutant;
    this.rng = new Rng(seed);
    this.config = drawConfig(this.rng);
    this.kernel = new Kernel(this.rng);
    this.secrets = [this.rng.bytes(32), this.rng.bytes(32)];
    this.judge = new Judge(this);
    this.link = new StoreLink(this, this.config.storeLoss, this.critical, (what) => this.judge.violation(what));
    this.store = new SimStore(this, this.link);
    this.wire = new Wire(this);
    this.mallory = new Mallory(this);
    this.cluster = new Cluster(
      this,
      this.config,
      this.secrets,
      (name, keys, offsetMs) => new Incarnation(this, name, keys, offsetMs),
    );
  }

  /** Whether faults may still happen. */
  readonly faulty = (): boolean => this.kernel.now < FAULTS_END_MS;

  readonly log = (line: () => string): void => {
    if (this.#verbose) this.lines.push(`${String(this.kernel.now).padStart(6)} ms  ${line()}`);
  };

  readonly count = (what: string): void => {
    this.seen[what] = (this.seen[what] ?? 0) + 1;
  };

  readonly critical = (process: Life): void => this.cluster.critical(process);

  async play(): Promise<void> {
    const { config, rng, judge } = this;
    const clients: Client[] = [];
    for (let n = 0; n < config.honestCalls + config.greedyCalls; n++) {
      const greedy = n >= config.honestCalls;
      const plan = drawPlan(rng, 2 * LEASE_MS);
      const label = "ABCDEF"[n] as string;
      this.log(() => `${label}: ${greedy ? "greedy " : ""}${JSON.stringify(plan)}`);
      clients.push(new Client(this, label, rng.pick(["ann", "bob"]), plan, greedy || rng.chance(0.8), greedy));
    }
    const failed = (error: unknown) =>
      judge.violation(`the simulator itself failed: ${String((error as Error).stack)}`);
    for (const client of clients) client.run().catch(failed);
    let attacking = true;
    this.mallory.run(config.attacks).then(() => (attacking = false), failed);
    this.cluster.trouble(this.link);
    const over = () => judge.broken !== undefined || (!attacking && clients.every(({ ended }) => ended));
    await this.kernel.run(over, WORLD_ENDS_MS);
    if (judge.broken === undefined && !clients.every(({ ended }) => ended))
      judge.violation("an honest call did not end");
  }
}

/** Plays the history of `seed`. The same seed plays the same history. */
export async function simulate(seed: number, options: { mutant?: Mutant; verbose?: boolean } = {}): Promise<History> {
  const world = new World(seed, options.mutant, options.verbose ?? false);
  await world.play();
  const { config, judge, lines, kernel, seen } = world;
  return { seed, config, broken: judge.broken, lines, events: kernel.steps, repeated: judge.effects.repeated, seen };
}
