/** What a seed decides about its world before anything happens in it. */
import type { Rng } from "./rng.ts";

export interface Config {
  readonly replicas: number;
  /** Calls of clients that follow the rules. */
  readonly honestCalls: number;
  /** Calls whose own client sends different answers for one round. */
  readonly greedyCalls: number;
  /** Requests of somebody who saw everything on the wire. */
  readonly attacks: number;
  /** Chance that a message is lost, or delivered twice. */
  readonly loss: number;
  readonly duplicates: number;
  /** Longest normal delay of a message, in ms. */
  readonly delayMs: number;
  /** Chance that a client goes away before its answer came, and that it does not wait for it. */
  readonly impatience: number;
  readonly crashes: number;
  readonly pauses: number;
  readonly outages: number;
  /** Chance that one operation of the store is lost, or answered too late. */
  readonly storeLoss: number;
  readonly rotation: boolean;
  /** How far the replicas' wall clocks may differ, in ms. */
  readonly skewMs: number;
  readonly record: "steps" | "rounds";
  readonly journal: "state" | "ledger" | "auto";
  readonly compress: boolean;
}

/** Faults end here; honest calls must end at some time after it, in ms. */
export const FAULTS_END_MS = 4_000;
export const WORLD_ENDS_MS = 60_000;
export const LEASE_MS = 600;
export const WAIT_MS = 1_500;
export const STORE_TIMEOUT_MS = 300;
export const LEG_TIMEOUT_MS = 2_500;
export const ROUND_TTL_MS = 30_000;
export const CLOCK_SKEW_MS = 2_000;

/** Every kind of trouble is absent from some worlds: what goes wrong there has nothing to hide behind. */
export function drawConfig(rng: Rng): Config {
  const sometimes = <T>(value: T, none: T): T => (rng.chance(0.5) ? value : none);
  return {
    replicas: rng.int(1, 3),
    honestCalls: rng.int(1, 2),
    greedyCalls: sometimes(1, 0),
    attacks: sometimes(rng.int(1, 10), 0),
    loss: sometimes(0.15, 0),
    duplicates: sometimes(0.25, 0),
    delayMs: rng.pick([2, 20, 200]),
    impatience: sometimes(0.2, 0),
    crashes: sometimes(rng.int(1, 4), 0),
    pauses: sometimes(rng.int(1, 3), 0),
    outages: sometimes(rng.int(1, 2), 0),
    storeLoss: sometimes(0.05, 0),
    rotation: rng.chance(0.25),
    skewMs: sometimes(CLOCK_SKEW_MS, 0),
    record: rng.chance(0.8) ? "steps" : "rounds",
    journal: rng.pick(["state", "ledger", "auto"]),
    compress: rng.chance(0.25),
  };
}
