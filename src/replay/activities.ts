import { ParleyError, StepFailed } from "../errors.ts";
import type { Pending, StepEntry } from "../journal/entry.ts";
import type { Json } from "../protocol/types.ts";
import { holdLost } from "./divergence.ts";
import { abortSignalOf } from "./signal.ts";
import { asFailure, runStep, type StepFunction, type StepRun } from "./step.ts";
import type { Deps, RetryOptions, RunInput, WaitOptions } from "./types.ts";
import { waitFor } from "./wait.ts";

/** What running steps need from the run they belong to. */
export interface ActivityHost {
  /** Everything recorded has been replayed, and the round is not lost anyway. */
  mayStart(): boolean;
  isOver(): boolean;
  /** Enters what ended into the journal, and hands it to the flow once it is on record. */
  settle(entry: StepEntry, release: () => void): Promise<void>;
  fail(error: ParleyError): void;
  touch(): void;
}

export interface Settler {
  resolve(value: Json | undefined): void;
  reject(error: unknown): void;
}

/** New steps and waits of one run: held until they may start, running, or (a wait) left for the next round. */
export class Activities {
  readonly #input: RunInput;
  readonly #deps: Deps;
  readonly #host: ActivityHost;
  readonly #held: (() => void)[] = [];
  readonly #running = new Set<string>();
  readonly #waits: Pending[] = [];

  constructor(input: RunInput, deps: Deps, host: ActivityHost) {
    this.#input = input;
    this.#deps = deps;
    this.#host = host;
  }

  get held(): number {
    return this.#held.length;
  }

  get running(): ReadonlySet<string> {
    return this.#running;
  }

  /** Waits that have time for another round. */
  get waits(): readonly Pending[] {
    return this.#waits;
  }

  step(key: string, fn: StepFunction, retry: RetryOptions, settler: Settler): void {
    this.#hold(key, () => this.#perform(key, fn, retry), settler);
  }

  wait(key: string, options: WaitOptions, sinceMs: number, settler: Settler): void {
    this.#hold(
      key,
      async () => {
        try {
          const end = await waitFor(options, sinceMs, abortSignalOf(this.#input.signal), this.#deps);
          if (end !== "pending") return { entry: { type: "step", key, value: end === "done" } };
          this.#waits.push({ key, kind: "wait", digest: "", attempts: 0, changes: 0, sinceMs });
          return undefined;
        } catch (cause) {
          return { entry: { type: "step", key, failure: asFailure(cause) }, cause };
        }
      },
      settler,
    );
  }

  /** Enters what needs no work, in its turn. */
  note(key: string, value: Json, settler: Settler): void {
    this.#hold(key, async () => ({ entry: { type: "step", key, value } }), settler);
  }

  start(): void {
    if (!this.#host.mayStart()) return;
    for (const run of this.#held.splice(0)) run();
  }

  /** Keeps `perform` until it may start; what it yields is recorded and handed to the flow, `undefined` is not. */
  #hold(key: string, perform: () => Promise<StepRun | undefined>, settler: Settler): void {
    this.#held.push(() => {
      this.#running.add(key);
      perform()
        .then((run) => {
          if (run === undefined || this.#host.isOver()) return undefined;
          return this.#host.settle(run.entry, () => settleStep(run.entry, run.cause, settler));
        })
        .finally(() => this.#running.delete(key))
        .then(
          () => this.#host.touch(),
          (error: unknown) => this.#host.fail(asParleyError(key, error)),
        );
    });
    this.start();
  }

  async #perform(key: string, fn: StepFunction, retry: RetryOptions): Promise<StepRun | undefined> {
    const { record, signal } = this.#input;
    const finished = record?.finished.get(key);
    if (finished !== undefined) return { entry: finished };
    return runStep(key, fn, retry, signal, this.#deps, () => {
      if (record !== undefined && !record.isHeld()) throw holdLost(key);
      return !signal.aborted && !this.#host.isOver();
    });
  }
}

/** Hands a step's end to the flow: its value, or its failure as `StepFailed`. */
export function settleStep(entry: StepEntry, cause: unknown, { resolve, reject }: Settler): void {
  if (entry.failure !== undefined) reject(new StepFailed(entry.key, entry.failure, cause));
  else resolve(entry.value);
}

function asParleyError(key: string, error: unknown): ParleyError {
  return error instanceof ParleyError ? error : new StepFailed(key, asFailure(error));
}
