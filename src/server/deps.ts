import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import canonicalize from "canonicalize";
import type { Json } from "../protocol/types.ts";
import type { Deps } from "../replay/types.ts";
import { digest, digestFor } from "./digest.ts";

/** Which step's function an asynchronous context belongs to. */
const steps = new AsyncLocalStorage<string>();
let running = 0;

/** Node 20 and 22 watch every promise of the process once a context has been entered, so it is left again at the end. */
async function insideStep<T>(key: string, run: () => T | Promise<T>): Promise<T> {
  running++;
  try {
    return await steps.run(key, run);
  } finally {
    running--;
    if (running === 0) steps.disable();
  }
}

/**
 * Runs what belongs to no step, wherever it is called from: a pool or a queue that a step's function uses may call back in
 * that step's asynchronous context.
 */
export function outsideSteps<T>(run: () => T): T {
  return steps.exit(run);
}

/** How the engine lets time pass; injected, so that a simulated world can own it. */
export type Schedule = Pick<Deps, "afterMicrotasks" | "turn" | "sleep">;

export const nodeSchedule: Schedule = {
  // A next tick that a microtask asks for comes when the microtask queue is empty. One that a next tick asks for comes
  // before the microtasks, so it is never asked for directly.
  afterMicrotasks: (callback) => queueMicrotask(() => process.nextTick(callback)),
  turn: (callback) => void setImmediate(callback),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
};

/** The engine's surroundings on Node. */
export function nodeDeps(callId: string, now: () => number = Date.now, schedule: Schedule = nodeSchedule): Deps {
  const { afterMicrotasks, turn, sleep } = schedule;
  return {
    digest: digestQuestion,
    idempotencyKey: (stepKey) => digestFor("step", `${callId}\0${stepKey}`),
    insideStep,
    currentStep,
    now,
    afterMicrotasks,
    turn,
    sleep,
  };
}

function currentStep(): string | undefined {
  return steps.getStore();
}

/** Digests of questions as they were put lately: a replayed flow puts the same ones again in every round. */
const digests = new Map<string, string>();
const KEPT_DIGESTS = 1_000;
const LONGEST_KEPT = 2_000;

function digestQuestion(question: Json): string {
  const text = JSON.stringify(question);
  const known = digests.get(text);
  if (known !== undefined) return known;
  const fresh = digest(canonicalize(question) as string);
  if (text.length <= LONGEST_KEPT) {
    if (digests.size >= KEPT_DIGESTS) digests.clear();
    digests.set(text, fresh);
  }
  return fresh;
}
