/** The replicas as a deployment: which run, what befalls them, and how their keys are rotated. */
import { FAULTS_END_MS, LEASE_MS } from "./config.ts";
import { Incarnation } from "./replica.ts";
import type { World } from "./world.ts";

interface Slot {
  readonly name: string;
  readonly offsetMs: number;
  keys: readonly Uint8Array[];
  lives: number;
  current: Incarnation | undefined;
}

export class Cluster {
  readonly #world: World;
  readonly #slots: Slot[];
  readonly #ambushes: ((slot: Slot) => void)[] = [];

  constructor(world: World) {
    this.#world = world;
    const { rng, config, secrets } = world;
    this.#slots = Array.from({ length: config.replicas }, (_, index) => ({
      name: `r${index + 1}`,
      offsetMs: rng.int(0, config.skewMs),
      keys: secrets.slice(0, 1),
      lives: 0,
      current: undefined,
    }));
    for (const slot of this.#slots) this.#start(slot);
  }

  /** A replica that takes connections, as a load balancer would choose. */
  any(): Incarnation | undefined {
    const up = this.#slots.flatMap(({ current }) => current ?? []);
    return up.length === 0 ? undefined : this.#world.rng.pick(up);
  }

  /** Lets things happen to replicas and store until the faults end. */
  trouble(): void {
    const { kernel, rng, config, store, log } = this.#world;
    const sometime = (run: () => void) => kernel.after(rng.int(0, FAULTS_END_MS), undefined, run);
    for (let n = 0; n < config.crashes + config.pauses; n++) {
      const strike = (slot: Slot) => (n < config.crashes ? this.#crash(slot, rng.int(10, 1_500)) : this.#pause(slot));
      if (rng.chance(0.3)) sometime(() => strike(rng.pick(this.#slots)));
      else this.#ambushes.push(strike);
    }
    for (let n = 0; n < config.outages; n++) {
      sometime(() => {
        const ms = rng.int(50, 1_200);
        log(() => `the store is down for ${ms} ms`);
        store.downUntil = kernel.now + ms;
      });
    }
    if (config.rotation) void this.#rotate();
  }

  /** Something just happened outside that `incarnation` does not know of yet: the worst moment for a fault. */
  critical(incarnation: Incarnation): void {
    const { kernel, rng, faulty } = this.#world;
    if (this.#ambushes.length === 0 || !faulty() || !rng.chance(0.1)) return;
    const slot = this.#slots.find(({ current }) => current === incarnation);
    if (slot === undefined) return;
    const strike = this.#ambushes.pop();
    if (strike !== undefined) kernel.after(0, undefined, () => strike(slot));
  }

  #start(slot: Slot): void {
    if (slot.current !== undefined) return;
    slot.current = new Incarnation(this.#world, `${slot.name}.${++slot.lives}`, slot.keys, slot.offsetMs);
    this.#world.log(() => `${slot.name}.${slot.lives} starts`);
  }

  #crash(slot: Slot, downMs: number): void {
    const { kernel, log } = this.#world;
    const { current } = slot;
    if (current === undefined) return;
    log(() => `${current.name} CRASHES`);
    current.fault("crash");
    current.alive = false;
    slot.current = undefined;
    for (const broken of current.open.values()) broken();
    kernel.after(downMs, undefined, () => this.#start(slot));
  }

  #pause({ current }: Slot): void {
    const { kernel, rng, log } = this.#world;
    if (current === undefined) return;
    const ms = rng.int(10, 3 * LEASE_MS);
    log(() => `${current.name} is paused for ${ms} ms`);
    current.fault("pause");
    current.pausedUntil = kernel.now + ms;
  }

  /** Every replica learns the new key before any seals with it. */
  async #rotate(): Promise<void> {
    const { kernel, rng, secrets, log } = this.#world;
    const [older, newer] = secrets as [Uint8Array, Uint8Array];
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
