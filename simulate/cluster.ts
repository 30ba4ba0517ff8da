/** The replicas as a deployment: which run, what befalls them, and how their keys are rotated. */
import { FAULTS_END_MS, LEASE_MS } from "./config.ts";
import type { Life, Stage } from "./life.ts";

export interface ClusterConfig {
  readonly replicas: number;
  readonly crashes: number;
  readonly pauses: number;
  readonly outages: number;
  readonly rotation: boolean;
  /** How far the replicas' wall clocks may differ, in ms. */
  readonly skewMs: number;
}

interface Slot<R> {
  readonly name: string;
  readonly offsetMs: number;
  keys: readonly Uint8Array[];
  lives: number;
  current: R | undefined;
}

export class Cluster<R extends Life> {
  readonly #stage: Stage;
  readonly #config: ClusterConfig;
  /** The key of the beginning, and the one it is replaced by. */
  readonly #secrets: readonly Uint8Array[];
  readonly #make: (name: string, keys: readonly Uint8Array[], offsetMs: number) => R;
  readonly #slots: Slot<R>[];
  readonly #ambushes: ((slot: Slot<R>) => void)[] = [];

  constructor(
    stage: Stage,
    config: ClusterConfig,
    secrets: readonly Uint8Array[],
    make: (name: string, keys: readonly Uint8Array[], offsetMs: number) => R,
  ) {
    this.#stage = stage;
    this.#config = config;
    this.#secrets = secrets;
    this.#make = make;
    this.#slots = Array.from({ length: config.replicas }, (_, index) => ({
      name: `r${index + 1}`,
      offsetMs: stage.rng.int(0, config.skewMs),
      keys: secrets.slice(0, 1),
      lives: 0,
      current: undefined,
    }));
    for (const slot of this.#slots) this.#start(slot);
  }

  /** A replica that takes connections, as a load balancer would choose. */
  any(): R | undefined {
    const up = this.#slots.flatMap(({ current }) => current ?? []);
    return up.length === 0 ? undefined : this.#stage.rng.pick(up);
  }

  /** Lets things happen to replicas and store until the faults end. */
  trouble(store: { downUntil: number }): void {
    const { kernel, rng, log, count } = this.#stage;
    const { crashes, pauses, outages, rotation } = this.#config;
    const sometime = (run: () => void) => kernel.after(rng.int(0, FAULTS_END_MS), undefined, run);
    for (let n = 0; n < crashes + pauses; n++) {
      const strike = (slot: Slot<R>) => (n < crashes ? this.#crash(slot, rng.int(10, 1_500)) : this.#pause(slot));
      if (rng.chance(0.3)) sometime(() => strike(rng.pick(this.#slots)));
      else this.#ambushes.push(strike);
    }
    for (let n = 0; n < outages; n++) {
      sometime(() => {
        const ms = rng.int(50, 1_200);
        log(() => `the store is down for ${ms} ms`);
        count("outage");
        store.downUntil = kernel.now + ms;
      });
    }
    if (rotation) void this.#rotate();
  }

  /** Something just happened outside that `replica` does not know of yet: the worst moment for a fault. */
  critical(replica: Life): void {
    const { kernel, rng, faulty } = this.#stage;
    if (this.#ambushes.length === 0 || !faulty() || !rng.chance(0.1)) return;
    const slot = this.#slots.find(({ current }) => current === replica);
    if (slot === undefined) return;
    const strike = this.#ambushes.pop();
    if (strike !== undefined) kernel.after(0, undefined, () => strike(slot));
  }

  #start(slot: Slot<R>): void {
    if (slot.current !== undefined) return;
    slot.current = this.#make(`${slot.name}.${++slot.lives}`, slot.keys, slot.offsetMs);
    this.#stage.log(() => `${slot.name}.${slot.lives} starts`);
  }

  #crash(slot: Slot<R>, downMs: number): void {
    const { kernel, log } = this.#stage;
    const { current } = slot;
    if (current === undefined) return;
    log(() => `${current.name} CRASHES`);
    current.fault("crash");
    slot.current = undefined;
    current.die();
    kernel.after(downMs, undefined, () => this.#start(slot));
  }

  #pause({ current }: Slot<R>): void {
    const { kernel, rng, log } = this.#stage;
    if (current === undefined) return;
    const ms = rng.int(10, 3 * LEASE_MS);
    log(() => `${current.name} is paused for ${ms} ms`);
    current.fault("pause");
    current.pausedUntil = kernel.now + ms;
  }

  /** Every replica learns the new key before any seals with it. */
  async #rotate(): Promise<void> {
    const { kernel, rng, log } = this.#stage;
    const [older, newer] = this.#secrets as [Uint8Array, Uint8Array];
    await kernel.sleep(rng.int(0, FAULTS_END_MS / 2));
    for (const keys of [
      [older, newer],
      [newer, older],
    ]) {
      for (const slot of this.#slots) {
        slot.keys = keys;
        log(
          () => `${slot.name} is given ${keys[0] === older ? "the new key to open with" : "the new key to seal with"}`,
        );
        this.#crash(slot, 20);
        await kernel.sleep(rng.int(50, 300));
        // One that was down already comes back with whatever it is given now.
        while (slot.current === undefined || slot.current.keys !== keys) await kernel.sleep(20);
      }
    }
  }
}
