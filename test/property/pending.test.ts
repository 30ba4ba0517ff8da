/** D3 over random interleavings: whoever decides, expires, stops and carries on, each question has one decision. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hasEnded, type PendingCall, type PendingDecision } from "../../src/pending/call.ts";
import type { Change } from "../../src/pending/contract.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import { claim, decide, end, expire, isExpired, isHeldBy, type Verdict } from "../../src/pending/rules.ts";
import { waitingCall } from "../contract/pending-suite.ts";

const KEYS = ["a", "b", "c"];
const ANSWER_BY = 100;

type Step =
  | { readonly type: "decide"; readonly question: number; readonly decision: PendingDecision }
  | { readonly type: "expire" | "stop"; readonly at: number }
  | { readonly type: "claim" | "release"; readonly owner: string; readonly at: number };

const time = fc.integer({ min: 1, max: 130 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      type: fc.constant("decide" as const),
      question: fc.nat({ max: KEYS.length }),
      decision: fc.record({
        action: fc.constantFrom("accept", "decline", "cancel", "refuse"),
        by: fc.constantFrom({ type: "person" } as const, { type: "policy", rule: "r" } as const),
        at: time,
      }) as fc.Arbitrary<PendingDecision>,
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constantFrom("expire" as const, "stop" as const), at: time }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constantFrom("claim" as const, "release" as const),
      owner: fc.constantFrom("x", "y"),
      at: time,
    }),
  },
);

/** What one actor does to the call it finds. */
function apply(call: PendingCall, what: Step): Change<Verdict | undefined> {
  switch (what.type) {
    case "decide":
      return decide(call, `r1-${what.question}`, what.decision, { action: "accept" });
    case "expire":
      return isExpired(call, what.at) ? { call: expire(call, what.at), value: undefined } : { value: undefined };
    case "stop":
      return hasEnded(call) ? { value: undefined } : { call: end(call, what.at, "stopped"), value: undefined };
    case "claim": {
      const { call: taken } = claim(call, what.owner, what.at, 10);
      return taken === undefined ? { value: undefined } : { call: taken, value: undefined };
    }
    case "release": {
      const { claim: _claim, ...rest } = call;
      return isHeldBy(call, what.owner) ? { call: rest, value: undefined } : { value: undefined };
    }
  }
}

describe("pending calls under interleavings", () => {
  it("each question has at most one decision, it never changes, and whoever lost is told of it", () =>
    fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), fc.scheduler(), async (steps, scheduler) => {
        const inner = memoryPending({ now: () => 1 });
        const call = waitingCall(KEYS, { answerBy: ANSWER_BY });
        await inner.add(call);
        const update = scheduler.scheduleFunction((what: Step) => inner.update(call.id, (one) => apply(one, what)));
        const told = await Promise.all(
          (await scheduler.waitFor(Promise.all(steps.map(async (what) => ({ what, verdict: await update(what) }))))) ??
            [],
        );
        const last = (await inner.get(call.id)) as PendingCall;
        const decided = last.history.flatMap((event) => (event.type === "decided" ? [event] : []));
        for (const [index, key] of KEYS.entries()) {
          const standing = decided.filter((event) => event.question === `r1-${index}`);
          expect(standing.length, `decisions on ${key}`).toBeLessThanOrEqual(1);
          const about = told.filter(({ what }) => what.type === "decide" && what.question === index);
          expect(about.filter(({ verdict }) => verdict?.type === "won")).toHaveLength(standing.length);
          for (const { verdict } of about) {
            if (verdict?.type === "decided") expect(verdict.decision).toEqual(standing[0]?.decision);
          }
        }
        for (const { decision } of decided) expect(decision.at, "never after the time is over").toBeLessThan(ANSWER_BY);
        expect(last.history.filter(({ type }) => type === "ended").length).toBe(hasEnded(last) ? 1 : 0);
        if (last.state === "sending") expect(decided).toHaveLength(KEYS.length);
        if (last.state === "waiting") expect(decided.length).toBeLessThan(KEYS.length);
        if (hasEnded(last)) expect(JSON.stringify(last)).not.toContain("secret-state");
      }),
      { numRuns: 500 },
    ));

  it("a refusal ends the call, and sends nothing", () => {
    const refuse = { action: "refuse", by: { type: "person" }, at: 1 } as const;
    const { call } = decide(waitingCall(KEYS), "r1-0", refuse);
    expect(call).toMatchObject({ state: "stopped", questions: [] });
    expect(claim(call as PendingCall, "x", 1, 10).call).toBeUndefined();
  });
});
