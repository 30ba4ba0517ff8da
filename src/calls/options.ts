import { randomUUID } from "node:crypto";
import { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { checkNames } from "../internal/options.ts";
import type { ClientCapabilities } from "../protocol/types.ts";
import { type Clock, systemClock } from "./clock.ts";
import type { CallEvent, Recorder } from "./events.ts";
import type { Responders } from "./responder.ts";

/** Waits between rounds that only carry state (I16): `initialMs * factor^n`, at most `maxMs`, spread by `jitter`. */
export interface Pacing {
  /** First wait. Default 250. */
  initialMs?: number;
  /** Growth per further state-only round in a row, at least 1. Default 2. */
  factor?: number;
  /** Longest wait before jitter. Default 5000. */
  maxMs?: number;
  /** Share by which a wait may be longer or shorter, 0 to 1. Default 0.2. */
  jitter?: number;
}

/** Options of `createCalls`. Durations are milliseconds. */
export interface CallsOptions {
  /** The host's own name for this server: what people are shown (D17), and what a saved call is bound to. */
  server: string;
  /**
   * What can answer here. A function is asked once at the start of each call, so that a surface that went away is not
   * declared; the set then stays the same over the rounds of that call (B17). Default: nothing, so nothing is declared.
   */
  responders?: Responders | (() => Responders);
  /**
   * Whether tool calls may go on as tasks: the extension is declared on each of their legs (H1), and a task is looked after
   * to its end like any call. Default true.
   */
  tasks?: boolean;
  /**
   * Whether `continue` stays with a task until it asks or has ended. `false` is for a host that keeps its calls in a
   * store: `open` hands back a call as soon as it is a task, and each `continue` is one exchange with the server, which sends
   * the answers or else looks once; the host comes back after `call.task.pollIntervalMs`. `run` always stays. Default true.
   */
  followTasks?: boolean;
  /**
   * How long the server of a task may be out of reach before the call fails: looks and answers are sent again meanwhile,
   * as often as the task is looked at. Without `followTasks` the host decides. Default 10 minutes; `Infinity` is allowed.
   */
  taskOutageMs?: number;
  /** `extensions` and `experimental` to declare on every leg next to what the responders give. Default: none. */
  declare?: Pick<ClientCapabilities, "extensions" | "experimental">;
  /** Longest wait for the answer to one request on the wire (I10, I11). Default 60 000. People's time is apart. */
  legTimeoutMs?: number;
  /**
   * Longest wait for people, per round; `Infinity` is allowed. Default 7 days: long enough for a weekend or a saved
   * call, short enough that a forgotten one ends with a name. No request is open meanwhile (B38).
   */
  humanTimeoutMs?: number;
  /** Longest time for the whole call, people included. Default `Infinity`. */
  totalTimeoutMs?: number;
  /** Most requests one call may send, resent ones aside (B25, L7). A result on the last is kept. Default 25. */
  maxRounds?: number;
  /** Most questions of one round; a round with more fails the call before anybody is asked (F6). Default 64. */
  maxQuestions?: number;
  pacing?: Pacing;
  /** Start over once, and ask again, when the server refuses the state of a retry (B44, L13). Default true. */
  restartRefusedState?: boolean;
  /**
   * How often a leg whose response was lost is sent again, as a new request with the same answers and state (B24).
   * Default 1, first legs included. A lost response does not say whether the server acted: where an effect must not
   * happen twice and the server does not count a round once, set 0.
   */
  resendLostLegs?: number;
  /** Longest `requestState` accepted, in UTF-8 bytes; a longer one fails the call (L23). Default 1 MiB. */
  maxRequestStateBytes?: number;
  /** Told what happens. What it throws is ignored: an observer must not change a call. */
  onEvent?: (event: CallEvent) => void;
  /**
   * Sees what events leave out, answers and states included: `recordTo(path)` for a transcript. What it throws is
   * ignored. Default: none.
   */
  recorder?: Recorder;
  /** Default: the system's. */
  clock?: Clock;
  /** A number in [0, 1): jitter and span ids, none of them secret. Default `Math.random`. */
  random?: () => number;
  /**
   * A fresh call id: 32 hex digits that nobody can guess. A server with a ledger gives the recorded outcome of a first
   * request to whoever repeats it with its id. Default: a random UUID (122 bits).
   */
  newCallId?: () => string;
}

export interface ResolvedOptions {
  server: string;
  responders: () => Responders;
  declare: Pick<ClientCapabilities, "extensions" | "experimental">;
  tasks: boolean;
  followTasks: boolean;
  taskOutageMs: number;
  legTimeoutMs: number;
  humanTimeoutMs: number;
  totalTimeoutMs: number;
  maxRounds: number;
  maxQuestions: number;
  pacing: Required<Pacing>;
  restartRefusedState: boolean;
  resendLostLegs: number;
  maxRequestStateBytes: number;
  onEvent?: (event: CallEvent) => void;
  recorder?: Recorder;
  clock: Clock;
  random: () => number;
  newCallId: () => string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

const DEFAULTS = {
  declare: {},
  tasks: true,
  followTasks: true,
  taskOutageMs: 10 * 60_000,
  legTimeoutMs: 60_000,
  humanTimeoutMs: 7 * DAY_MS,
  totalTimeoutMs: Number.POSITIVE_INFINITY,
  maxRounds: 25,
  maxQuestions: 64,
  restartRefusedState: true,
  resendLostLegs: 1,
  maxRequestStateBytes: 1024 * 1024,
  clock: systemClock,
  random: Math.random,
  newCallId: () => randomUUID().replaceAll("-", ""),
};
const PACING: Required<Pacing> = { initialMs: 250, factor: 2, maxMs: 5000, jitter: 0.2 };
const NAMES = { server: true, responders: true, onEvent: true, recorder: true, pacing: true, ...DEFAULTS };

/** @throws ParleyError `configuration`, naming the option. */
export function resolveOptions(options: CallsOptions): ResolvedOptions {
  checkNames("createCalls", options, NAMES);
  const { responders = {}, pacing, ...rest } = withoutUndefined(options);
  const resolved: ResolvedOptions = {
    ...DEFAULTS,
    ...rest,
    declare: structuredClone(rest.declare ?? DEFAULTS.declare),
    responders: () => checkResponders(typeof responders === "function" ? responders() : responders),
    pacing: { ...PACING, ...withoutUndefined(pacing ?? {}) },
  };
  if (typeof resolved.server !== "string" || resolved.server === "") throw bad("server", "must be a non-empty string");
  if (typeof responders !== "function") checkResponders(responders);
  for (const name of ["legTimeoutMs", "humanTimeoutMs", "totalTimeoutMs", "taskOutageMs"] as const)
    checkDuration(name, resolved[name]);
  checkInteger("maxRounds", resolved.maxRounds, 1);
  checkInteger("maxQuestions", resolved.maxQuestions, 1);
  checkInteger("resendLostLegs", resolved.resendLostLegs, 0);
  checkInteger("maxRequestStateBytes", resolved.maxRequestStateBytes, 1);
  checkPacing(resolved.pacing);
  for (const name of ["restartRefusedState", "tasks", "followTasks"] as const) {
    if (typeof resolved[name] !== "boolean") throw bad(name, "must be a boolean");
  }
  for (const name of ["onEvent", "random", "newCallId"] as const) {
    if (resolved[name] !== undefined && typeof resolved[name] !== "function") throw bad(name, "must be a function");
  }
  if (resolved.recorder !== undefined && typeof resolved.recorder.record !== "function") {
    throw bad("recorder", "must have a function record");
  }
  return resolved;
}

/** @throws ParleyError `configuration`: a duration is positive, and `Infinity` only where a person is waited for. */
export function checkDuration(name: string, value: unknown): void {
  const endless = value === Number.POSITIVE_INFINITY && name !== "legTimeoutMs";
  if (endless || (typeof value === "number" && Number.isFinite(value) && value > 0)) return;
  throw bad(name, "must be a positive number of milliseconds");
}

function checkInteger(name: string, value: unknown, least: number): void {
  if (!Number.isSafeInteger(value) || (value as number) < least) throw bad(name, `must be an integer from ${least}`);
}

function checkPacing(pacing: Required<Pacing>): void {
  checkNames("createCalls", pacing, PACING, "pacing");
  const { initialMs, factor, maxMs, jitter } = pacing;
  if (!(Number.isFinite(initialMs) && initialMs >= 0)) throw bad("pacing.initialMs", "must be 0 or more milliseconds");
  if (!(Number.isFinite(factor) && factor >= 1)) throw bad("pacing.factor", "must be at least 1");
  if (!(Number.isFinite(maxMs) && maxMs >= initialMs)) throw bad("pacing.maxMs", "must be at least pacing.initialMs");
  if (!(jitter >= 0 && jitter <= 1)) throw bad("pacing.jitter", "must be between 0 and 1");
}

function checkResponders(responders: Responders): Responders {
  if (!isObject(responders)) throw bad("responders", "must be an object or a function that returns one");
  for (const name of ["form", "url", "sample", "roots"] as const) {
    const responder = responders[name];
    if (responder !== undefined && typeof responder !== "function") {
      throw bad(`responders.${name}`, "must be a function");
    }
  }
  if (responders.sampleTools === true && responders.sample === undefined) {
    throw bad("responders.sampleTools", "needs responders.sample");
  }
  return responders;
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T;
}

function bad(name: string, rule: string): ParleyError {
  return new ParleyError("configuration", `createCalls: ${name} ${rule}.`, { details: { option: name } });
}
