/** Random histories: one after the other against a small model, and many at once against what must always hold. */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Ledger } from "../../src/ledger/contract.ts";

const LONG = 60_000;

/** The contract in its plainest form; a lease is running, over, or (owner undefined) given back. */
interface ModelRow {
  answers: string;
  owner: string | undefined;
  leaseOver: boolean;
  attempt: number;
  steps: string[];
  outcome?: string;
  journal?: string;
}

type Op =
  | { type: "claim"; round: number; owner: string; answers: string; brief: boolean }
  | { type: "step"; round: number; owner: string; brief: boolean }
  | { type: "renew"; round: number; owner: string; brief: boolean }
  | { type: "settle"; round: number; owner: string; journal: boolean }
  | { type: "release"; round: number; owner: string };

const round = fc.constantFrom(0, 1, 2);
const owner = fc.constantFrom("o1", "o2", "o3");
const brief = fc.boolean();
const claimOp = fc.record({
  type: fc.constant("claim" as const),
  round,
  owner,
  answers: fc.constantFrom("x", "x", "x", "y"),
  brief,
});
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 3, arbitrary: claimOp },
  { weight: 2, arbitrary: fc.record({ type: fc.constant("step" as const), round, owner, brief }) },
  fc.record({ type: fc.constant("renew" as const), round, owner, brief }),
  fc.record({ type: fc.constant("settle" as const), round, owner, journal: fc.boolean() }),
  fc.record({ type: fc.constant("release" as const), round, owner }),
);

/** A brief lease is over when the next operation comes. */
const leaseOf = ({ brief: short }: { brief: boolean }) => (short ? 1 : LONG);

function modelStep(rows: Map<number, ModelRow>, step: Op, label: string): unknown {
  const row = rows.get(step.round);
  const holds = row !== undefined && row.owner === step.owner;
  const running = holds && row.outcome === undefined;
  switch (step.type) {
    case "claim": {
      if (row !== undefined && row.answers !== step.answers) return { type: "other_answers" };
      if (row?.outcome !== undefined) return { type: "settled", outcome: row.outcome };
      if (row?.owner !== undefined && !holds && !row.leaseOver) return { type: "running" };
      const next = row ?? { answers: step.answers, owner: undefined, leaseOver: false, attempt: 0, steps: [] };
      if (!holds) next.attempt += 1;
      next.owner = step.owner;
      next.leaseOver = step.brief;
      rows.set(step.round, next);
      const journal = [...rows].filter(([number]) => number < step.round).sort(([a], [b]) => a - b);
      return {
        type: "won",
        attempt: next.attempt,
        steps: [...next.steps],
        journal: journal.flatMap(([, earlier]) => earlier.journal ?? []),
      };
    }
    case "step":
    case "renew":
      if (!running) return false;
      row.leaseOver = step.brief;
      if (step.type === "step") row.steps.push(label);
      return true;
    case "settle":
      if (running) {
        row.outcome = label;
        if (step.journal) row.journal = `${label}j`;
      }
      return holds;
    case "release":
      if (running) row.owner = undefined;
      return undefined;
  }
}

async function realStep(ledger: Ledger, call: string, step: Op, label: string): Promise<unknown> {
  const hold = { call, round: step.round, owner: step.owner };
  const read = (value: Uint8Array) => Buffer.from(value).toString();
  switch (step.type) {
    case "claim": {
      const { answers } = step;
      const claim = await ledger.claim({ ...hold, answers, leaseMs: leaseOf(step), keepMs: LONG, wantJournal: true });
      if (claim.type === "running") return { type: "running" };
      if (claim.type === "settled") return { type: "settled", outcome: read(claim.outcome) };
      if (claim.type === "won") return { ...claim, steps: claim.steps.map(read), journal: claim.journal.map(read) };
      return claim;
    }
    case "step":
      return ledger.recordStep(hold, Buffer.from(label), leaseOf(step));
    case "renew":
      return ledger.renew(hold, leaseOf(step));
    case "settle": {
      const journal = step.journal ? { journal: Buffer.from(`${label}j`) } : {};
      return ledger.settle(hold, { outcome: Buffer.from(label), ...journal, keepMs: LONG });
    }
    case "release":
      return ledger.release(hold);
  }
}

