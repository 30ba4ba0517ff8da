import type { AuthInfo } from "@modelcontextprotocol/server";
import { messageOf, type ParleyError } from "../errors.ts";
import { badOption, checkNames } from "../internal/options.ts";
import type { Ledger } from "../ledger/contract.ts";
import type { Limits } from "../replay/types.ts";
import {
  createKeyRing,
  createSealer,
  type KeyRing,
  type Principal,
  pooledRandom,
  type Sealer,
} from "../state/index.ts";
import type { TaskStore } from "../tasks/contract.ts";
import { nodeSchedule, type Schedule } from "./deps.ts";
import { type ParleyEvent, warnOnly } from "./events.ts";
import { systemHoldClock } from "./hold-clock.ts";
import { type LedgerOptions, type ResolvedLedger, resolveLedger } from "./ledger-options.ts";
import type { HoldClock } from "./once.ts";
import { type ResolvedTasks, resolveTasks, type TasksOptions } from "./tasks/options.ts";

export interface ParleyLimits {
  /** Longest sealed state, in bytes. Default 65,536. */
  readonly stateBytes?: number;
  /** Times one call may ask. Default 25. */
  readonly rounds?: number;
  /** Questions in one round. Default 16. */
  readonly questions?: number;
  /** How long a state stays valid, that is how long a person may think, in ms. Default 600,000; days are fine. */
  readonly roundTtlMs?: number;
  /** Invalid answers to one question before `InvalidAnswer`. Default 3. */
  readonly attempts?: number;
  /** Changes of one question's text before `question_unstable`. Default 3. */
  readonly changes?: number;
  /** How far replicas' clocks may differ, in ms. Default 30,000. */
  readonly clockSkewMs?: number;
  /** How long a replay waits for a recorded entry to be asked for again, in ms, before `flow_diverged`. Default 1,000. */
  readonly divergenceGraceMs?: number;
}

export interface ParleyOptions {
  /**
   * Secrets that seal the state, newest first, 32 bytes or more each, as bytes or base64url text (`parley keygen`).
   * Default: the variable `PARLEY_KEYS`. Without any, a random key of this process, and a warning.
   */
  readonly keys?: readonly (string | Uint8Array)[];
  /** `"many"`: other processes serve other rounds of a call, so a missing key is an error. Default `"one"`. */
  readonly replicas?: "one" | "many";
  /** Which service a state belongs to; two services that share a key need two. Default `"mcp-parley"` (C18). */
  readonly audience?: string;
  /**
   * `"authenticated"`: a call without verified auth info is refused. `"anonymous"`: you know that callers share one
   * principal and that states are not bound to a caller. Default: both are served, and start-up says so once.
   */
  readonly callers?: "authenticated" | "anonymous";
  /** The principal in verified auth info. Default: `extra.iss`, `extra.sub` and `clientId`; never the token (L26). */
  readonly principal?: (authInfo: AuthInfo) => Principal;
  readonly limits?: ParleyLimits;
  /** Deflate states above 512 bytes. Off by default: length can leak what a state holds. */
  readonly compress?: boolean;
  /** Makes rounds count once (C8): a store, or a store with options. Without it a state can be presented twice. */
  readonly ledger?: Ledger | LedgerOptions;
  /** With a ledger: `false` keeps it for flows that say `singleUse: true` only. Default `true`. */
  readonly singleUse?: boolean;
  /** Runs what flows hand over with `flow.background()`: a task store, or a store with options. */
  readonly tasks?: TaskStore | TasksOptions;
  /** `"every-step"`: run the flow again after every entry that settles, to find what replay would change. For tests. */
  readonly replay?: "when-needed" | "every-step";
  /** Told of every round, refusal and warning. Default: warnings and failed tasks become process warnings. */
  readonly onEvent?: (event: ParleyEvent) => void;
  /** Wall clock in ms. Default `Date.now`. */
  readonly now?: () => number;
  /** Source of randomness. Default `crypto.randomBytes`. */
  readonly random?: (bytes: number) => Buffer;
  /** Timers of the ledger's holds and waits. Default: the system's. */
  readonly holdClock?: HoldClock;
  /** Ticks, turns and pauses of the engine; for simulated worlds. Default: Node's event loop. */
  readonly schedule?: Schedule;
}

export interface ResolvedOptions {
  readonly audience: string;
  readonly callers: "authenticated" | "anonymous" | "any";
  readonly principal: (authInfo: AuthInfo) => Principal;
  readonly ring: KeyRing;
  readonly sealer: Sealer;
  readonly rounds: number;
  readonly runLimits: Limits;
  readonly replay: "when-needed" | "every-step";
  readonly random: (bytes: number) => Buffer;
  readonly now: () => number;
  readonly ledger: ResolvedLedger | undefined;
  readonly singleUse: boolean;
  readonly tasks: ResolvedTasks | undefined;
  /** How long a round is remembered: as long as its state may come back, and a delivery of it may run. */
  readonly keepMs: number;
  readonly holdClock: HoldClock;
  readonly schedule: Schedule;
  onEvent(event: ParleyEvent): void;
}

