/** Generators of legal forms with content that answers them. */
import fc from "fast-check";

export interface FormCase {
  readonly schema: { type: "object"; properties: Record<string, object>; required: string[] };
  readonly content: Record<string, unknown>;
}

interface PropertyCase {
  readonly property: object;
  readonly value: unknown;
}

const label = fc.constantFrom("Colour", "Where to?", "Größe", "数量", "");
const labels = fc.record({ title: label, description: label }, { requiredKeys: [] });
const text = fc.string({ unit: "binary", maxLength: 12 });
const codePoints = (value: string) => [...value].length;

const textCase = fc
  .record({ value: text, slack: fc.nat(3), withDefault: fc.boolean() })
  .map(({ value, slack, withDefault }) => {
    const bounds = { minLength: Math.max(0, codePoints(value) - slack), maxLength: codePoints(value) + slack };
    return { property: { type: "string", ...bounds, ...(withDefault && { default: value }) }, value };
  });

const formatCase = fc
  .oneof(
    fc.record({ format: fc.constant("email"), value: fc.constantFrom("a@b.co", "x.y+z@sub.example.org") }),
    fc.record({ format: fc.constant("uri"), value: fc.webUrl() }),
    fc
      .date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true })
      .chain((date) =>
        fc.constantFrom(
          { format: "date", value: date.toISOString().slice(0, 10) },
          { format: "date-time", value: date.toISOString() },
        ),
      ),
  )
  .map(({ format, value }) => ({ property: { type: "string", format }, value }));

const numberCase = fc
  .record({ value: fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e9, max: 1e9 }), slack: fc.nat(9) })
  .map(({ value, slack }) => ({ property: { type: "number", minimum: value - slack, maximum: value + slack }, value }));

const integerCase = fc
  .record({ value: fc.integer(), slack: fc.nat(9) })
  .map(({ value, slack }) => ({ property: { type: "integer", minimum: value - slack, default: value }, value }));

const booleanCase = fc.boolean().map((value) => ({ property: { type: "boolean", default: !value }, value }));

const choiceCase = fc.uniqueArray(text, { minLength: 1, maxLength: 6 }).chain((values) => {
  const titled = values.map((value, index) => ({ const: value, title: `Option ${index}` }));
  const picked = fc.subarray(values);
  return fc.oneof(
    fc
      .constantFrom(...values)
      .chain((value) =>
        fc.constantFrom<PropertyCase>(
          { property: { type: "string", enum: values, default: value }, value },
          { property: { type: "string", oneOf: titled }, value },
        ),
      ),
    picked.chain((value) =>
      fc.constantFrom<PropertyCase>(
        { property: { type: "array", items: { type: "string", enum: values }, minItems: value.length }, value },
        { property: { type: "array", items: { anyOf: titled }, maxItems: value.length, default: value }, value },
      ),
    ),
  );
});

const propertyCase: fc.Arbitrary<PropertyCase> = fc
  .tuple(fc.oneof(textCase, formatCase, numberCase, integerCase, booleanCase, choiceCase), labels)
  .map(([{ property, value }, texts]) => ({ property: { ...property, ...texts }, value }));

/** Form names that neither collide with a prototype nor ask for a secret. */
const name = fc.constantFrom(..."abcdefgh").chain((letter) => fc.nat(99).map((n) => `${letter}${n}`));

/** A legal form and content that answers all or only the required part of it. */
export const formCase: fc.Arbitrary<FormCase> = fc
  .uniqueArray(fc.record({ name, one: propertyCase, required: fc.boolean(), answered: fc.boolean() }), {
    selector: (entry) => entry.name,
    maxLength: 8,
  })
  .map((entries) => ({
    schema: {
      type: "object",
      properties: Object.fromEntries(entries.map((entry) => [entry.name, entry.one.property])),
      required: entries.filter((entry) => entry.required).map((entry) => entry.name),
    },
    content: Object.fromEntries(
      entries.filter((entry) => entry.required || entry.answered).map((entry) => [entry.name, entry.one.value]),
    ),
  }));
