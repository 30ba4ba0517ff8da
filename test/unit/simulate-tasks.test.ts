import { describe, expect, it } from "vitest";
import { TASK_MUTANTS } from "../../simulate/tasks/mutants.ts";
import { simulateTasks } from "../../simulate/tasks/world.ts";

const CLEAN_SEEDS = 200;
const MUTANT_SEEDS = 300;

describe("the simulated world of tasks (H11, H14, H17, H24, H26, H28, H34, H36, B45)", () => {
  it(`keeps every promise over ${CLEAN_SEEDS} seeds, and much goes wrong in them`, { timeout: 180_000 }, async () => {
    const seen = new Map<string, number>();
    let repeated = 0;
    for (let seed = 1; seed <= CLEAN_SEEDS; seed++) {
      const history = await simulateTasks(seed);
      expect(history.broken, `seed ${seed}`).toBeUndefined();
      repeated += history.repeated;
      for (const [what, times] of Object.entries(history.seen)) seen.set(what, (seen.get(what) ?? 0) + times);
    }
    const ends = ["ended completed", "ended cancelled", "handed over after rounds", "compared with the foreground"];
    for (const what of ["crash", "pause", "outage", "taken_over", "redelivered", "asked_again", ...ends])
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
    expect(repeated).toBeGreaterThan(0);
  });

  it("a seed plays one history", async () => {
    expect(await simulateTasks(7)).toEqual(await simulateTasks(7));
  });

  it.each(Object.entries(TASK_MUTANTS))("%s is caught", { timeout: 180_000 }, async (_name, mutant) => {
    let caught: string | undefined;
    for (let seed = 1; seed <= MUTANT_SEEDS && caught === undefined; seed++) {
      caught = (await simulateTasks(seed, { mutant })).broken;
    }
    expect(caught).toBeDefined();
  });
});
