/** What takes its time: waits, and the rest of a call as a task. */
import { ParleyError } from "../errors.ts";
import type { BackgroundOptions, WaitOptions } from "../replay/types.ts";
import { checkDurations } from "./questions.ts";
import type { UntilOptions } from "./types.ts";

/** @throws ParleyError `invalid_question` */
export function waitOptions(key: string, until: WaitOptions["until"], options: UntilOptions): WaitOptions {
  checkDurations(key, options);
  const { waitMs = 600_000, pollMs = 25_000, everyMs = 500 } = options;
  return { until, waitMs, pollMs, everyMs };
}

/** @throws ParleyError `configuration` */
export function checkBackground({ ttlMs, pollIntervalMs, otherwise }: BackgroundOptions): void {
  for (const [name, ms] of Object.entries({ ttlMs, pollIntervalMs })) {
    if (ms === undefined || (Number.isSafeInteger(ms) && ms > 0)) continue;
    throw new ParleyError("configuration", `flow.background: ${name} must be a whole number of ms, 1 or more.`);
  }
  if (otherwise === undefined || otherwise === "refuse" || otherwise === "foreground") return;
  throw new ParleyError("configuration", 'flow.background: otherwise must be "refuse" or "foreground".');
}
