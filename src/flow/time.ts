/** What takes its time: waits, and how far it is. */
import { ParleyError } from "../errors.ts";
import type { WaitOptions } from "../replay/types.ts";
import { checkDurations } from "./questions.ts";
import type { Progress, UntilOptions } from "./types.ts";

/** @throws ParleyError `invalid_question` */
export function waitOptions(key: string, until: WaitOptions["until"], options: UntilOptions): WaitOptions {
  checkDurations(key, options);
  const { waitMs = 600_000, pollMs = 25_000, everyMs = 500 } = options;
  return { until, waitMs, pollMs, everyMs };
}

/** @throws ParleyError `configuration` */
export function checkProgress(given: Progress): void {
  const { progress, total = 0, message = "" } = Object(given) as Partial<Progress>;
  if (Number.isFinite(progress) && Number.isFinite(total) && typeof message === "string") return;
  const shape = "{ progress: number, total?: number, message?: string }";
  throw new ParleyError("configuration", `flow.progress takes ${shape}, such as { progress: 1, message: "building" }.`);
}
