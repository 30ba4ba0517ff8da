/**
 * Bounds on what servers may make a model do (F11, F14). One object for all calls of a host; a limit that is passed
 * fails the request by name, and never shortens or makes up an answer.
 */
import { type Clock, systemClock } from "../calls/clock.ts";
import type { QuestionContext } from "../calls/responder.ts";
import { ParleyError } from "../errors.ts";
import { checkNames } from "../internal/options.ts";
import type { SamplingParams, SamplingResult } from "../protocol/types.ts";
import { usageOf } from "./model.ts";

/** All optional. Tokens are those the model reported (`reportUsage`), else the `maxTokens` that was allowed. */
export interface SamplingLimitsOptions {
  /** Most tokens one request may ask for. Default 8192. */
  maxTokensPerRequest?: number;
  /** Most tokens of one call, over all its rounds. Default 50 000. */
  maxTokensPerCall?: number;
  /** Most tokens of one server in any hour. Default 200 000. */
  maxTokensPerHour?: number;
  /** Most requests of one server in any minute. Default 20. */
  maxRequestsPerMinute?: number;
  /** Most requests that may run at once, all servers together. Default 4. */
  maxConcurrent?: number;
  /** Most turns with tools of one call (F11). Default 10. */
  maxToolTurns?: number;
  /** Default: the system's. */
  clock?: Pick<Clock, "now">;
}

export interface SamplingLimits {
  /**
   * Sets aside what `params` may cost, before anybody is asked.
   * @throws ParleyError `limit_exceeded`, naming the limit and its option.
   */
  check(params: SamplingParams, context: QuestionContext): SamplingPermit;
}

/** One request's share of the limits. Exactly one of the two ends it; later calls do nothing. */
export interface SamplingPermit {
  /** The model ran. Without a result it failed on the way: the whole share counts as used. */
  spent(result?: SamplingResult): void;
  /** The model did not run: the share is given back. */
  release(): void;
}

/** What was spent when. `at` is milliseconds since the epoch; `tokens` shrinks when the true cost is known. */
interface Spending {
  readonly at: number;
  tokens: number;
}
interface CallSpending {
  tokens: number;
  toolTurns: number;
}

const DEFAULTS = {
  maxTokensPerRequest: 8192,
  maxTokensPerCall: 50_000,
  maxTokensPerHour: 200_000,
  maxRequestsPerMinute: 20,
  maxConcurrent: 4,
  maxToolTurns: 10,
};
type Limit = keyof typeof DEFAULTS;

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Calls remembered at once; the longest unused is forgotten first. */
const MAX_CALLS = 10_000;

/** @throws ParleyError `configuration`, naming the option. */
export function samplingLimits(options: SamplingLimitsOptions = {}): SamplingLimits {
  const { clock = systemClock, ...given } = options;
  checkNames("samplingLimits", given, DEFAULTS);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (value !== Number.POSITIVE_INFINITY && (!Number.isSafeInteger(value) || value < 0)) {
      throw bad(name, "must be an integer from 0, or Infinity");
    }
  }
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return new Limits({ ...DEFAULTS, ...known }, clock);
}

class Limits implements SamplingLimits {
  readonly #limits: Record<Limit, number>;
  readonly #clock: Pick<Clock, "now">;
  readonly #byServer = new Map<string, Spending[]>();
  readonly #byCall = new Map<unknown, CallSpending>();
  #running = 0;

  constructor(limits: Record<Limit, number>, clock: Pick<Clock, "now">) {
    this.#limits = limits;
    this.#clock = clock;
  }

  check(params: SamplingParams, context: QuestionContext): SamplingPermit {
    const now = this.#clock.now();
    const server = this.#recent(context.server.id, now);
    const call = this.#call(context);
    const tokens = params.maxTokens;
    const withTools = params.tools !== undefined && params.toolChoice?.mode !== "none";
    const turns = Math.max(call.toolTurns, toolTurnsIn(params)) + (withTools ? 1 : 0);
    const hour = server.reduce((sum, one) => sum + one.tokens, 0);
    const minute = server.filter(({ at }) => now - at < MINUTE_MS).length;

    this.#hold("maxTokensPerRequest", tokens, "tokens in one request", context);
    this.#hold("maxTokensPerCall", call.tokens + tokens, "tokens in this call", context);
    this.#hold("maxTokensPerHour", hour + tokens, "tokens in an hour", context);
    this.#hold("maxRequestsPerMinute", minute + 1, "requests in a minute", context);
    this.#hold("maxConcurrent", this.#running + 1, "requests at once", context);
    if (withTools) this.#hold("maxToolTurns", turns, "turns with tools in this call", context);

    const spending: Spending = { at: now, tokens };
    server.push(spending);
    call.tokens += tokens;
    call.toolTurns = Math.max(call.toolTurns, turns);
    this.#running += 1;
    let open = true;
    const end = (cost: number): void => {
      if (!open) return;
      open = false;
      this.#running -= 1;
      call.tokens += cost - spending.tokens;
      spending.tokens = cost;
    };
    return {
      spent: (result) => end(result === undefined ? tokens : costOf(result, tokens)),
      release: () => end(0),
    };
  }

  /** @throws ParleyError `limit_exceeded` when `value` is past the limit. */
  #hold(limit: Limit, value: number, what: string, { key, server }: QuestionContext): void {
    const most = this.#limits[limit];
    if (value <= most) return;
    const message = `Sampling is limited to ${most} ${what}, and ${JSON.stringify(key)} of "${server.id}" would make it ${value}: raise ${limit} to allow it.`;
    throw new ParleyError("limit_exceeded", message, { details: { key, server: server.id, limit, most, value } });
  }

  /** The server's spendings of the last hour. */
  #recent(server: string, now: number): Spending[] {
    const recent = (this.#byServer.get(server) ?? []).filter(({ at }) => now - at < HOUR_MS);
    this.#byServer.set(server, recent);
    return recent;
  }

  #call(context: QuestionContext): CallSpending {
    // Without an id a call is told apart by its params: they are the same frozen object in each of its rounds.
    const id = context.callId ?? context.params;
    const call = this.#byCall.get(id) ?? { tokens: 0, toolTurns: 0 };
    this.#byCall.delete(id);
    this.#byCall.set(id, call);
    for (const oldest of this.#byCall.keys()) {
      if (this.#byCall.size <= MAX_CALLS) break;
      this.#byCall.delete(oldest);
    }
    return call;
  }
}

function costOf(result: SamplingResult, most: number): number {
  const usage = usageOf(result);
  return usage === undefined ? most : usage.inputTokens + usage.outputTokens;
}

/** Turns in the history that used tools: a server cannot hide them, it has to send them along (F8, F10). */
function toolTurnsIn({ messages }: SamplingParams): number {
  return messages.filter(({ content }) => [content].flat().some(({ type }) => type === "tool_use")).length;
}

function bad(name: string, rule: string): ParleyError {
  return new ParleyError("configuration", `samplingLimits: ${name} ${rule}.`, { details: { option: name } });
}
