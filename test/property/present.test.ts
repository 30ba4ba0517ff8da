import fc from "fast-check";
import { expect, test } from "vitest";
import type { QuestionContext } from "../../src/calls/responder.ts";
import { ParleyError } from "../../src/errors.ts";
import { describeAnswer, describeQuestion, inspectUrl, nameWarnings, visible } from "../../src/present/index.ts";
import { drawField, drawQuestion } from "../../src/present/terminal/draw.ts";
import { framed } from "../../src/present/terminal/wrap.ts";
import { host } from "../../src/present/text.ts";
import { hostileText as hostile } from "../helpers/hostile.ts";

/** What must never be shown raw. Spelled out apart from the code under test. */
const RAW =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  // biome-ignore lint/suspicious/noMisleadingCharacterClass: single code points are what is looked for
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ue000-\uf8ff\u{e0000}-\u{e0fff}]|\p{C}(?<!\n)/u;

test("T1/U1 to U3: whatever the text, nothing hidden leaves `visible` raw", () => {
  fc.assert(
    fc.property(hostile, fc.boolean(), fc.boolean(), fc.nat(40), (text, multiline, inertLinks, maxLength) => {
      const shown = visible(text, { multiline, inertLinks, maxLength }).text;
      expect(shown).not.toMatch(RAW);
      if (!multiline) expect(shown).not.toContain("\n");
      if (inertLinks) expect(shown).not.toMatch(/:\/\/|\bwww\./i);
    }),
    { numRuns: 300 },
  );
});

test("T1: nothing is stripped: the escapes read back as the text", () => {
  fc.assert(
    fc.property(hostile, fc.boolean(), (text, multiline) => {
      const { text: shown, warnings } = visible(text, { multiline, maxLength: 10_000, maxLines: 10_000 });
      fc.pre(!warnings.some((warning) => warning.includes("combining")));
      const back = shown.replace(/⟨U\+([0-9A-F]{4,6})⟩/g, (_, hex: string) =>
        String.fromCodePoint(Number.parseInt(hex, 16)),
      );
      expect(back).toBe(text);
    }),
    { numRuns: 300 },
  );
});

test("T2: every line of framed text carries the frame, fits, and nothing is lost", () => {
  fc.assert(
    fc.property(hostile, fc.integer({ min: 24, max: 120 }), (source, columns) => {
      const { text } = visible(source, { multiline: true });
      const lines = framed(text, columns);
      for (const line of lines) expect(line).toMatch(/^ {2}┃ /);
      for (const line of lines) expect([...line].length).toBeLessThanOrEqual(columns + 8); // one cluster may be wider
      expect(lines.map((line) => line.slice(4)).join("")).toBe(text.replaceAll("\n", ""));
    }),
    { numRuns: 200 },
  );
});

test("L1/L2: `inspectUrl` never throws, and accepts only https, or http on this computer", () => {
  const url = fc.oneof(
    hostile,
    fc.webUrl({ withFragments: true, withQueryParameters: true, validSchemes: ["https", "http", "ftp"] }),
    fc
      .tuple(fc.constantFrom("https://", "http://", "java\nscript:", "https:\\\\", "https:", "//"), hostile, hostile)
      .map(([a, b, c]) => `${a}${b}/${c}`),
    fc.tuple(fc.webUrl(), hostile).map(([a, b]) => a.replace("://", `://${b}@`)),
  );
  fc.assert(
    fc.property(url, (raw) => {
      const view = inspectUrl(raw);
      expect(JSON.stringify(view)).not.toMatch(RAW);
      if (!view.ok) return;
      const { protocol, hostname } = new URL(view.href);
      expect(
        protocol === "https:" || (protocol === "http:" && /^(.*\.)?localhost$|^127\.|^\[::1\]$/.test(hostname)),
      ).toBe(true);
      expect(Object.values(view.pieces).join("")).toBe(view.href);
      expect(hostname).toContain(view.pieces.domain);
    }),
    { numRuns: 300 },
  );
});

test("U4: names never make `nameWarnings` throw, and its warnings are clean", () => {
  fc.assert(
    fc.property(hostile, (name) => {
      expect(nameWarnings(name).join("")).not.toMatch(RAW);
    }),
    { numRuns: 200 },
  );
});

