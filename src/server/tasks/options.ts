import type { ParleyError } from "../../errors.ts";
import { isObject } from "../../internal/json.ts";
import { badOption, checkNames } from "../../internal/options.ts";
import type { TaskStore } from "../../tasks/contract.ts";

export interface TasksOptions {
  /** Where tasks are kept: `memoryTasks`, `sqliteTasks`, `redisTasks`, `postgresTasks`, or your own. */
  readonly store: TaskStore;
  /** How long a task lives from its beginning, in ms, where its flow does not say. Default 86,400,000 (a day). */
  readonly ttlMs?: number;
  /** How often a client should look, in ms, where its flow does not say. Default 1,000. */
  readonly pollIntervalMs?: number;
  /** Tasks that this process runs at the same time; waiting for an answer is not running. Default 16. */
  readonly concurrency?: number;
  /** Tasks of one caller that run at the same time, over all processes. Default 4; with `callers: "anonymous"`, all. */
  readonly concurrencyPerCaller?: number;
  /**
   * Tasks of one caller that have not ended; one more call is refused (B45). Default 100; with `callers: "anonymous"`, where
   * all callers are one, 1,000.
   */
  readonly openPerCaller?: number;
  /** Without a word from its process for this long, a task goes on in another, in ms. Default 30,000. */
  readonly leaseMs?: number;
  /** How often a run is taken over from a process that went silent before its task has failed. Default 20. */
  readonly maxAttempts?: number;
  /**
   * How often the store is asked for what this process was not told of, in ms: work, and whether a task that runs here was
   * cancelled elsewhere. Default 1,000.
   */
  readonly lookMs?: number;
  /**
   * How long `close` lets running tasks run on before they are given back, in ms, and how long it then waits for one that
   * does not stop at its signal. Default 10,000.
   */
  readonly drainMs?: number;
  /** Clients that listen for tasks in this process (`subscriptions/listen`); one more is refused. Default 1,000. */
  readonly subscriptions?: number;
  /** Of these, of one caller. Default 16; with `callers: "anonymous"`, all. */
  readonly subscriptionsPerCaller?: number;
  /** Tasks that one of these can name. Default 100. */
  readonly idsPerSubscription?: number;
}

export type ResolvedTasks = Required<TasksOptions>;

const DEFAULTS = {
  ttlMs: 86_400_000,
  pollIntervalMs: 1_000,
  concurrency: 16,
  concurrencyPerCaller: 4,
  openPerCaller: 100,
  leaseMs: 30_000,
  maxAttempts: 20,
  lookMs: 1_000,
  drainMs: 10_000,
  subscriptions: 1_000,
  subscriptionsPerCaller: 16,
  idsPerSubscription: 100,
} as const;

/** @throws ParleyError `configuration`, with the option named. */
export function resolveTasks(given: TaskStore | TasksOptions, callers: string | undefined): ResolvedTasks {
  const options = optionsIn(given);
  for (const name of Object.keys(DEFAULTS) as (keyof typeof DEFAULTS)[]) {
    const value = options[name];
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1)) {
      throw wrong(name, "must be a whole number, 1 or more");
    }
  }
  const set = Object.entries(options).filter(([, value]) => value !== undefined);
  const { concurrency = DEFAULTS.concurrency, subscriptions = DEFAULTS.subscriptions } = options;
  // Where all callers are one, what bounds one caller must not starve the others.
  const anyone = { concurrencyPerCaller: concurrency, openPerCaller: 1_000, subscriptionsPerCaller: subscriptions };
  const shared = callers === "anonymous" ? anyone : {};
  return { ...DEFAULTS, ...shared, ...(Object.fromEntries(set) as unknown as TasksOptions) };
}

function optionsIn(given: TaskStore | TasksOptions): TasksOptions {
  if (isStore(given)) return { store: given };
  if (!isObject(given)) throw badOption("createParley", "tasks", `must be ${A_STORE}, or { store } with options`);
  checkNames("createParley", given, { store: true, ...DEFAULTS }, "tasks");
  const options = given as TasksOptions;
  if (!isStore(options.store)) throw wrong("store", `must be ${A_STORE}`);
  return options;
}

const A_STORE = 'a task store, such as sqliteTasks({ path: "tasks.sqlite" })';

function isStore(value: unknown): value is TaskStore {
  return isObject(value) && typeof value["claim"] === "function" && typeof value["create"] === "function";
}

function wrong(name: string, rule: string): ParleyError {
  return badOption("createParley", `tasks.${name}`, rule);
}
