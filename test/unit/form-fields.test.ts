/** Reading a form that a server sent: everything the revision can say, near misses, and what must be refused. */
import { describe, expect, test } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import { type ReadFormOptions, readForm } from "../../src/protocol/form/index.ts";

const read = (property: unknown, required = false) =>
  readForm({ type: "object", properties: { f: property }, ...(required && { required: ["f"] }) })[0]!;

function refusal(schema: unknown, options?: ReadFormOptions): object {
  try {
    readForm(schema, options);
  } catch (error) {
    if (error instanceof ParleyError) return { code: error.code, ...error.details };
    throw error;
  }
  throw new Error("accepted");
}

describe("readForm", () => {
  test("B24: all five spellings of a choice in one schema", () => {
    const titled = [
      { const: "a", title: "A" },
      { const: "b", title: "B" },
    ];
    const plain = [
      { value: "a", title: "a" },
      { value: "b", title: "b" },
    ];
    const named = [
      { value: "a", title: "A" },
      { value: "b", title: "B" },
    ];
    const fields = readForm({
      type: "object",
      properties: {
        one: { type: "string", enum: ["a", "b"], default: "b" },
        two: { type: "string", oneOf: titled },
        three: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1, default: ["a"] },
        four: { type: "array", items: { anyOf: titled }, maxItems: 1 },
        five: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
      },
      required: ["two"],
    });
    expect(fields).toEqual([
      { name: "one", required: false, kind: "choice", options: plain, default: "b" },
      { name: "two", required: true, kind: "choice", options: named },
      { name: "three", required: false, kind: "choices", options: plain, minItems: 1, default: ["a"] },
      { name: "four", required: false, kind: "choices", options: named, maxItems: 1 },
      { name: "five", required: false, kind: "choice", options: named },
    ]);
  });

  test("B33: texts, numbers, booleans with labels, bounds, formats and defaults", () => {
    const labels = { title: "T", description: "D" };
    const base = { name: "f", required: false };
    const text = { minLength: 1, maxLength: 50, format: "email", default: "a@b.co" };
    expect(read({ type: "string", ...labels, ...text })).toEqual({ ...base, kind: "text", ...labels, ...text });
    const bounds = { minimum: 0.5, maximum: 9, default: 2 };
    expect(read({ type: "number", ...bounds })).toEqual({ ...base, kind: "number", ...bounds });
    expect(read({ type: "integer", ...bounds })).toEqual({ ...base, kind: "integer", ...bounds });
    expect(read({ type: "boolean", default: false }, true)).toEqual({
      ...base,
      required: true,
      kind: "boolean",
      default: false,
    });
    expect(readForm({ type: "object", properties: {} })).toEqual([]);
  });

  test("B24: near misses are read: no type beside choices, const without a title, anyOf for oneOf", () => {
    expect(read({ enum: ["a"] })).toMatchObject({ kind: "choice" });
    expect(read({ oneOf: [{ const: "a" }] })).toMatchObject({ kind: "choice", options: [{ value: "a", title: "a" }] });
    expect(read({ anyOf: [{ type: "string", const: "a", title: "A" }] })).toMatchObject({ kind: "choice" });
    expect(read({ type: "array", items: { enum: ["a"] } })).toMatchObject({ kind: "choices" });
    expect(read({ type: "string", enum: ["a", "b"], enumNames: ["A"] })).toMatchObject({
      options: [{ title: "A" }, { title: "b" }],
    });
    expect(
      read({
        type: "string",
        oneOf: [
          { const: "a", title: "Cancel" },
          { const: "a", title: "Delete" },
        ],
      }),
    ).toMatchObject({
      options: [{ value: "a", title: "Cancel" }],
    });
  });

  test("F3: a pattern and other unknown constraints are reported, not run", () => {
    expect(read({ type: "string", pattern: "^(a+)+$", minLength: 1 })).toMatchObject({
      ignored: ["pattern"],
      minLength: 1,
    });
    expect(read({ type: "string", format: "uuid", minLength: -1 })).toEqual({
      name: "f",
      required: false,
      kind: "text",
      ignored: ["format", "minLength"], // biome-ignore format: short
    });
    expect(read({ type: "number", multipleOf: 2, title: 7 }).ignored).toEqual(["multipleOf", "title"]);
    expect(read({ type: "string" })).not.toHaveProperty("ignored");
  });

  test("L29: a default that breaks the field's rules is dropped; a required ghost is ignored", () => {
    expect(read({ type: "integer", maximum: 3, default: 3 })).toHaveProperty("default", 3);
    expect(read({ type: "integer", maximum: 3, default: 4 })).not.toHaveProperty("default");
    expect(read({ type: "string", enum: ["a"], default: "b" })).not.toHaveProperty("default");
    expect(read({ type: "array", items: { enum: ["a"] }, default: ["a", "b"] })).not.toHaveProperty("default");
    expect(read({ type: "string", default: null })).not.toHaveProperty("default");
    expect(readForm({ type: "object", properties: {}, required: ["ghost"] })).toEqual([]);
  });

  test("F1: a field that looks like a request for a secret is flagged with the word", () => {
    expect(read({ type: "string", title: "Your API key" })).toHaveProperty("secret", "api key");
    expect(read({ type: "string", format: "password" })).toHaveProperty("secret", "password");
    expect(read({ type: "string", title: "Your e-mail" })).not.toHaveProperty("secret");
  });

  test.each<[string, unknown, string]>([
    ["nested object", { type: "object", properties: {} }, "properties"],
    ["nested object without properties", { type: "object" }, "type"],
    ["$ref", { $ref: "#/x" }, "$ref"],
    ["allOf", { type: "string", allOf: [] }, "allOf"],
    ["nullable", { anyOf: [{ type: "string" }, { type: "null" }] }, "anyOf"],
    ["array of objects", { type: "array", items: { type: "object" } }, "items"],
    ["array of $ref", { type: "array", items: { $ref: "#/x" } }, "items"],
    ["array without items", { type: "array" }, "items"],
    ["unknown type", { type: "null" }, "type"],
    ["no type", {}, "type"],
    ["choices that are no texts", { type: "string", enum: [1] }, "enum"],
    ["no choices", { type: "string", enum: [] }, "enum"],
    ["two spellings at once", { type: "string", enum: ["a"], oneOf: [{ const: "b", title: "b" }] }, "oneOf"],
    ["too many choices", { type: "string", enum: Array.from({ length: 501 }, (_, i) => `${i}`) }, "maxOptions"],
    ["a property that is no object", "string", "property"],
  ])("D12: %s cannot be shown, naming property and rule", (_, property, rule) => {
    expect(refusal({ type: "object", properties: { ok: { type: "string" }, bad: property } })).toEqual({
      code: "invalid_interim",
      property: "bad",
      rule,
    });
  });

  test.each<[string, unknown, string]>([
    ["no schema", undefined, "object"],
    ["a list", [], "object"],
    ["another root type", { type: "string" }, "type"],
    ["no properties", { type: "object" }, "properties"],
    ["a root $ref", { type: "object", properties: {}, $ref: "#" }, "$ref"],
    ["a root union", { type: "object", properties: {}, oneOf: [] }, "oneOf"],
    [
      "D13: an unsupported dialect",
      { type: "object", properties: {}, $schema: "http://json-schema.org/draft-04/schema#" },
      "$schema",
    ],
    ["D13: a dialect that is no text", { type: "object", properties: {}, $schema: {} }, "$schema"],
  ])("%s cannot be shown", (_, schema, rule) => {
    expect(refusal(schema)).toEqual({ code: "invalid_interim", rule });
  });

  test("D13: dialects in which a form means the same are read", () => {
    for (const dialect of ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"]) {
      expect(readForm({ $schema: dialect, type: "object", properties: { a: { type: "string" } } })).toHaveLength(1);
    }
  });

  test("F4: ten thousand fields and hostile names", () => {
    const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`f${i}`, { type: "string" }]));
    expect(refusal({ type: "object", properties })).toEqual({ code: "invalid_interim", rule: "maxFields" });
    expect(readForm({ type: "object", properties: { a: { type: "string" } } }, { maxFields: 1 })).toHaveLength(1);
    const proto = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}');
    expect(refusal(proto)).toMatchObject({ property: "__proto__", rule: "name" });
    expect(readForm(JSON.parse('{"type":"object","properties":{"constructor":{"type":"string"}}}'))).toHaveLength(1);
  });
});
