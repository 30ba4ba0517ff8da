import fc from "fast-check";
import { expect, test } from "vitest";
import { CALL_ID_META_KEY } from "../../src/protocol/call-id.ts";
import { accept, done, form, interim, link, type Reply, scripted } from "../unit/calls-peer.ts";

/** What a server sends in one round: keys with their kinds, and a state or none; never neither (A6). */
const round = fc
  .record({
    questions: fc.dictionary(fc.string(), fc.constantFrom("form", "url"), { maxKeys: 4 }),
    state: fc.option(fc.string({ unit: "binary", minLength: 1 }), { nil: undefined }),
  })
  .filter(({ questions, state }) => Object.keys(questions).length > 0 || state !== undefined);
type Round = typeof round extends fc.Arbitrary<infer R> ? R : never;

const replyOf = ({ questions, state }: Round): Reply => {
  const entries = Object.entries(questions).map(([key, kind]) => [key, kind === "form" ? form() : link()]);
  return interim(entries.length > 0 ? Object.fromEntries(entries) : undefined, state);
};

const params = { name: "tool", arguments: { z: [1, { y: "é" }], a: null } };
const responders = { form: async () => accept(), url: async () => ({ action: "accept" as const }) };
const options = { responders, pacing: { initialMs: 0 }, maxRounds: 10 };

test("B5 to B14: whatever the rounds are, each retry carries exactly the latest state and the latest keys", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { maxLength: 5 }), async (rounds) => {
      const peer = await scripted((_, count) => (count <= rounds.length ? replyOf(rounds[count - 1]!) : done()));
      await peer.calls(options).callTool(params);
      expect(peer.requests).toHaveLength(rounds.length + 1);
      expect(new Set(peer.requests.map(({ id }) => id)).size).toBe(rounds.length + 1);
      for (const [index, { params: sent }] of peer.requests.entries()) {
        const latest = rounds[index - 1];
        const { _meta, requestState, inputResponses, ...rest } = sent;
        expect(JSON.stringify(rest)).toBe(JSON.stringify(params));
        expect(requestState).toBe(latest?.state);
        expect(Object.keys(inputResponses ?? {}).sort()).toEqual(Object.keys(latest?.questions ?? {}).sort());
        expect(_meta).toEqual(peer.requests[0]?.params._meta);
      }
    }),
    { numRuns: 150 },
  );
});

test("B30: a call saved and resumed before every leg puts the same on the wire as one that ran through", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 4 }), async (rounds) => {
      const script = () => scripted((_, count) => (count <= rounds.length ? replyOf(rounds[count - 1]!) : done()));
      const through = await script();
      await through.calls(options).callTool(params);
      const cut = await script();
      let call = await cut.calls(options).open("tools/call", params);
      while (call.status === "asking") {
        call = cut.calls(options).resume(JSON.stringify(call)) as typeof call;
        for (const { key, kind } of call.questions) call.answer(key, kind === "form" ? accept() : { action: "accept" });
        call = cut.calls(options).resume(call.toJSON()) as typeof call;
        await call.continue();
      }
      // Two calls have two names; each keeps its own over all legs.
      const unnamed = (params: Record<string, unknown>) => ({
        ...params,
        _meta: { ...(params["_meta"] as object), [CALL_ID_META_KEY]: "" },
      });
      expect(cut.requests.map(({ params }) => unnamed(params))).toEqual(
        through.requests.map(({ params }) => unnamed(params)),
      );
    }),
    { numRuns: 100 },
  );
});
