/** The point at which the rest of a flow becomes a task. */
import { ParleyError } from "../errors.ts";
import { badOption, checkNames } from "../internal/options.ts";
import type { Entry, Pending } from "../journal/entry.ts";
import { TASKS_EXTENSION } from "../protocol/tasks.ts";
import type { ClientCapabilities } from "../protocol/types.ts";
import type { BackgroundOptions, RunOutcome } from "./types.ts";

/** Where the journal says that the rest runs as a task (`true`), or was to go on in the foreground (`false`). */
export const BACKGROUND_KEY = "#background";

/** What `-32021` names (H5). */
export const TASKS_MISSING: ClientCapabilities = { extensions: { [TASKS_EXTENSION]: {} } };

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

export function handedOver(
  options: BackgroundOptions,
  journal: readonly Entry[],
  pending: readonly Pending[],
): RunOutcome<never> {
  const handOver: Entry = { type: "step", key: BACKGROUND_KEY, value: true };
  return { kind: "background", options, journal: [...journal, handOver], pending };
}

export function twiceInBackground(): ParleyError {
  const message = "flow.background() was used twice in one run: a flow is handed over once.";
  return new ParleyError("duplicate_key", message, { details: { key: BACKGROUND_KEY } });
}

/** The flow went on in the request, or as a task that nobody waits for: what comes after it ran in the wrong place. */
export function backgroundUnawaited(): ParleyError {
  const message = 'The flow went on without awaiting flow.background(). Write "await" before it.';
  return new ParleyError("unawaited_background", message, { details: { key: BACKGROUND_KEY } });
}

export function nowhereToRun(): ParleyError {
  const message =
    'flow.background() needs a tool, and createParley the option tasks. Say otherwise: "foreground" to go on without.';
  return new ParleyError("configuration", message, { details: { option: "tasks" } });
}
