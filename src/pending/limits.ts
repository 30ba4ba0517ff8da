import { ParleyError } from "../errors.ts";
import type { PendingStoreOptions } from "./contract.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Calls on one page of a list at most. */
export const MAX_PAGE = 200;

/** @throws ParleyError `configuration`, naming the option. */
export function resolveStoreOptions(store: string, options: PendingStoreOptions): Required<PendingStoreOptions> {
  const { maxCalls = 10_000, keepEndedMs = 7 * DAY_MS, now = Date.now } = options;
  if (!Number.isSafeInteger(maxCalls) || maxCalls < 1) throw bad(store, "maxCalls must be a whole number, 1 or more");
  if (!(keepEndedMs >= 0)) throw bad(store, "keepEndedMs must be a number of milliseconds, 0 or more");
  return { maxCalls, keepEndedMs, now };
}

export function bad(store: string, rule: string): ParleyError {
  return new ParleyError("configuration", `${store}: ${rule}.`);
}

export function full(maxCalls: number): ParleyError {
  const message = `There are ${maxCalls} calls already, and none of them has ended (maxCalls). Answer or stop some, then start this one again; nothing was sent.`;
  return new ParleyError("limit_exceeded", message, { details: { limit: maxCalls } });
}

export function known(id: string): ParleyError {
  return new ParleyError("call_state", `There is a call ${JSON.stringify(id)} already.`);
}

/** A place in the list: rank, time of change and id of the last call shown. */
export interface Place {
  readonly rank: number;
  readonly changedAt: number;
  readonly id: string;
}

export function writePlace({ rank, changedAt, id }: Place): string {
  return `${rank}.${changedAt}.${id}`;
}

/** @throws ParleyError `configuration` */
export function readPlace(store: string, after: string): Place {
  const [, rank, changedAt, id] = /^([01])\.(\d{1,16})\.([\w-]{1,100})$/.exec(after) ?? [];
  if (rank === undefined || changedAt === undefined || id === undefined)
    throw bad(store, "after is no place in the list");
  return { rank: Number(rank), changedAt: Number(changedAt), id };
}

export function pageSize(limit: number): number {
  return Math.min(Math.max(1, Math.floor(limit)), MAX_PAGE);
}
