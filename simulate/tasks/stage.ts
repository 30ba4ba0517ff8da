/** What the parts of a world of tasks have in common, and what a seed decides about it. */
import type { ToolFlow } from "../../src/flow/define.ts";
import { CLOCK_SKEW_MS } from "../config.ts";
import type { Stage } from "../life.ts";
import type { Rng } from "../rng.ts";
import type { TaskJudge } from "./judge.ts";
import type { TaskMutant } from "./mutants.ts";

export type TaskConfig = ReturnType<typeof drawConfig>;

export interface TaskStage extends Stage {
  readonly config: TaskConfig;
  readonly secrets: readonly Uint8Array[];
  readonly mutant: TaskMutant | undefined;
  readonly judge: TaskJudge;
  readonly flows: readonly ToolFlow[];
}

export function drawConfig(rng: Rng) {
  const sometimes = <T>(value: T, none: T): T => (rng.chance(0.5) ? value : none);
  return {
    replicas: rng.int(1, 3),
    tasks: rng.int(1, 5),
    loss: sometimes(0.1, 0),
    duplicates: sometimes(0.25, 0),
    delayMs: rng.pick([2, 20, 100]),
    crashes: sometimes(rng.int(1, 5), 0),
    pauses: sometimes(rng.int(1, 3), 0),
    outages: sometimes(rng.int(1, 2), 0),
    storeLoss: sometimes(0.05, 0),
    cancels: sometimes(0.4, 0),
    rotation: rng.chance(0.25),
    skewMs: sometimes(CLOCK_SKEW_MS, 0),
    /** Rounds count once; without, one that is served twice runs twice. */
    ledger: rng.chance(0.7),
  };
}
