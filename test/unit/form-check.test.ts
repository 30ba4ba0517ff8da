/** What may leave a server as a form: the restricted shape, and a named property and rule for everything else. */
import { describe, expect, test } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import { checkFormSchema, type FormOptions } from "../../src/protocol/form/index.ts";

const form = (properties: Record<string, unknown>, rest: object = {}) => ({ type: "object", properties, ...rest });

function refusal(schema: unknown, options?: FormOptions): { code: string; property?: unknown; rule?: unknown } {
  try {
    checkFormSchema(schema, options);
  } catch (error) {
    if (error instanceof ParleyError) return { code: error.code, ...error.details };
    throw error;
  }
  throw new Error("accepted");
}

const legal = {
  text: { type: "string", title: "T", description: "D", minLength: 1, maxLength: 5, default: "abc" },
  mail: { type: "string", format: "email" },
  link: { type: "string", format: "uri" },
  day: { type: "string", format: "date" },
  moment: { type: "string", format: "date-time" },
  real: { type: "number", minimum: 0.5, maximum: 1.5, default: 0.75 },
  whole: { type: "integer", minimum: 1, maximum: 5, default: 3 },
  flag: { type: "boolean", default: false },
  plain: { type: "string", enum: ["a", "b"], default: "b" },
  titled: { type: "string", oneOf: [{ const: "a", title: "A" }] },
  many: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1, maxItems: 2, default: ["a"] },
  manyTitled: { type: "array", items: { anyOf: [{ const: "a", title: "A" }] } },
};

