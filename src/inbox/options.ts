import type { Client } from "@modelcontextprotocol/client";
import { type Clock, systemClock } from "../calls/clock.ts";
import type { Pacing } from "../calls/options.ts";
import { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import type { PendingStore } from "../pending/contract.ts";
import type { Policy } from "../policy/decision.ts";
import { rootsBreach } from "../protocol/sampling.ts";
import type { RootsResult } from "../protocol/types.ts";
import { type SamplingLimits, samplingLimits } from "../sampling/limits.ts";
import type { Model } from "../sampling/model.ts";

/** How to reach one server. */
export interface InboxServer {
  /** An SDK client, connected. Called when it is first needed, and again after a connection has ended. */
  connect(signal: AbortSignal): Promise<Client>;
}

/** Options of `createInbox`. Durations are milliseconds. */
export interface InboxOptions {
  /** Where calls wait. Several inboxes, in one process or more, may share it. */
  readonly store: PendingStore;
  /** By the host's own name for each: what people are shown (D17), and what waiting calls are bound to. */
  readonly servers: Readonly<Record<string, InboxServer>>;
  /** Is asked before any person; what it answers is recorded as its own. Default: none. */
  readonly policy?: Policy;
  /** Runs sampling requests that a person approved. Default none: sampling is not offered. */
  readonly model?: Model;
  /** `model` can use `tools` and `toolChoice`. Default false. */
  readonly modelTools?: boolean;
  /** Bounds on what servers may make the model do. Default: `samplingLimits()`. */
  readonly samplingLimits?: SamplingLimits;
  /** Longest run of the model. Default 10 minutes. */
  readonly modelTimeoutMs?: number;
  /** The folders a server may be told of, each time after a yes (F25). Default none: roots are not offered. */
  readonly roots?: RootsResult;
  /** Names of secret-looking fields that a form may ask for (F1). Default none. */
  readonly allowSecretFields?: readonly string[];
  /** Longest wait for people, per round. Default 7 days; `Infinity` is allowed. */
  readonly humanTimeoutMs?: number;
  /** Longest wait for the answer to one request on the wire. Default 60 000. */
  readonly legTimeoutMs?: number;
  /** Longest that a task is looked after, from when a call became one. Default 30 days; `Infinity` is allowed. */
  readonly taskTimeoutMs?: number;
  /** Most requests of one call; a server that asks for patience counts too. Default 200. */
  readonly maxRounds?: number;
  /** Waits between rounds that only carry state. Default: 1 s, growing to 30 s. */
  readonly pacing?: Pacing;
  /** How long a process that is gone keeps its calls from the others. Default 30 000. */
  readonly leaseMs?: number;
  /** How often the store is looked at for what other processes did, and for what is due. Default 1000. */
  readonly pollMs?: number;
  /** Wait before a server that could not be reached is tried again. Default 5000. */
  readonly retryMs?: number;
  /** How long requests on the wire may take once `close` was called. Default 3000. */
  readonly graceMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Told of what no caller waits for, such as a store that cannot be read. Never a state or an answer. */
  readonly onError?: (error: unknown) => void;
}

export type ResolvedInboxOptions = Required<Omit<InboxOptions, "policy" | "model" | "roots">> &
  Pick<InboxOptions, "policy" | "model" | "roots">;

const DEFAULTS = {
  modelTools: false,
  modelTimeoutMs: 10 * 60_000,
  allowSecretFields: [],
  humanTimeoutMs: 7 * 24 * 60 * 60_000,
  legTimeoutMs: 60_000,
  taskTimeoutMs: 30 * 24 * 60 * 60_000,
  maxRounds: 200,
  pacing: { initialMs: 1000, factor: 2, maxMs: 30_000, jitter: 0.2 },
  leaseMs: 30_000,
  pollMs: 1000,
  retryMs: 5000,
  graceMs: 3000,
  clock: systemClock,
  onError: (): void => {},
};

/** @throws ParleyError `configuration`, naming the option. What `createCalls` takes too is checked there. */
export function resolveInboxOptions(options: InboxOptions): ResolvedInboxOptions {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const resolved: ResolvedInboxOptions = {
    ...DEFAULTS,
    samplingLimits: samplingLimits(),
    ...(given as unknown as InboxOptions),
  };
  if (!isObject(resolved.store)) throw bad("store", "must be a pending store");
  if (!isObject(resolved.servers) || Object.keys(resolved.servers).length === 0) {
    throw bad("servers", "must name at least one server");
  }
  for (const [name, server] of Object.entries(resolved.servers)) {
    if (name === "" || typeof server?.connect !== "function") throw bad(`servers.${name}`, "must have connect()");
  }
  for (const name of ["modelTimeoutMs", "leaseMs", "pollMs", "retryMs", "graceMs"] as const) {
    if (!(Number.isFinite(resolved[name]) && resolved[name] >= 1)) throw bad(name, "must be 1 or more milliseconds");
  }
  if (!(resolved.taskTimeoutMs >= 1)) throw bad("taskTimeoutMs", "must be 1 or more milliseconds");
  if (resolved.modelTools && resolved.model === undefined) throw bad("modelTools", "needs a model");
  const breach = resolved.roots === undefined ? undefined : rootsBreach(resolved.roots.roots);
  if (breach !== undefined) throw bad(`roots.${breach.field}`, breach.reason);
  return resolved;
}

function bad(name: string, rule: string): ParleyError {
  return new ParleyError("configuration", `createInbox: ${name} ${rule}.`, { details: { option: name } });
}
