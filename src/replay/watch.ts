/** When a run is over, or cannot go on (design rule 3). */
import type { RunOutcome } from "./types.ts";

/**
 * Where a run stands when nothing has moved for a turn: it ends; something of it goes on; it waits for what is neither
 * question nor step; or something recorded has not come back while something else waits for it.
 */
export type Standing<R> = RunOutcome<R> | "busy" | "idle" | "stuck";

export interface Watched<R> {
  readonly end: RunOutcome<R> | undefined;
  /** Grows with everything that happens in the run. */
  readonly activity: number;
  standing(): Standing<R>;
  /** Resolves with the next thing that happens. */
  progress(): Promise<void>;
  /** Lets what is open be seen while the run goes on. */
  show(): void;
  /** How long a recorded entry may take to come back. */
  grace(): Promise<void>;
  finish(end: RunOutcome<R>): void;
  diverged(): void;
}

/**
 * Waits for the end, or makes one when the flow cannot go on.
 * @param turn a turn of the event loop, or less when the run ends in it.
 */
export async function watch<R>(run: Watched<R>, turn: () => Promise<void>): Promise<RunOutcome<R>> {
  let graceSpentAt = -1;
  while (run.end === undefined) {
    const seen = run.activity;
    await turn();
    if (run.end !== undefined || run.activity !== seen) continue;
    const standing = run.standing();
    if (standing === "busy") run.show();
    if (run.end !== undefined) continue;
    if (standing === "busy" || standing === "idle") await run.progress();
    else if (standing !== "stuck") run.finish(standing);
    else if (graceSpentAt === seen) run.diverged();
    else {
      graceSpentAt = seen;
      await Promise.race([run.progress(), run.grace()]);
    }
  }
  return run.end;
}
