/** The network between a replica and its store: operations that are refused, lost, or applied when nobody waits for them. */
import { STORE_TIMEOUT_MS } from "./config.ts";
import type { Life, Stage } from "./life.ts";

/** One operation of the store, as a replica asks for it. */
export interface Operation<T> {
  readonly from: Life;
  /** For the history. */
  what(): string;
  apply(): Promise<T>;
  /** What the replica is told when it gets no answer. */
  failure(why: string): Error;
}

export class StoreLink {
  readonly #stage: Stage;
  /** Chance that one operation is lost, or answered too late. */
  readonly #loss: number;
  /** Told when an operation reaches the store: its replica does not know what became of it. */
  readonly #reached: (from: Life) => void;
  readonly #broken: (what: string) => void;
  downUntil = 0;

  constructor(stage: Stage, loss: number, reached: (from: Life) => void, broken: (what: string) => void) {
    this.#stage = stage;
    this.#loss = loss;
    this.#reached = reached;
    this.#broken = broken;
  }

  ask<T>({ from, what, apply, failure }: Operation<T>): Promise<T> {
    const { kernel, rng, faulty, log } = this.#stage;
    return new Promise((resolve, reject) => {
      const fail = (why: string) => {
        from.fault("store");
        log(() => `${what()}: ${why}`);
        reject(failure(why));
      };
      if (kernel.now < this.downUntil && rng.chance(0.7)) {
        kernel.after(rng.int(0, 5), from, () => fail("refused"));
        return;
      }
      let answered = false;
      kernel.after(STORE_TIMEOUT_MS, from, () => {
        if (!answered) fail("no answer in time");
        answered = true;
      });
      const troubled = () => faulty() && rng.chance(this.#loss);
      if (troubled() && rng.chance(0.5)) return;
      // A late request is applied when nobody waits for it any more.
      const late = () => (troubled() ? rng.int(STORE_TIMEOUT_MS, 3 * STORE_TIMEOUT_MS) : rng.int(0, 3));
      kernel.after(late(), undefined, () => {
        if (kernel.now < this.downUntil) return;
        this.#reached(from);
        apply().then(
          (value) => {
            log(() => `${what()} -> ${kindOf(value)}`);
            if (troubled() && rng.chance(0.5)) return;
            kernel.after(late(), from, () => {
              if (!answered) resolve(value);
              answered = true;
            });
          },
          (error: unknown) => this.#broken(`${what()} threw ${String(error)}`),
        );
      });
    });
  }
}

function kindOf(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return "type" in value ? String(value.type) : "found";
}
