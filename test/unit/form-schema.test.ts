/** Preparing forms from Standard Schemas and wire schemas: what leaves the server (B24) and how answers are judged. */
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ParleyError } from "../../src/errors.ts";
import { type FormSource, type FormValue, prepareForm, readForm } from "../../src/protocol/form/index.ts";
import type { FormContent, FormSchema } from "../../src/protocol/types.ts";

const Colour = { Red: "red", Blue: "blue" } as const;

function refusal(schema: unknown): Record<string, unknown> {
  try {
    prepareForm(schema as FormSource);
  } catch (error) {
    if (error instanceof ParleyError) return { code: error.code, message: error.message, ...error.details };
    throw error;
  }
  throw new Error("accepted");
}

describe("prepareForm", () => {
  const full = z.object({
    choice: z.enum(["now", "tonight"]).describe("When?").meta({ title: "Time" }),
    native: z.nativeEnum(Colour),
    object: z.enum(Colour).optional(),
    literal: z.literal(["a", "b"]),
    many: z
      .array(z.enum(["x", "y"]))
      .min(1)
      .max(2),
    email: z.string().email(),
    url: z.url().optional(),
    date: z.iso.date(),
    moment: z.iso.datetime({ offset: true }).optional(),
    whole: z.number().int().min(1).max(5),
    real: z.number().min(0.5).optional(),
    flag: z.boolean().default(true),
    text: z.string().min(1).max(9).optional(),
  });

  test("B24: what leaves the server is flat, inline and primitive", () => {
    const { wire } = prepareForm(full);
    expect(wire).toMatchInlineSnapshot(`
      {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {
          "choice": {
            "description": "When?",
            "enum": [
              "now",
              "tonight",
            ],
            "title": "Time",
            "type": "string",
          },
          "date": {
            "format": "date",
            "type": "string",
          },
          "email": {
            "format": "email",
            "type": "string",
          },
          "flag": {
            "default": true,
            "type": "boolean",
          },
          "literal": {
            "enum": [
              "a",
              "b",
            ],
            "type": "string",
          },
          "many": {
            "items": {
              "enum": [
                "x",
                "y",
              ],
              "type": "string",
            },
            "maxItems": 2,
            "minItems": 1,
            "type": "array",
          },
          "moment": {
            "format": "date-time",
            "type": "string",
          },
          "native": {
            "enum": [
              "red",
              "blue",
            ],
            "type": "string",
          },
          "object": {
            "enum": [
              "red",
              "blue",
            ],
            "type": "string",
          },
          "real": {
            "minimum": 0.5,
            "type": "number",
          },
          "text": {
            "maxLength": 9,
            "minLength": 1,
            "type": "string",
          },
          "url": {
            "format": "uri",
            "type": "string",
          },
          "whole": {
            "maximum": 5,
            "minimum": 1,
            "type": "integer",
          },
        },
        "required": [
          "choice",
          "native",
          "literal",
          "many",
          "email",
          "date",
          "whole",
        ],
        "type": "object",
      }
    `);
    expect(JSON.stringify(wire)).not.toMatch(/\$ref|\$defs|"null"|pattern|"type":"object".*"type":"object"/);
    expect(readForm(wire).every((field) => field.ignored === undefined)).toBe(true);
  });

  test.each<[string, unknown, object]>([
    ["nested object", z.object({ bad: z.object({ x: z.string() }) }), { property: "bad", rule: "type" }],
    ["nullable (anyOf null)", z.object({ bad: z.string().nullable() }), { property: "bad", rule: "type" }],
    ["unknown format", z.object({ bad: z.uuid() }), { property: "bad", rule: "type" }],
    ["pattern", z.object({ bad: z.string().regex(/^a+$/) }), { property: "bad", rule: "pattern" }],
    ["exclusive bound", z.object({ bad: z.number().gt(1) }), { property: "bad", rule: "exclusiveMinimum" }],
    ["multipleOf", z.object({ bad: z.number().multipleOf(5) }), { property: "bad", rule: "multipleOf" }],
    ["$defs", z.object({ a: z.string().meta({ id: "Shared" }) }), { rule: "$defs" }],
    ["root union", z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), { rule: "anyOf" }],
    ["no object", z.string(), { code: "invalid_form" }],
    ["Valibot without JSON conversion", v.object({ a: v.string() }), { rule: "conversion" }],
    [
      "own checker: default that is no option",
      z.object({ bad: z.enum(["a"]).default("b" as "a") }),
      { property: "bad", rule: "default" },
    ],
    [
      "own checker: enumNames",
      z.object({ bad: z.enum(["a"]).meta({ enumNames: ["A"] }) }),
      { property: "bad", rule: "enumNames" },
    ],
    ["own checker: secret (B35)", z.object({ apiKey: z.string() }), { property: "apiKey", rule: "secret" }],
    ["own checker: hostile name", z.object({ constructor: z.string() }), { property: "constructor", rule: "name" }],
    [
      "wire schema with a nested object",
      { type: "object", properties: { bad: { type: "object" } } },
      { property: "bad", rule: "type" },
    ],
    ["nothing", undefined, { rule: "object" }],
  ])("B24, D12: %s never leaves", (_, schema, expected) => {
    const error = refusal(schema);
    expect(error).toMatchObject({ code: "invalid_form", ...expected });
    if ("property" in expected) expect(error["message"]).toContain(expected.property);
  });

  test("the validator's own output comes back: defaults and transforms applied", async () => {
    const form = prepareForm(z.object({ n: z.number().transform((n) => n * 2), flag: z.boolean().default(true) }));
    expect(await form.validate({ n: 2 })).toEqual({ ok: true, value: { n: 4, flag: true } });
  });

  test("an asynchronous schema gives a promise of a verdict", async () => {
    const form = prepareForm(z.object({ a: z.string().refine(async (a) => a !== "taken", "That one is taken.") }));
    expect(await form.validate({ a: "free" })).toEqual({ ok: true, value: { a: "free" } });
    expect(await form.validate({ a: "taken" })).toMatchObject({ ok: false, reason: expect.stringContaining('"a"') });
  });

  test("B15: missing, invented and mistyped answers are refused, whatever the schema would coerce or catch", async () => {
    const form = prepareForm(z.object({ scope: z.enum(["own", "all"]).catch("all") }));
    expect(await form.validate({ scope: "own" })).toEqual({ ok: true, value: { scope: "own" } });
    for (const content of [{}, { scope: "everything" }, { scope: ["all"] }, { scope: null }]) {
      expect(await form.validate(content)).toMatchObject({ ok: false, reason: expect.stringContaining('"scope"') });
    }
    const coerced = prepareForm(z.object({ n: z.coerce.number() }));
    expect(await coerced.validate({ n: "5" })).toMatchObject({ ok: false });
  });

  test("B23: missing content is {}", async () => {
    expect(await prepareForm(z.object({})).validate(undefined)).toEqual({ ok: true, value: {} });
    expect(await prepareForm(z.object({ ok: z.boolean() })).validate(undefined)).toMatchObject({
      ok: false,
      reason: '"ok" is required',
    });
  });

  test("wire schemas: the content's own known fields come back, defaults are not injected (D22)", async () => {
    const form = prepareForm({ type: "object", properties: { a: { type: "string", default: "x" } } });
    expect(await form.validate({ extra: 1 })).toEqual({ ok: true, value: {} });
    expect(await form.validate(JSON.parse('{"a":"y","__proto__":{}}'))).toMatchObject({ ok: false });
    expect(await form.validate({ a: "y" })).toEqual({ ok: true, value: { a: "y" } });
  });

  test("F1: a reason repeats no typed value, even if the validator quotes it", async () => {
    const quoting = prepareForm(
      z.object({
        a: z.string().refine(() => false, { error: (issue) => `"${issue.input}" is bad` }),
        n: z.number().optional(),
      }),
    );
    const verdict = await quoting.validate({ a: "hunter2", n: 5 });
    expect(verdict).toEqual({ ok: false, reason: '"a" is not accepted: "…" is bad' });
    const ark = prepareForm(type({ word: type("string").narrow((word, ctx) => ctx.mustBe("kind") && word === "") }));
    expect(JSON.stringify(await ark.validate({ word: "hunter2" }))).not.toContain("hunter2");
    const limit = prepareForm(z.object({ n: z.number().refine(() => false, "Choose at most 15 seats, not 5.") }));
    expect(await limit.validate({ n: 5 })).toMatchObject({
      reason: '"n" is not accepted: Choose at most 15 seats, not ….',
    });
  });

  test("a reason is bounded", async () => {
    const form = prepareForm(z.object({ a: z.string().refine(() => false, "x".repeat(1_500)) }));
    const verdict = await form.validate({ a: "y" });
    expect(verdict.ok ? 0 : verdict.reason.length).toBe(500);
  });

  test("ArkType and Valibot with JSON conversion are accepted", async () => {
    const ark = prepareForm(type({ n: "1<=number.integer<=5", "mail?": "string.email", flag: "boolean" }));
    expect(await ark.validate({ n: 3, flag: false })).toEqual({ ok: true, value: { n: 3, flag: false } });
    const schema = v.object({ a: v.pipe(v.string(), v.minLength(2)) });
    const json = () => ({ type: "object", properties: { a: { type: "string", minLength: 2 } }, required: ["a"] });
    const valibot = { "~standard": { ...schema["~standard"], jsonSchema: { input: json, output: json } } };
    expect(await prepareForm(valibot).validate({ a: "ab" })).toEqual({ ok: true, value: { a: "ab" } });
  });

  test("a schema is prepared once per set of options; a wire schema that changes is read again", () => {
    const schema = z.object({ pin: z.number() });
    const allowed = prepareForm(schema, { allowSecretLooking: ["pin"] });
    expect(prepareForm(schema, { allowSecretLooking: ["pin"] })).toBe(allowed);
    expect(refusal(schema)).toMatchObject({ property: "pin", rule: "secret" });

    const wire = {
      type: "object" as const,
      properties: { a: { type: "string" as const } } as Record<string, { type: "string"; pattern?: string }>,
    };
    const first = prepareForm(wire);
    expect(prepareForm(first.wire)).toBe(first);
    wire.properties["a"]!.pattern = "^(a+)+$";
    expect(first.wire).toEqual({ type: "object", properties: { a: { type: "string" } } });
    expect(refusal(wire)).toMatchObject({ property: "a", rule: "pattern" });
  });

  test("a form is found again by its text, but only when its text says all of it", () => {
    const form = (extra: object = {}) => ({ type: "object", properties: { b: { type: "string", ...extra } } });
    const known = prepareForm(form() as never);
    expect(prepareForm(form() as never)).toBe(known);
    expect(prepareForm(form() as never, { allowSecretLooking: ["b"] })).not.toBe(known);
    // JSON writes all of these like the one above.
    expect(refusal(form({ pattern: () => "" }) as never)).toMatchObject({ property: "b", rule: "pattern" });
    expect(refusal(Object.assign(new (class Form {})(), form()) as never)).toMatchObject({ rule: "object" });
    expect(refusal({ type: "array", toJSON: () => form() } as never)).toMatchObject({ rule: "toJSON" });
    let reads = 0;
    const fickle = {
      get type() {
        return reads++ > 0 ? "array" : "string";
      },
    };
    expect(refusal({ type: "object", properties: { b: fickle } } as never)).toMatchObject({ property: "b" });
  });

  test("a form is found again by its place, but only when it is the one that was there last", () => {
    const [a, b] = [{ type: "string" }, { type: "boolean" }] as const;
    const form = (properties: object) => ({ type: "object", properties }) as never;
    const at = (properties: object, options?: { allowSecretLooking: string[] }) =>
      prepareForm(form(properties), options, "key");
    const known = at({ a, b });
    expect(at({ a, b })).toBe(known);
    // People see the fields in the order in which they are written.
    expect(Object.keys(at({ b, a }).wire.properties)).toEqual(["b", "a"]);
    expect(at({ a, b })).toBe(known);
    expect(at({ a, b: a })).not.toBe(known);
    expect(at({ a, b }, { allowSecretLooking: ["b"] })).not.toBe(known);
    expect(() => at({ a, b: { type: "object" } })).toThrow(ParleyError);
  });

  test("types: a Standard Schema's output, a literal wire schema's values, content otherwise", () => {
    expectTypeOf<FormValue<typeof full>>().toEqualTypeOf<z.output<typeof full>>();
    expectTypeOf<FormValue<FormSchema>>().toEqualTypeOf<FormContent>();
    const form = prepareForm({
      type: "object",
      properties: {
        when: { type: "string", enum: ["now", "tonight"] },
        many: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
        n: { type: "integer" },
      },
      required: ["when"],
    });
    type Value = Extract<Awaited<ReturnType<typeof form.validate>>, { ok: true }>["value"];
    expectTypeOf<Value>().toEqualTypeOf<{ when: "now" | "tonight"; many?: "a"[]; n?: number }>();
  });
});
