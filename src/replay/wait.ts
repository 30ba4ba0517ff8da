import type { Deps, WaitOptions } from "./types.ts";

/** `pending`: not done yet, and there is time for another round. */
export type WaitEnd = "done" | "over" | "pending";

/** Looks until it is done, until the round has waited long enough, or until the time in all is up. */
export async function waitFor(
  { until, waitMs, pollMs, everyMs }: WaitOptions,
  sinceMs: number,
  signal: AbortSignal,
  deps: Deps,
): Promise<WaitEnd> {
  const roundEnds = deps.now() + pollMs;
  const timeEnds = sinceMs + waitMs;
  for (;;) {
    if (await until(signal)) return "done";
    const left = Math.min(roundEnds, timeEnds) - deps.now();
    if (left <= 0 || signal.aborted) return timeEnds <= deps.now() ? "over" : "pending";
    await deps.sleep(Math.min(everyMs, left), signal);
  }
}