const junk = fc.oneof(hostile, fc.jsonValue({ maxDepth: 2 }), fc.constant(undefined));
const orJunk = <T>(good: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: good as fc.Arbitrary<unknown> }, { weight: 1, arbitrary: junk });
const some = (record: Record<string, fc.Arbitrary<unknown>>) => fc.record(record, { requiredKeys: [] });
const titled = fc.array(some({ const: orJunk(hostile), title: orJunk(hostile) }), { maxLength: 3 });
const property = fc
  .tuple(
    some({
      title: orJunk(hostile),
      description: orJunk(hostile),
      default: junk,
      format: fc.constantFrom("email", "uri", "date", "x"),
    }),
    fc.oneof(
      some({
        type: fc.constantFrom("string", "number", "integer", "boolean", "array", "object"),
        minLength: junk,
        maximum: junk,
      }),
      fc.record({ type: fc.constant("string"), enum: orJunk(fc.array(hostile, { maxLength: 3 })) }),
      fc.record({ type: fc.constant("string"), oneOf: orJunk(titled) }),
      fc.record({
        type: fc.constant("array"),
        items: some({ type: fc.constant("string"), enum: fc.array(hostile, { maxLength: 3 }), anyOf: titled }),
      }),
    ),
  )
  .map(([labels, shape]) => ({ ...labels, ...shape }));
const form = some({
  mode: fc.constantFrom("form", undefined),
  message: orJunk(hostile),
  requestedSchema: orJunk(
    fc.record({
      type: fc.constant("object"),
      properties: orJunk(fc.dictionary(hostile, orJunk(property), { maxKeys: 4 })),
      required: orJunk(fc.array(hostile, { maxLength: 2 })),
    }),
  ),
});
const sampling = some({
  messages: orJunk(
    fc.array(
      orJunk(
        some({
          role: hostile,
          content: orJunk(some({ type: fc.constantFrom("text", "image", "tool_use"), text: junk, data: junk })),
        }),
      ),
      { maxLength: 3 },
    ),
  ),
  maxTokens: orJunk(fc.nat()),
  systemPrompt: junk,
  tools: orJunk(fc.array(junk, { maxLength: 2 })),
  stopSequences: junk,
  metadata: junk,
  modelPreferences: junk,
});
const request = orJunk(
  fc.oneof(
    fc.record({ method: fc.constant("elicitation/create"), params: orJunk(form) }),
    fc.record({
      method: fc.constant("elicitation/create"),
      params: some({ mode: fc.constant("url"), message: orJunk(hostile), url: junk }),
    }),
    fc.record({ method: fc.constant("sampling/createMessage"), params: orJunk(sampling) }),
    fc.record({ method: fc.constant("roots/list"), params: junk }),
  ),
);
const context: fc.Arbitrary<QuestionContext> = fc.record({
  server: fc.record({
    id: hostile,
    claimed: some({ name: hostile, title: hostile, version: hostile }) as fc.Arbitrary<{ name?: string }>,
  }),
  method: fc.constantFrom("tools/call", "prompts/get", "resources/read"),
  target: hostile,
  params: fc.dictionary(fc.constantFrom("arguments", "name"), fc.jsonValue()),
  key: hostile,
  round: fc.nat(),
  signal: fc.constant(new AbortController().signal),
});

/** Every text of a view that is for showing: all but the field itself and the wire values. */
function shownTexts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => (key === "field" || key === "value" ? [] : shownTexts(inner)));
}

test("M3/T1/F4: any server input gives a clean view or `invalid_interim`, and nothing else", () => {
  let described = 0;
  fc.assert(
    fc.property(request, context, fc.integer({ min: 20, max: 100 }), (input, asked, columns) => {
      try {
        const view = describeQuestion(input as never, asked);
        described += 1;
        const texts = [...shownTexts(view), ...drawQuestion(view, columns)];
        if (view.kind === "form") {
          for (const field of view.fields) {
            texts.push(...drawField(field, host("Field"), columns), describeAnswer(field, field.field.default));
          }
        }
        // F5: an address is shown as one only where it is the question, or stands in the request's own arguments.
        const { arguments: _own, ...call } = view.call;
        const words = view.kind === "url" ? [] : shownTexts({ ...view, call });
        for (const text of words) expect(text).not.toContain("://");
        for (const text of texts) expect(text.replaceAll("\x1b[1m", "").replaceAll("\x1b[22m", "")).not.toMatch(RAW);
      } catch (error) {
        if (!(error instanceof ParleyError)) throw error;
        expect(error.code).toBe("invalid_interim");
        expect(error.message).not.toMatch(RAW);
      }
    }),
    { numRuns: 300 },
  );
  expect(described).toBeGreaterThan(50);
});
