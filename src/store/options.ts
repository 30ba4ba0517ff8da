import { ParleyError } from "../errors.ts";

const LONGEST_TIMER_MS = 2 ** 31 - 1;

export interface StoreOptions {
  /** How long one operation may take, in ms; a later answer counts as a failure. Default 5,000. */
  readonly timeoutMs?: number;
}

/** @throws ParleyError `configuration` */
export function resolveTimeout(store: string, timeoutMs: number | undefined): number {
  if (timeoutMs === undefined) return 5_000;
  if (Number.isSafeInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= LONGEST_TIMER_MS) return timeoutMs;
  throw new ParleyError("configuration", `${store}: option timeoutMs must be a whole number of ms, 1 or more.`);
}
