import { ParleyError } from "../../errors.ts";
import type { FormProperty, FormSchema } from "../types.ts";
import type { Field } from "./field-types.ts";
import { readField } from "./fields.ts";
import { type FormOptions, type ResolvedFormOptions, resolveFormOptions } from "./form-options.ts";
import { FORMATS } from "./formats.ts";
import { ownProperties, ownStrings } from "./plain.ts";
import { type Copy, checkShape, onlyKeywords, refuse } from "./shape.ts";
import { checkField } from "./validate.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
/** Names that reach an object's prototype in careless code of a peer (F4). */
const HOSTILE_NAMES = ["__proto__", "constructor", "prototype"];

/**
 * Checks a wire form schema before it is sent and returns a deep-frozen copy of it: the restricted shape of D4 to D13
 * and nothing else, no request for a secret (D14), no address to click (D15), no default or bound that contradicts
 * the rest (L29). The copy is what was checked: later changes to `schema` do not reach it.
 * @throws ParleyError "invalid_form" with `details.property` (absent for the form itself) and `details.rule`.
 */
export function checkFormSchema(schema: unknown, options?: FormOptions): FormSchema {
  const resolved = resolveFormOptions(options);
  const root = ownProperties(schema) ?? refuse(undefined, "object", "must be a plain object");
  onlyKeywords(undefined, root, ["$schema", "type", "properties", "required"]);
  const { $schema: dialect, type } = root;
  if (dialect !== undefined && dialect !== DIALECT)
    refuse(undefined, "$schema", `must be "${DIALECT}" or absent (D13)`);
  if (type !== "object") refuse(undefined, "type", 'must be "object" (D4)');
  const properties = ownProperties(root["properties"]) ?? refuse(undefined, "properties", "must be an object (D4)");
  const names = Object.keys(properties);
  const { maxProperties } = resolved;
  if (names.length > maxProperties) refuse(undefined, "maxProperties", `must be at most ${maxProperties}`);
  const required = readRequired(root["required"], names);
  const checked = names.map((name) => [name, checkProperty(name, properties[name], resolved)] as const);
  return Object.freeze({
    ...(dialect !== undefined && { $schema: dialect }),
    type,
    properties: Object.freeze(Object.fromEntries(checked)),
    ...(required !== undefined && { required }),
  }) as FormSchema;
}

function readRequired(value: unknown, names: readonly string[]): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const required = ownStrings(value) ?? refuse(undefined, "required", "must be a list of property names");
  const absent = required.find((name) => !names.includes(name));
  if (absent !== undefined) refuse(absent, "required", "names a property the form does not have (L29)");
  if (new Set(required).size !== required.length) refuse(undefined, "required", "must not repeat a name");
  return Object.freeze([...required]);
}

function checkProperty(name: string, schema: unknown, options: ResolvedFormOptions): FormProperty {
  if (name === "" || /\p{Cc}/u.test(name) || HOSTILE_NAMES.includes(name))
    refuse(name, "name", "is not a usable name (F4)");
  const given = ownProperties(schema) ?? refuse(name, "property", "must be an object");
  const property = checkShape(name, given, options);
  for (const key of ["title", "description"]) {
    if (property[key] !== undefined && typeof property[key] !== "string") refuse(name, key, "must be text");
  }
  // The reader's own rules are the last word on what the property means; they agree with a host's reading of it.
  const field = asField(name, property, options);
  checkBounds(name, field);
  if (property["default"] !== undefined) {
    const reason = checkField(field, property["default"]);
    if (reason !== undefined) refuse(name, "default", `${reason} (D11, L29)`);
  }
  if (field.secret !== undefined && !options.allowSecretLooking.includes(name)) {
    const word = `looks like a request for a secret ("${field.secret}")`;
    const remedy = "ask for it on a page of yours with flow.url, or, if it is none, name it in allowSecretLooking";
    refuse(name, "secret", `must not be asked in a form: it ${word}; ${remedy}`);
  }
  if (!options.allowUrls.includes(name)) {
    // A choice may be an address (which mirror?); a title that dresses one up may not.
    const options = "options" in field ? field.options.filter(({ value, title }) => title !== value) : [];
    const texts = [field.title, field.description, ...options.map(({ title }) => title)];
    const linked = texts.some((text) => text !== undefined && /https?:\/\//i.test(text));
    if (linked)
      refuse(name, "url", "a form holds no web address to click; ask in URL mode, or name it in allowUrls (D15)");
  }
  return property as unknown as FormProperty;
}

/** The property as a host would read it; what the host would not honour is refused here. */
function asField(name: string, property: Copy, { maxOptions }: ResolvedFormOptions): Field {
  let field: Field;
  try {
    field = readField(name, property, false, maxOptions);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    throw new ParleyError("invalid_form", error.message, { cause: error, details: error.details });
  }
  const rule = field.ignored?.[0];
  if (rule === "format") refuse(name, rule, `must be one of ${FORMATS.join(", ")} (D5)`);
  if (rule !== undefined && rule !== "enumNames") refuse(name, rule, "must be a number that fits (D5, D6, D9)");
  return field;
}

function checkBounds(name: string, field: Field): void {
  const above = (low?: number, high?: number) => low !== undefined && high !== undefined && low > high;
  if (field.kind === "text" && above(field.minLength, field.maxLength)) {
    refuse(name, "minLength", "must not be above maxLength");
  }
  if (field.kind === "number" || field.kind === "integer") {
    const { kind, minimum, maximum } = field;
    // Rounded down, so that a range without a whole number counts as empty for an integer.
    const highest = kind === "integer" && maximum !== undefined ? Math.floor(maximum) : maximum;
    if (above(minimum, highest)) refuse(name, "minimum", "must leave a value up to maximum");
  }
  if (field.kind !== "choices") return;
  if (above(field.minItems, field.maxItems)) refuse(name, "minItems", "must not be above maxItems");
  if (above(field.minItems, field.options.length))
    refuse(name, "minItems", "must not be above the number of options (L29)");
}
