import type { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { badOption, checkNames } from "../internal/options.ts";
import type { Ledger } from "../ledger/contract.ts";

export interface LedgerOptions {
  /** Where rounds are recorded: `memoryLedger`, `sqliteLedger`, `redisLedger`, `postgresLedger`, or your own. */
  readonly store: Ledger;
  /**
   * `"steps"`: every finished step is written before the flow goes on, so that a take-over does not repeat it.
   * `"rounds"`: only rounds are; a take-over runs the round's steps again. Default `"steps"`.
   */
  readonly record?: "steps" | "rounds";
  /** Without a word from its replica for this long, a round may be taken over, in ms. Default 30,000. */
  readonly leaseMs?: number;
  /** How long a second delivery waits for the first, in ms. Default 30,000. */
  readonly waitMs?: number;
  /**
   * `"refuse"`: when the store cannot be reached, the call fails closed. `"run-unrecorded"`: it is served without any
   * promise of once; choose it only for flows whose effects may happen twice. Default `"refuse"`.
   */
  readonly onUnavailable?: "refuse" | "run-unrecorded";
  /**
   * Where the journal is kept: `"state"` (it travels), `"ledger"` (a digest travels), or `"auto"`: in the ledger once
   * the state would be longer than `journalAboveBytes`. Default `"auto"`.
   */
  readonly journal?: "auto" | "state" | "ledger";
  /** Default 4,096 bytes. */
  readonly journalAboveBytes?: number;
}

export type ResolvedLedger = Required<LedgerOptions>;

const CHOICES = {
  record: ["steps", "rounds"],
  onUnavailable: ["refuse", "run-unrecorded"],
  journal: ["auto", "state", "ledger"],
} as const;

/** @throws ParleyError `configuration`, with the option named. */
export function resolveLedger(given: Ledger | LedgerOptions): ResolvedLedger {
  const options = optionsIn(given);
  for (const [name, choices] of Object.entries(CHOICES)) {
    const value = options[name as keyof typeof CHOICES];
    if (value !== undefined && !(choices as readonly string[]).includes(value)) {
      throw wrong(name, `must be one of ${choices.join(", ")}`);
    }
  }
  for (const name of ["leaseMs", "waitMs", "journalAboveBytes"] as const) {
    const value = options[name];
    if (value !== undefined && (!Number.isSafeInteger(value) || value < 1))
      throw wrong(name, "must be a positive integer");
  }
  return {
    record: "steps",
    leaseMs: 30_000,
    waitMs: 30_000,
    onUnavailable: "refuse",
    journal: "auto",
    journalAboveBytes: 4_096,
    ...options,
  };
}

const NAMES: Record<keyof LedgerOptions, true> = {
  store: true,
  record: true,
  leaseMs: true,
  waitMs: true,
  onUnavailable: true,
  journal: true,
  journalAboveBytes: true,
};

function optionsIn(given: Ledger | LedgerOptions): LedgerOptions {
  if (isLedger(given)) return { store: given };
  if (!isObject(given)) throw badOption("createParley", "ledger", "must be a ledger, or { store } with options");
  checkNames("createParley", given, NAMES, "ledger");
  const options = given as LedgerOptions;
  if (!isLedger(options.store)) throw wrong("store", "must be a ledger");
  return options;
}

function isLedger(value: unknown): value is Ledger {
  return isObject(value) && typeof value["claim"] === "function";
}

function wrong(name: string, rule: string): ParleyError {
  return badOption("createParley", `ledger.${name}`, rule);
}
