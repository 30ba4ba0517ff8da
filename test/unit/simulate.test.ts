import { describe, expect, it } from "vitest";
import { MUTANTS } from "../../simulate/mutants.ts";
import { type History, simulate } from "../../simulate/world.ts";

const CLEAN_SEEDS = 300;
const MUTANT_SEEDS = 1_000;

describe("the simulated world (C8, C14 to C16, B24, L14)", () => {
  it(`keeps every promise over ${CLEAN_SEEDS} seeds, and much goes wrong in them`, { timeout: 180_000 }, async () => {
    const seen = new Map<string, number>();
    for (let seed = 1; seed <= CLEAN_SEEDS; seed++) {
      const history = await simulate(seed);
      expect(history.broken, `npm run simulate -- --seed ${seed}`).toBeUndefined();
      for (const [what, times] of Object.entries(history.seen)) seen.set(what, (seen.get(what) ?? 0) + times);
    }
    const trouble = ["crash", "pause", "store", "taken_over", "redelivered", "reply refused", "reply round_running"];
    const refusals = ["other_answers", "other_principal", "other_params", "tampered", "malformed", "expired"];
    for (const what of [...trouble, ...refusals.map((reason) => `refused: ${reason}`)]) {
      expect(seen.get(what) ?? 0, what).toBeGreaterThan(0);
    }
  });

  it("a seed plays one history, and another seed another", async () => {
    const [first, again, other] = await Promise.all([7, 7, 8].map((seed) => simulate(seed, { verbose: true })));
    expect(first?.lines.length).toBeGreaterThan(10);
    expect(again).toEqual(first);
    expect(other?.lines).not.toEqual(first?.lines);
  });

  it.each(Object.entries(MUTANTS))("%s is caught within a thousand seeds", { timeout: 180_000 }, async (_, mutant) => {
    let caught: History | undefined;
    for (let seed = 1; seed <= MUTANT_SEEDS && caught === undefined; seed++) {
      const history = await simulate(seed, { mutant });
      if (history.broken !== undefined) caught = history;
    }
    expect(caught?.broken).toBeDefined();
  });
});
