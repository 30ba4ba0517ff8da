import type { StepFailure } from "../errors.ts";
import { toJson } from "../internal/json.ts";
import type { StepEntry } from "../journal/entry.ts";
import { abortSignalOf, type RunSignal } from "./signal.ts";
import type { Deps, RetryOptions, StepContext } from "./types.ts";

export type StepFunction = (context: StepContext) => unknown;

/** A step that ended: what is recorded, and (for this run only) the original error. */
export interface StepRun {
  readonly entry: StepEntry;
  readonly cause?: unknown;
}

/**
 * Runs a step until it succeeds or its tries are used up. A value that JSON cannot carry is not a failure of the step:
 * it throws `step_value`, since recording it would change it.
 *
 * @param mayTry Asked before every try; what it throws ends the step.
 * @returns `undefined` when the step was broken off before its end: nothing is recorded, and another delivery runs it.
 */
export async function runStep(
  key: string,
  fn: StepFunction,
  retry: RetryOptions,
  signal: RunSignal,
  deps: Deps,
  mayTry: () => boolean,
): Promise<StepRun | undefined> {
  const { attempts = 1, delayMs = 200, factor = 2 } = retry;
  for (let attempt = 1; ; attempt++) {
    if (!mayTry()) return undefined;
    let value: unknown;
    try {
      value = await deps.insideStep(key, () => fn(contextOf(key, attempt, signal, deps)));
    } catch (cause) {
      if (signal.aborted && (attempt < attempts || isAbort(cause, signal))) return undefined;
      if (attempt >= attempts) return { entry: { type: "step", key, failure: asFailure(cause) }, cause };
      await deps.sleep(delayMs * factor ** (attempt - 1), abortSignalOf(signal));
      // Nobody waits for another try any more (I6); whoever comes again gets one.
      if (signal.aborted) return undefined;
      continue;
    }
    return {
      entry: value === undefined ? { type: "step", key } : { type: "step", key, value: toJson(value, `step "${key}"`) },
    };
  }
}

function contextOf(key: string, attempt: number, signal: RunSignal, deps: Deps): StepContext {
  return {
    // Few steps look at either.
    get idempotencyKey() {
      return deps.idempotencyKey(key);
    },
    attempt,
    get signal() {
      return abortSignalOf(signal);
    },
  };
}

/** The step gave up because it was told to: that says nothing about how it would have ended. */
function isAbort(cause: unknown, { reason }: RunSignal): boolean {
  return cause === reason || (cause instanceof Error && cause.name === "AbortError");
}

/** An error as data: class identity does not survive a round, so name, message and code are all that is kept. */
export function asFailure(cause: unknown): StepFailure {
  if (typeof cause !== "object" || cause === null) return { name: "Error", message: asText(() => cause) };
  const { name, message, code } = readable(cause) as { name?: unknown; message?: unknown; code?: unknown };
  const failure = {
    name: typeof name === "string" ? name : "Error",
    message: typeof message === "string" ? message : asText(() => cause),
  };
  return typeof code === "string" || Number.isFinite(code) ? { ...failure, code: code as string | number } : failure;
}

/** Whatever was thrown, as text; what has no text says so. */
function asText(value: () => unknown): string {
  try {
    return String(value());
  } catch {
    return "(an error without text)";
  }
}

/** The three members, where reading them does not throw. */
function readable(error: object): Record<string, unknown> {
  const read = (member: string): unknown => {
    try {
      return (error as Record<string, unknown>)[member];
    } catch {
      return undefined;
    }
  };
  return { name: read("name"), message: read("message"), code: read("code") };
}
