import type { Json } from "../protocol/types.ts";
import type { Outcome, Question } from "./question.ts";
import { Run } from "./run.ts";
import type { StepFunction } from "./step.ts";
import type { BackgroundOptions, Deps, RetryOptions, RunInput, RunOutcome, WaitOptions } from "./types.ts";

/** What a flow may do to its run. */
export interface Asker {
  ask(question: Question): Promise<Outcome<unknown>>;
  step(key: string, fn: StepFunction, retry: RetryOptions): Promise<Json | undefined>;
  wait(key: string, options: WaitOptions): Promise<boolean>;
  /** Hands the rest of the flow over: `true` once it runs there, `false` where it goes on in the foreground. */
  background(options: BackgroundOptions): Promise<boolean>;
  /** The flow waits for `key`: what it was asked for matters. */
  awaited(key: string): void;
  /** What was on record when the run began has not all come back: an earlier run has been where the flow is now. */
  readonly replaying: boolean;
  /** The round has ended: whatever still runs is a stray. */
  readonly over: boolean;
}

export type RoundOutcome<R> = Exclude<RunOutcome<R>, { kind: "settled" }>;

/** Runs one round of a flow: once, or (with `every-step`) as often as something settles. */
export async function runRound<R>(
  flow: (asker: Asker) => R | Promise<R>,
  input: RunInput,
  deps: Deps,
): Promise<RoundOutcome<R>> {
  const { journal, record } = input;
  let own = record === undefined ? input : { ...input, journal: [...journal, ...record.entries] };
  for (;;) {
    if (input.live !== undefined) {
      const { pending, responses } = input.live;
      own = { ...own, pending, responses };
    }
    const run = new Run<R>(own, deps);
    const outcome = await run.start(() => flow(run));
    if (outcome.kind !== "settled") return outcome;
    own = { ...own, journal: outcome.journal };
  }
}