const NAMES: Record<keyof ParleyOptions, true> = {
  keys: true,
  replicas: true,
  audience: true,
  callers: true,
  principal: true,
  limits: true,
  compress: true,
  ledger: true,
  singleUse: true,
  tasks: true,
  replay: true,
  onEvent: true,
  now: true,
  random: true,
  holdClock: true,
  schedule: true,
};

const LONGEST_MS = 366 * 24 * 3_600_000;

const DEFAULTS = {
  stateBytes: 65_536,
  rounds: 25,
  questions: 16,
  roundTtlMs: 600_000,
  attempts: 3,
  changes: 3,
  clockSkewMs: 30_000,
  divergenceGraceMs: 1_000,
} as const satisfies Required<ParleyLimits>;

const LOST_TASKS =
  "Tasks outlive this process in their store, but the key that seals them does not: after a restart none can be opened.";

/**
 * Applies defaults and reports start-up warnings; the only place that does.
 * @throws ParleyError `configuration`
 */
export function resolveOptions(options: ParleyOptions): ResolvedOptions {
  checkNames("createParley", options, NAMES);
  const limits = resolveLimits(options.limits ?? {});
  const random = options.random ?? pooledRandom();
  const onEvent = unbreakable(options.onEvent ?? warnOnly(process.env["NODE_ENV"] !== "production"));
  const ring = createKeyRing({
    random,
    ...(options.keys !== undefined && { keys: options.keys }),
    ...(options.replicas !== undefined && { replicas: options.replicas }),
  });
  const tasks = options.tasks && resolveTasks(options.tasks, options.callers);
  for (const { code, message } of ring.warnings) {
    const kept = tasks !== undefined && tasks.store.volatile !== true ? `${LOST_TASKS} ` : "";
    onEvent({ type: "warning", code, message: `${kept}${message}` });
  }
  if (options.callers !== "authenticated") {
    const message = "Calls without verified auth info share one principal: their state is not bound to a caller.";
    if (options.callers === "anonymous") onEvent({ type: "warning", code: "anonymous_callers", message, meant: true });
    else
      onEvent({ type: "warning", code: "anonymous_callers", message: `${message} Settle it with the option callers.` });
  }
  const ledger = options.ledger && resolveLedger(options.ledger);
  const sealer = createSealer({
    ring,
    now: options.now ?? Date.now,
    random,
    limits: { maxBytes: limits.stateBytes, ttlMs: limits.roundTtlMs, skewMs: limits.clockSkewMs },
    compress: options.compress ?? false,
  });
  return {
    audience: text("audience", options.audience ?? "mcp-parley"),
    callers: options.callers ?? "any",
    principal: options.principal ?? principalOf,
    ring,
    sealer,
    rounds: limits.rounds,
    runLimits: limits,
    replay: options.replay ?? "when-needed",
    random,
    now: options.now ?? Date.now,
    ledger,
    singleUse: options.singleUse ?? true,
    tasks,
    keepMs: limits.roundTtlMs + limits.clockSkewMs + (ledger?.leaseMs ?? 0) + (ledger?.waitMs ?? 0),
    holdClock: options.holdClock ?? systemHoldClock,
    schedule: options.schedule ?? nodeSchedule,
    onEvent,
  };
}

/** An observer that throws must not cost a caller the result of what was done. */
function unbreakable(observe: (event: ParleyEvent) => void): (event: ParleyEvent) => void {
  return (event) => {
    try {
      observe(event);
    } catch (error) {
      process.emitWarning(`onEvent threw: ${messageOf(error)}`, "ParleyWarning");
    }
  };
}

function principalOf({ clientId, extra }: AuthInfo): Principal {
  const [issuer, subject] = [extra?.["iss"], extra?.["sub"]];
  return {
    clientId,
    ...(typeof issuer === "string" && { issuer }),
    ...(typeof subject === "string" && { subject }),
  };
}

function resolveLimits(given: ParleyLimits): Required<ParleyLimits> {
  checkNames("createParley", given, DEFAULTS, "limits");
  const limits: Required<ParleyLimits> = { ...DEFAULTS };
  for (const [name, value] of Object.entries(given) as [keyof ParleyLimits, unknown][]) {
    if (value === undefined) continue;
    const least = name.endsWith("Ms") ? 0 : 1;
    if (name.endsWith("Ms") && (value as number) > LONGEST_MS)
      throw wrong(`limits.${name}`, `must be at most ${LONGEST_MS} (a year)`);
    if (!Number.isSafeInteger(value) || (value as number) < least)
      throw wrong(`limits.${name}`, `must be an integer of at least ${least}`);
    Object.assign(limits, { [name]: value });
  }
  return limits;
}

function text(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") throw wrong(name, "must be a non-empty string");
  return value;
}

function wrong(name: string, rule: string): ParleyError {
  return badOption("createParley", name, rule);
}