/** Claims a round when all is over, with either of the two sets of answers a history may give. */
function claimBoth(ledger: Ledger, call: string, round: number): Promise<unknown[]> {
  return Promise.all(
    ["x", "y"].map((answers) =>
      realStep(ledger, call, { type: "claim", round, owner: "end", answers, brief: false }, "end"),
    ),
  );
}

export function modelCases(ledgers: () => Ledger[]): void {
  describe("random histories", () => {
    it("one after the other, answers as the model does", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(op, { minLength: 5, maxLength: 30 }), async (history) => {
          const call = `model-${randomUUID()}`;
          const rows = new Map<number, ModelRow>();
          for (const [index, step] of history.entries()) {
            const label = `${index}:${step.owner}`;
            const ledger = ledgers()[index % ledgers().length] as Ledger;
            expect([index, step, await realStep(ledger, call, step, label)]).toEqual([
              index,
              step,
              modelStep(rows, step, label),
            ]);
            if ("brief" in step && step.brief) await sleep(3);
          }
        }),
        { numRuns: 60 },
      );
    });

    it("many at once: one outcome, one owner for each attempt, no step lost or out of order", async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(op, { minLength: 20, maxLength: 60 }), fc.nat(4), async (history, stride) => {
          const call = `race-${randomUUID()}`;
          const outcomes = new Map<number, Set<string>>();
          const attempts = new Map<string, Set<string>>();
          const recorded = new Map<number, Set<string>>();
          const seen = (step: Op, outcome: string) =>
            outcomes.set(step.round, (outcomes.get(step.round) ?? new Set()).add(outcome));
          const settledBy = new Map<number, string[]>();
          await Promise.all(
            history.map(async (step, index) => {
              if (stride > 0 && index % (stride + 1) === 0) await sleep(index % 5);
              const label = `${index}:${step.owner}`;
              const ledger = ledgers()[index % ledgers().length] as Ledger;
              const answer = await realStep(ledger, call, step, label);
              if (step.type === "step" && answer === true)
                recorded.set(step.round, (recorded.get(step.round) ?? new Set()).add(label));
              if (step.type === "settle" && answer === true)
                settledBy.set(step.round, [...(settledBy.get(step.round) ?? []), step.owner]);
              if (step.type !== "claim") return;
              const claim = answer as { type: string; attempt: number; outcome: string };
              if (claim.type === "settled") seen(step, claim.outcome);
              if (claim.type === "won") {
                const key = `${step.round}#${claim.attempt}`;
                attempts.set(key, (attempts.get(key) ?? new Set()).add(step.owner));
              }
            }),
          );
          for (const owners of attempts.values()) expect([...owners]).toHaveLength(1);
          for (const owners of settledBy.values()) expect(new Set(owners).size).toBe(1);
          for (const [number, owners] of settledBy) {
            const answers = (await claimBoth(ledgers()[0] as Ledger, call, number)) as {
              type: string;
              outcome: string;
            }[];
            const settled = answers.find(({ type }) => type === "settled");
            expect(answers.map(({ type }) => type).sort()).toEqual(["other_answers", "settled"]);
            for (const outcome of outcomes.get(number) ?? []) expect(outcome).toBe(settled?.outcome);
            expect(settled?.outcome.split(":")[1]).toBe(owners[0]);
          }
          for (const [number, labels] of recorded) {
            if (settledBy.has(number)) continue;
            await sleep(5);
            const answers = (await claimBoth(ledgers()[0] as Ledger, call, number)) as {
              type: string;
              steps: string[];
            }[];
            const taken = answers.find(({ type }) => type === "won");
            // Somebody with a long lease may hold it still; then its steps stay with it.
            if (taken !== undefined) expect(new Set(taken.steps)).toEqual(labels);
          }
        }),
        { numRuns: 40 },
      );
    });
  });
}
