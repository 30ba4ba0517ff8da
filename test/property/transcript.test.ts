import fc from "fast-check";
import { expect, test } from "vitest";
import type { CallEvent } from "../../src/calls/events.ts";
import { diffCalls, readTranscript } from "../../src/transcript/index.ts";
import { MASK, Masker } from "../../src/transcript/mask.ts";
import { lineRecorder } from "../../src/transcript/recorder.ts";

/** Recognisable wherever it ends up, and never part of anything else here. */
const secret = fc.stringMatching(/^Z[!-~é😀]{3,12}Z$/u).filter((text) => text !== MASK);
const NAMES = ["password", "apiKey", "access_token", "otp"];
const PLAIN = ["env", "list", "a/b", "~", "0", "__proto__"];

/** JSON whose secrets stand under names that say so, at any depth; `found` gathers them. */
const secretive = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<unknown>(1, true, null, "plain"),
    secret.chain((text) => fc.constantFrom(...NAMES).map((name) => ({ [name]: text }))),
    secret.chain((text) => fc.constantFrom(...NAMES).map((name) => ({ [name]: { deep: [text, { more: text }] } }))),
    fc.dictionary(fc.constantFrom(...PLAIN), tie("value")),
    fc.array(tie("value"), { maxLength: 3 }),
  ),
})).value;

const secretsIn = (value: unknown): string[] =>
  [...JSON.stringify(value ?? null).matchAll(/"(Z(?:[^"\\]|\\.)*Z)"/g)].map(([, text]) => JSON.parse(`"${text}"`));

test("B35 F1: no argument under a secret-looking name is written down, and pointers say where each was", () => {
  let hidden = 0;
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...PLAIN), secretive), (args) => {
      const secrets = secretsIn(args);
      hidden += secrets.length;
      const masker = new Masker(false);
      const { value, masked } = masker.params({ name: "t", arguments: args, _meta: { x: "y" } });
      expect(secretsIn(value)).toEqual([]);
      expect(masked.length).toBe(secrets.length);
      expect(value).not.toHaveProperty("_meta");
      // Whatever repeats one later, in the middle of a text, is masked as well.
      for (const text of secrets)
        expect(JSON.stringify(masker.scrub({ said: [`<${text}>`] }))).not.toContain(JSON.stringify(text).slice(1, -1));
      if (secrets.length === 0) expect(value).toEqual({ name: "t", arguments: args });
      expect(new Masker(true).params({ name: "t", arguments: args }).value).toEqual({ name: "t", arguments: args });
    }),
    { numRuns: 1500 },
  );
  expect(hidden).toBeGreaterThan(500);
});

test("what is written reads back as what happened", () => {
  const key = fc.constantFrom("ok", "when", "__proto__", "0", "1");
  const round = fc
    .uniqueArray(key, { maxLength: 4 })
    .map((keys) => keys.filter((one) => one !== "__proto__" || keys.length > 1));
  const calls = fc.array(
    fc.record({
      rounds: fc.array(round, { maxLength: 4 }),
      state: fc.option(fc.string(), { nil: undefined }),
      ends: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  );
  const request = {
    method: "elicitation/create" as const,
    params: { message: "?", requestedSchema: { type: "object" as const, properties: {} } },
  };
  fc.assert(
    fc.property(calls, fc.nat(), (all, seed) => {
      const lines: unknown[] = [];
      const recorder = lineRecorder((line) => lines.push(line), { now: () => 7 });
      const base = (call: number) =>
        ({ callId: String(call), server: "s", method: "tools/call", target: `t${call}`, round: 1 }) as const;
      const steps = all.map(({ rounds, state, ends }, call) => {
        const told: (() => void)[] = [
          () =>
            recorder.record({ ...base(call), type: "leg", answered: [] } as CallEvent, {
              params: {
                name: `t${call}`,
                _meta: { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } },
              },
            }),
        ];
        for (const keys of rounds) {
          const requests = new Map(keys.map((one) => [one, request]));
          const requestState = state === undefined ? {} : { requestState: state };
          told.push(() =>
            recorder.record(
              { ...base(call), type: "interim", questions: [], stateBytes: 0, ms: 1 },
              { requests, ...requestState },
            ),
          );
          for (const one of keys)
            told.push(() =>
              recorder.record(
                { ...base(call), type: "answered", key: one, kind: "form" },
                { answer: { action: "cancel" } },
              ),
            );
        }
        if (ends)
          told.push(() => recorder.record({ ...base(call), type: "complete", ms: 1 }, { result: { content: [] } }));
        return told;
      });
      // The calls run at the same time, in any order between them.
      const order: number[] = [];
      for (let turn = seed; steps.some((left) => left.length > 0); turn = (turn * 31 + 7) % 1009) {
        const open = steps.flatMap((left, call) => (left.length > 0 ? [call] : []));
        const call = open[turn % open.length] as number;
        order.push(call);
        steps[call]?.shift()?.();
      }
      const read = readTranscript(lines.map((line) => `${JSON.stringify(line)}\n`).join("")).calls;
      expect(read).toHaveLength(all.length);
      for (const [index, call] of [...new Set(order)].entries()) {
        const { rounds, ends } = all[call] as (typeof all)[number];
        const now = read[index];
        expect(now?.params).toEqual({ name: `t${call}` });
        expect(now?.rounds.map(({ questions }) => questions.map((one) => one.key))).toEqual(rounds);
        expect(now?.rounds.map(({ answers }) => [...answers.keys()])).toEqual(rounds);
        expect(now?.end?.type).toBe(ends ? "complete" : undefined);
        expect(diffCalls(now!, now!)).toEqual([]);
      }
    }),
    { numRuns: 300 },
  );
});