describe("checkFormSchema", () => {
  test("D4 to D11: every legal kind passes unchanged, as a frozen copy", () => {
    const schema = form(legal, { required: ["text", "many"], $schema: "https://json-schema.org/draft/2020-12/schema" });
    const checked = checkFormSchema(schema);
    expect(checked).toEqual(schema);
    const frozen = (value: unknown): boolean =>
      typeof value !== "object" || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(frozen(checked)).toBe(true);
    legal.plain.enum.push("c");
    expect(checked.properties["plain"]).toMatchObject({ enum: ["a", "b"] });
    legal.plain.enum.pop();
  });

  test("B23: an empty form is legal", () => {
    expect(checkFormSchema(form({}))).toEqual({ type: "object", properties: {} });
  });

  test.each<[string, unknown, string]>([
    ["D12 nested object", { type: "object", properties: {} }, "type"],
    ["D12 $ref", { $ref: "#/$defs/x" }, "$ref"],
    ["D12 $ref beside a type", { type: "string", $ref: "#/$defs/x" }, "$ref"],
    ["D12 anyOf null", { anyOf: [{ type: "string" }, { type: "null" }] }, "anyOf"],
    ["D12 allOf", { allOf: [{ type: "string" }] }, "allOf"],
    ["D12 array of objects", { type: "array", items: { type: "object" } }, "items.type"],
    ["D12 array of free text", { type: "array", items: { type: "string" } }, "items.enum"],
    ["D12 array of numbers", { type: "array", items: { type: "number", enum: ["a"] } }, "items.type"],
    ["D12 type list", { type: ["string", "null"] }, "type"],
    ["D5 pattern", { type: "string", pattern: "^a$" }, "pattern"],
    ["D5 unknown format", { type: "string", format: "uuid" }, "format"],
    ["B35 password format", { type: "string", format: "password" }, "format"],
    ["D5 negative minLength", { type: "string", minLength: -1 }, "minLength"],
    ["D5 maxLength as text", { type: "string", maxLength: "3" }, "maxLength"],
    ["D5 minLength above maxLength", { type: "string", minLength: 4, maxLength: 3 }, "minLength"],
    ["D6 exclusive bound", { type: "number", exclusiveMinimum: 1 }, "exclusiveMinimum"],
    ["D6 multipleOf", { type: "integer", multipleOf: 5 }, "multipleOf"],
    ["D6 infinite bound", { type: "number", maximum: Number.POSITIVE_INFINITY }, "maximum"],
    ["D6 minimum above maximum", { type: "number", minimum: 2, maximum: 1 }, "minimum"],
    ["D6 no whole number between", { type: "integer", minimum: 1.2, maximum: 1.8 }, "minimum"],
    ["D6 number choices", { type: "number", enum: [1, 2] }, "enum"],
    ["D7 const", { type: "boolean", const: true }, "const"],
    ["D8 empty choice", { type: "string", enum: [] }, "enum"],
    ["D8 empty titled choice", { type: "string", oneOf: [] }, "oneOf"],
    ["D8 choice of numbers", { type: "string", enum: ["a", 1] }, "enum"],
    ["D8 repeated choice", { type: "string", enum: ["a", "a"] }, "enum"],
    ["D8 option without a title", { type: "string", oneOf: [{ const: "a" }] }, "oneOf"],
    ["D8 format beside enum", { type: "string", enum: ["a"], format: "email" }, "format"],
    ["D9 repeated titled choice", titledMany("a", "a"), "items.anyOf"],
    ["D10 enumNames", { type: "string", enum: ["a"], enumNames: ["A"] }, "enumNames"],
    ["D11 default of the wrong type", { type: "boolean", default: "yes" }, "default"],
    ["D11 default that is no option", { type: "string", enum: ["a"], default: "b" }, "default"],
    ["D11 default element that is no option", { ...titledMany("a"), default: ["b"] }, "default"],
    ["L29 default against the bounds", { type: "integer", maximum: 3, default: 4 }, "default"],
    ["L29 default against the format", { type: "string", format: "date", default: "soon" }, "default"],
    ["L29 minItems above the options", { ...titledMany("a"), minItems: 2 }, "minItems"],
    ["D9 minItems above maxItems", { ...titledMany("a", "b"), minItems: 2, maxItems: 1 }, "minItems"],
    ["D11 title that is no text", { type: "string", title: 1 }, "title"],
    ["D15 web address to click", { type: "string", description: "See https://evil.example" }, "url"],
    ["D4 no object", "string", "property"],
    ["D4 class instance", new Date(0), "property"],
  ])("%s is refused, naming property and rule", (_, property, rule) => {
    expect(checkFormSchema(form({ ok: { type: "string" } }))).toBeDefined();
    expect(refusal(form({ ok: { type: "string" }, bad: property }))).toMatchObject({
      code: "invalid_form",
      property: "bad",
      rule,
    });
  });

  test.each<[string, unknown, string]>([
    ["D13 another dialect", form({}, { $schema: "http://json-schema.org/draft-07/schema#" }), "$schema"],
    ["D4 root type", { type: "array", properties: {} }, "type"],
    ["D4 no properties", { type: "object" }, "properties"],
    ["D12 $defs", form({}, { $defs: {} }), "$defs"],
    ["D12 root composition", form({}, { anyOf: [] }), "anyOf"],
    ["D4 additionalProperties", form({}, { additionalProperties: false }), "additionalProperties"],
    ["L29 required that is no list", form({}, { required: "a" }), "required"],
    ["L29 required twice", form({ a: { type: "string" } }, { required: ["a", "a"] }), "required"],
    ["D4 null", null, "object"],
    ["F4 too many properties", form(many(101)), "maxProperties"],
  ])("%s is refused at the root", (_, schema, rule) => {
    expect(refusal(schema)).toEqual({ code: "invalid_form", rule });
  });

  test("L29: required naming an absent property names it", () => {
    expect(refusal(form({}, { required: ["ghost"] }))).toEqual({
      code: "invalid_form",
      property: "ghost",
      rule: "required",
    });
  });

  test.each(["__proto__", "constructor", "prototype", "", "a\nb"])("F4: the name %j is refused", (name) => {
    const properties = Object.fromEntries([[name, { type: "string" }]]);
    expect(refusal(form(properties))).toMatchObject({ property: name, rule: "name" });
  });

  test("F4: inherited members are neither read nor trusted", () => {
    expect(refusal(Object.create(form({})))).toMatchObject({ rule: "object" });
    const properties = Object.create({ a: { type: "string" } });
    expect(refusal({ type: "object", properties })).toMatchObject({ rule: "properties" });
  });

  test("a schema that shows another face on the second read is judged and sent by the first", () => {
    let reads = 0;
    const shifty = { type: "string" };
    Object.defineProperty(shifty, "format", {
      enumerable: true,
      get: () => (reads++ === 0 ? "email" : "password"),
    });
    expect(checkFormSchema(form({ a: shifty })).properties["a"]).toEqual({ type: "string", format: "email" });
  });

  test("B35, D14: a field that asks for a secret is refused unless it is named", () => {
    const schema = form({ apiKey: { type: "string" } });
    expect(refusal(schema)).toMatchObject({ code: "invalid_form", property: "apiKey", rule: "secret" });
    expect(checkFormSchema(schema, { allowSecretLooking: ["apiKey"] })).toEqual(schema);
  });

  test("D10, D15, limits: each has its option", () => {
    const legacy = form({ a: { type: "string", enum: ["x"], enumNames: ["X"] } });
    expect(checkFormSchema(legacy, { legacyEnumNames: true })).toEqual(legacy);
    const short = form({ a: { type: "string", enum: ["x"], enumNames: [] } });
    expect(refusal(short, { legacyEnumNames: true })).toMatchObject({ rule: "enumNames" });
    const linked = form({ a: { type: "string", title: "like https://example.com" } });
    expect(checkFormSchema(linked, { allowUrls: ["a"] })).toEqual(linked);
    const mirrors = form({ a: { type: "string", enum: ["https://one.example", "https://two.example"] } });
    expect(checkFormSchema(mirrors)).toEqual(mirrors);
    const dressed = form({ a: { type: "string", oneOf: [{ const: "one", title: "https://one.example" }] } });
    expect(refusal(dressed)).toMatchObject({ property: "a", rule: "url" });
    expect(checkFormSchema(form(many(101)), { maxProperties: 101 })).toBeDefined();
    const choices = form({ a: { type: "string", enum: ["x", "y"] } });
    expect(refusal(choices, { maxOptions: 1 })).toMatchObject({ property: "a", rule: "maxOptions" });
  });

  test.each([
    { maxProperties: 0 },
    { maxOptions: 1.5 },
    { maxOptions: "9" },
    { allowUrls: "a" },
    { allowSecretLooking: [1] },
    { legacyEnumNames: 1 },
  ])("a bad option %j is a configuration error", (options) => {
    expect(refusal(form({}), options as FormOptions)).toMatchObject({ code: "configuration" });
  });
});

function titledMany(...values: string[]) {
  return { type: "array", items: { anyOf: values.map((value) => ({ const: value, title: value })) } };
}

function many(count: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, { type: "string" }]));
}
