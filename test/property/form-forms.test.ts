/** Forms over generated schemas and garbage. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ParleyError } from "../../src/errors.ts";
import {
  checkContent,
  checkField,
  checkFormSchema,
  type Field,
  type FormSource,
  looksSecret,
  prepareForm,
  readForm,
} from "../../src/protocol/form/index.ts";
import { formCase } from "./form-schemas.ts";

const runs = { numRuns: 200 };
const json = <T>(value: T): T => JSON.parse(JSON.stringify(value));
const garbage = fc.anything({
  withNullPrototype: true,
  withDate: true,
  withMap: true,
  withSparseArray: true,
  withBigInt: true,
});

/** Fails unless `run` returns or throws a ParleyError. */
function onlyParleyErrors(run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
  }
}

describe("legal forms", () => {
  test("D4 to D11: are accepted unchanged, read by a host, and their content round-trips on both sides", async () => {
    await fc.assert(
      fc.asyncProperty(formCase, async ({ schema, content }) => {
        const form = prepareForm(schema as FormSource);
        expect(form.wire).toEqual(schema);
        const fields = readForm(json(form.wire));
        expect(fields.map((field) => field.name)).toEqual(Object.keys(schema.properties));
        expect(fields.some((field) => field.ignored !== undefined || field.secret !== undefined)).toBe(false);
        const sent = checkContent(fields, content);
        expect(sent).toEqual({ ok: true, content });
        expect(await form.validate(json(sent.ok && sent.content))).toEqual({ ok: true, value: json(content) });
      }),
      runs,
    );
  });

  test("D12: one foreign keyword anywhere, and the form is refused by its name", () => {
    const foreign = fc.constantFrom(
      "$ref",
      "pattern",
      "exclusiveMinimum",
      "multipleOf",
      "const",
      "allOf",
      "x-hint",
      "nullable",
    );
    fc.assert(
      fc.property(formCase, foreign, fc.nat(), ({ schema }, keyword, at) => {
        const names = Object.keys(schema.properties);
        const name = names[at % names.length];
        fc.pre(name !== undefined);
        const bad = json(schema);
        bad.properties[name!] = { ...bad.properties[name!], [keyword]: "x" };
        expect(() => checkFormSchema(schema)).not.toThrow();
        expect(() => checkFormSchema(bad)).toThrow(
          expect.objectContaining({ code: "invalid_form", details: { property: name, rule: keyword } }),
        );
      }),
      runs,
    );
  });

  test("a missing required answer is refused by its name, on both sides", async () => {
    await fc.assert(
      fc.asyncProperty(formCase, fc.nat(), async ({ schema, content }, at) => {
        const name = schema.required[at % schema.required.length];
        fc.pre(name !== undefined);
        const { [name!]: _, ...rest } = content;
        const form = prepareForm(schema as FormSource);
        expect(checkContent(readForm(form.wire), rest)).toEqual({
          ok: false,
          issues: [{ field: name, reason: "is required" }],
        });
        expect(await form.validate(rest)).toEqual({ ok: false, reason: `"${name}" is required` });
      }),
      runs,
    );
  });
});

describe("garbage", () => {
  const property = fc.oneof(
    garbage,
    fc.dictionary(
      fc.constantFrom(
        "type",
        "enum",
        "oneOf",
        "items",
        "default",
        "minLength",
        "maximum",
        "title",
        "format",
        "$ref",
        "__proto__",
      ),
      fc.oneof(garbage, fc.constantFrom("string", "array", "integer", "boolean", ["a", "a"], { enum: ["x"] })),
    ),
  );
  const schema = fc.oneof(
    garbage,
    fc.record(
      { type: fc.constant("object"), properties: fc.dictionary(fc.string(), property), required: garbage },
      { requiredKeys: ["type"] },
    ),
  );

  test("F4: checkFormSchema, prepareForm and readForm throw nothing but ParleyError", () => {
    fc.assert(
      fc.property(schema, (value) => {
        onlyParleyErrors(() => checkFormSchema(value));
        onlyParleyErrors(() => prepareForm(value as FormSource));
        onlyParleyErrors(() => readForm(value));
      }),
      { numRuns: 300 },
    );
  });

  test("what the checker accepts, the reader reads without loss", () => {
    fc.assert(
      fc.property(schema, (value) => {
        let wire: unknown;
        onlyParleyErrors(() => {
          wire = checkFormSchema(value);
        });
        if (wire !== undefined) expect(readForm(json(wire)).every((field) => field.ignored === undefined)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test("checkContent and checkField never throw, and accept only what the field allows", () => {
    fc.assert(
      fc.property(formCase, garbage, fc.dictionary(fc.string(), garbage), ({ schema }, content, entries) => {
        const fields = readForm(schema);
        for (const value of [content, entries]) {
          for (const unknownKeys of ["reject", "ignore"] as const) checkContent(fields, value, { unknownKeys });
        }
        const mixed = Object.fromEntries(fields.map((field) => [field.name, content]));
        const checked = checkContent(fields, mixed);
        const complaints = fields.filter((field: Field) => checkField(field, content) !== undefined);
        if (!checked.ok) expect(checked.issues.length).toBeGreaterThanOrEqual(complaints.length);
        else expect(complaints).toEqual([]);
      }),
      runs,
    );
  });

  test("looksSecret never throws and finds a word put anywhere", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), (before, after) => {
        looksSecret(before, { type: "string", title: after, description: before });
        const description = `${before}. password. ${after}`;
        expect(looksSecret("value", { type: "string", description })).toEqual(expect.any(String));
      }),
      runs,
    );
  });
});

describe("zod forms", () => {
  const kinds = {
    text: { make: () => z.string().min(1).max(20), value: fc.string({ minLength: 1, maxLength: 20 }) },
    email: { make: () => z.email(), value: fc.constant("a@b.co") },
    date: { make: () => z.iso.date(), value: fc.constant("2026-07-28") },
    whole: { make: () => z.number().int().min(-5).max(5), value: fc.integer({ min: -5, max: 5 }) },
    real: { make: () => z.number(), value: fc.double({ noNaN: true, noDefaultInfinity: true }) },
    flag: { make: () => z.boolean(), value: fc.boolean() },
    choice: { make: () => z.enum(["a", "b"]), value: fc.constantFrom("a", "b") },
    choices: {
      make: () => z.array(z.enum(["a", "b", "c"])).max(2),
      value: fc.subarray(["a", "b", "c"], { maxLength: 2 }),
    },
  };
  const entry = fc
    .constantFrom(...Object.values(kinds))
    .chain(({ make, value }) => fc.record({ make: fc.constant(make), value, optional: fc.boolean() }));

  test("B33: zod object -> wire -> host's fields -> content -> zod's own value", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 6 }), async (entries) => {
        const shape = entries.map(({ make, optional }, i) => [`f${i}`, optional ? make().optional() : make()] as const);
        const form = prepareForm(z.object(Object.fromEntries(shape)));
        const content = Object.fromEntries(entries.map(({ value }, i) => [`f${i}`, value]));
        const fields = readForm(json(form.wire));
        expect(fields.map((field) => field.required)).toEqual(entries.map(({ optional }) => !optional));
        expect(checkContent(fields, content)).toEqual({ ok: true, content });
        expect(await form.validate(json(content))).toEqual({ ok: true, value: json(content) });
      }),
      { numRuns: 100 },
    );
  });
});
