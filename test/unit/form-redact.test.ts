/** What was typed stays out of complaints (F1), whatever it looks like. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { prepareForm, readForm } from "../../src/protocol/form/index.ts";
import { withoutValues } from "../../src/protocol/form/redact.ts";

const fields = readForm({ type: "object", properties: { f: { type: "string" }, n: { type: "number" } } });

describe("B15 A16 F1: a validator's message comes back without what was typed", () => {
  test("control: a plain word is taken out, and nothing else", () => {
    expect(withoutValues('Got "hunter2", wanted 5 of 15.', fields, { f: "hunter2", n: 5 })).toBe(
      'Got "…", wanted … of 15.',
    );
  });

  test.each([
    ...["2026-07-28", "550e8400-e29b-41d4-a716-446655440000", "a-b-c-d", "----", "[a-z]", "(a+)+$", "\\u{1F600}"],
    ...["^.*?|{1,}/", "x\ny z", "\ud83d", "a/b", "#&~@!", "ſ-Kelvin"],
  ])("the text %j", (value) => {
    expect(withoutValues(`was <${value}> here`, fields, { f: value })).toBe("was <…> here");
  });

  test.each([-5, -0.25, 1e-7, 1e21, -1e21, 12345])("the number %j", (value) => {
    expect(withoutValues(`was ${value} here`, fields, { n: value })).toBe("was … here");
  });

  test("no value makes it throw, and no value of four letters or more is left", () => {
    const typed = fc.string({ unit: "binary", maxLength: 20 });
    fc.assert(
      fc.property(typed, fc.double({ noNaN: true, noDefaultInfinity: true }), (f, n) => {
        const left = withoutValues(`was <${f}>, ${n}`, fields, { f, n });
        if (f.trim().length >= 4 && !/[…\d]/.test(f)) expect(left).not.toContain(f.trim());
      }),
      { numRuns: 300 },
    );
  });

  test("through a form: a date that the author's schema refuses is a verdict, not an exception", () => {
    const form = prepareForm(
      z.object({ day: z.string().refine(() => false, { error: (issue) => `was ${String(issue.input)}` }) }),
    );
    expect(form.validate({ day: "2026-07-28" })).toEqual({ ok: false, reason: '"day" is not accepted: was …' });
  });

  test("F3: a message too long to be searched is not repeated, and no size takes long", () => {
    const long = "a".repeat(1_000_000);
    const started = performance.now();
    expect(withoutValues(`${long}b`, fields, { f: `${"a".repeat(500_000)}b` })).not.toContain("aaaa");
    withoutValues("a".repeat(2000), fields, { f: `${"a".repeat(1000)}b` });
    expect(performance.now() - started).toBeLessThan(2000);
  });
});
