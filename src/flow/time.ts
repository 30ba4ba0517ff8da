/** What takes its time: waits, and the rest of a call as a task. */
import { badOption, checkNames } from "../internal/options.ts";
import type { BackgroundOptions, WaitOptions } from "../replay/types.ts";
import { checkDurations } from "./questions.ts";
import type { UntilOptions } from "./types.ts";

/** @throws ParleyError `invalid_question` */
export function waitOptions(key: string, until: WaitOptions["until"], options: UntilOptions): WaitOptions {
  checkDurations(key, options);
  const { waitMs = 600_000, pollMs = 25_000, everyMs = 500 } = options;
  return { until, waitMs, pollMs, everyMs };
}

const BACKGROUND: Record<keyof BackgroundOptions, true> = { ttlMs: true, pollIntervalMs: true, otherwise: true };

/**
 * @param group The option of `where` that these are, if they are one.
 * @throws ParleyError `configuration`, naming the option
 */
export function checkBackground(options: BackgroundOptions, where = "flow.background", group?: string): void {
  checkNames(where, options, BACKGROUND, group);
  const { ttlMs, pollIntervalMs, otherwise } = options;
  const wrong = (name: string, rule: string) => badOption(where, group === undefined ? name : `${group}.${name}`, rule);
  for (const [name, ms] of Object.entries({ ttlMs, pollIntervalMs })) {
    if (ms === undefined || (Number.isSafeInteger(ms) && ms > 0)) continue;
    throw wrong(name, "must be a whole number of ms, 1 or more");
  }
  if (otherwise === undefined || otherwise === "refuse" || otherwise === "foreground") return;
  throw wrong("otherwise", 'must be "refuse" or "foreground"');
}
