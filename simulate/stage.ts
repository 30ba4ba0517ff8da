/** What the parts of a world of rounds have in common. */
import type { Config } from "./config.ts";
import type { Life, Stage } from "./life.ts";
import type { Mutant } from "./mutants.ts";
import type { Names } from "./names.ts";

export interface RoundStage extends Stage {
  readonly config: Config;
  readonly names: Names;
  readonly secrets: readonly Uint8Array[];
  readonly mutant: Mutant | undefined;
  /** Something just happened outside that this process does not know of yet: the worst moment for a fault. */
  critical(process: Life): void;
}
