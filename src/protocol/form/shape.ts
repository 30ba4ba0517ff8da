import { ParleyError } from "../../errors.ts";
import type { ResolvedFormOptions } from "./form-options.ts";
import { ownItems, ownProperties, ownStrings, quoted } from "./plain.ts";

const LABELS = ["type", "title", "description", "default"];

export type Copy = Readonly<Record<string, unknown>>;

/** A frozen copy of the property with the keywords of its kind, their values still to be checked against each other. */
export function checkShape(name: string, given: Copy, options: ResolvedFormOptions): Copy {
  const { type } = given;
  if (type === "number" || type === "integer") {
    onlyKeywords(name, given, [...LABELS, "minimum", "maximum"]);
    return Object.freeze({ ...given });
  }
  if (type === "boolean") {
    onlyKeywords(name, given, LABELS);
    return Object.freeze({ ...given });
  }
  if (type === "array") {
    onlyKeywords(name, given, [...LABELS, "minItems", "maxItems", "items"]);
    const list = given["default"];
    const value =
      list === undefined ? undefined : (ownStrings(list) ?? refuse(name, "default", "must be a list of choices"));
    const items = checkItems(name, given["items"]);
    return Object.freeze({ ...given, items, ...(value !== undefined && { default: Object.freeze([...value]) }) });
  }
  if (type !== "string") {
    const offender = ["$ref", "allOf", "anyOf", "oneOf", "not"].find((key) => key in given) ?? "type";
    refuse(name, offender, "must be string, number, integer, boolean, or an array of choices (D4, D12)");
  }
  if ("oneOf" in given) {
    onlyKeywords(name, given, [...LABELS, "oneOf"]);
    return Object.freeze({ ...given, oneOf: checkTitled(name, "oneOf", given["oneOf"]) });
  }
  if (!("enum" in given)) {
    onlyKeywords(name, given, [...LABELS, "minLength", "maxLength", "format"]);
    return Object.freeze({ ...given });
  }
  onlyKeywords(name, given, [...LABELS, "enum", ...(options.legacyEnumNames ? ["enumNames"] : [])]);
  const values = checkValues(name, "enum", ownStrings(given["enum"]));
  if (!("enumNames" in given)) return Object.freeze({ ...given, enum: values });
  const titles = ownStrings(given["enumNames"]) ?? [];
  if (titles.length !== values.length) refuse(name, "enumNames", "must hold one text for each choice (D10)");
  return Object.freeze({ ...given, enum: values, enumNames: Object.freeze([...titles]) });
}

function checkItems(name: string, given: unknown): Copy {
  const items = ownProperties(given) ?? refuse(name, "items", "must be an object (D9)");
  if ("anyOf" in items) {
    onlyKeywords(name, items, ["anyOf"], "items.");
    return Object.freeze({ anyOf: checkTitled(name, "items.anyOf", items["anyOf"]) });
  }
  onlyKeywords(name, items, ["type", "enum"], "items.");
  if (items["type"] !== "string") refuse(name, "items.type", 'must be "string" (D9)');
  return Object.freeze({ type: "string", enum: checkValues(name, "items.enum", ownStrings(items["enum"])) });
}

function checkTitled(name: string, rule: string, list: unknown): readonly Copy[] {
  const options = (ownItems(list) ?? []).map((item) => {
    const { const: value, title, ...rest } = ownProperties(item) ?? {};
    if (typeof value !== "string" || typeof title !== "string" || Object.keys(rest).length > 0) {
      return refuse(name, rule, "must hold {const, title} of texts (D8, D9)");
    }
    return Object.freeze({ const: value, title });
  });
  checkValues(
    name,
    rule,
    options.map((option) => option.const),
  );
  return Object.freeze(options);
}

function checkValues(name: string, rule: string, values: readonly string[] | undefined): readonly string[] {
  if (values === undefined || values.length === 0) refuse(name, rule, "must be a list of at least one text");
  if (new Set(values).size !== values.length) refuse(name, rule, "must not repeat a choice");
  return Object.freeze([...values]);
}

/** Refuses the first keyword that is not in `allowed`. */
export function onlyKeywords(property: string | undefined, given: Copy, allowed: readonly string[], prefix = ""): void {
  const extra = Object.keys(given).find((key) => !allowed.includes(key));
  if (extra !== undefined)
    refuse(
      property,
      `${prefix}${extra}`,
      "is not allowed: a form has flat properties of text, number, boolean or choices (D4 to D12)",
    );
}

/** Throws "invalid_form" for `property` (the form itself if `undefined`) and `rule`. */
export function refuse(property: string | undefined, rule: string, why: string): never {
  const where = property === undefined ? "The form" : `Form property ${quoted(property)}`;
  const details = property === undefined ? { rule } : { property, rule };
  throw new ParleyError("invalid_form", `${where}, rule ${quoted(rule)}: ${why}.`, { details });
}
