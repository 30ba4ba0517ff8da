/** One life of a server process, and the time and chance it lives in. */
import type { ParleyOptions } from "../src/server/options.ts";
import { type Kernel, Process } from "./kernel.ts";
import type { Rng } from "./rng.ts";

/** Trouble that excuses an effect done twice, if it came between the effect and its record. */
export interface Fault {
  readonly at: number;
  readonly kind: "crash" | "pause" | "store" | "client left";
}

/** What every part of a world stands on. */
export interface Stage {
  readonly rng: Rng;
  readonly kernel: Kernel;
  /** Whether faults may still happen. */
  faulty(): boolean;
  count(what: string): void;
  log(line: () => string): void;
}

/** One life of a replica, from start to crash. */
export class Life extends Process {
  readonly #stage: Stage;
  readonly keys: readonly Uint8Array[];
  readonly faults: Fault[] = [];

  constructor(stage: Stage, name: string, keys: readonly Uint8Array[]) {
    super(name);
    this.#stage = stage;
    this.keys = keys;
  }

  fault(kind: Fault["kind"]): void {
    this.#stage.count(kind);
    this.faults.push({ at: this.#stage.kernel.now, kind });
  }

  die(): void {
    this.alive = false;
  }

  /** The server's own options: its clock, which may be ahead, its chance, and its timers, which end with it. */
  options(offsetMs: number): Pick<ParleyOptions, "now" | "random" | "holdClock" | "schedule"> {
    const { kernel, rng } = this.#stage;
    return {
      now: () => 1_800_000_000_000 + kernel.now + offsetMs,
      random: (bytes) => rng.bytes(bytes),
      holdClock: {
        now: () => kernel.now + offsetMs,
        sleep: (ms) => kernel.sleep(Math.ceil(ms), this),
        every: (ms, callback) => kernel.every(ms, this, callback),
      },
      schedule: {
        afterMicrotasks: (callback) => kernel.soon(this, callback),
        turn: (callback) => void kernel.sleep(rng.int(0, 1), this).then(callback),
        sleep: (ms) => kernel.sleep(ms, this),
      },
    };
  }
}
