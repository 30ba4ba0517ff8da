import { ParleyError } from "../../errors.ts";
import type { Field, FieldOption } from "./field-types.ts";
import { FORMATS } from "./formats.ts";
import { readOptions } from "./options.ts";
import { ownProperties, ownStrings, quoted } from "./plain.ts";
import { looksSecret } from "./secrets.ts";
import { checkField } from "./validate.ts";

export interface ReadFormOptions {
  /** Most fields a form may have. Default 200 (F4). */
  readonly maxFields?: number;
  /** Most options a choice may have. Default 500 (F4). */
  readonly maxOptions?: number;
}

/** Dialects in which every keyword of a form means the same (D13). */
const DIALECTS = /^https?:\/\/json-schema\.org\/(?:draft\/(?:2020-12|2019-09)|draft-0[67])\/schema#?$/;

/** Keywords that change what a schema means so much that ignoring them would show another question. */
const STRUCTURAL = ["$ref", "$dynamicRef", "allOf", "not", "if", "then", "else", "dependentSchemas", "properties"];

/**
 * Reads the `requestedSchema` a server sent into a flat list of fields, in the server's order. All five spellings of
 * a choice are read, and so are the near misses seen in the field: no `type` beside a list of choices, options
 * without a title (B24). What a field cannot honour but can be shown without is listed in its `ignored`; a default
 * that breaks the field's own rules is dropped (L29), as is a `required` name without a property.
 * @throws ParleyError "invalid_interim" with `details.property` (absent for the form itself) and `details.rule`, for
 * what cannot be shown: nested or composed schemas, unknown types, an unsupported dialect (D13), more than the limits.
 */
export function readForm(schema: unknown, { maxFields = 200, maxOptions = 500 }: ReadFormOptions = {}): Field[] {
  const root = ownProperties(schema) ?? refuse(undefined, "object", "requestedSchema must be an object");
  const { $schema: dialect, type, required } = root;
  if (dialect !== undefined && !(typeof dialect === "string" && DIALECTS.test(dialect))) {
    refuse(undefined, "$schema", "the JSON Schema dialect is not supported");
  }
  if (type !== "object") refuse(undefined, "type", 'the type must be "object"');
  const composed = [...STRUCTURAL.filter((key) => key !== "properties"), "anyOf", "oneOf"].find((key) => key in root);
  if (composed !== undefined) refuse(undefined, composed, `"${composed}" is not allowed in a form`);
  const properties =
    ownProperties(root["properties"]) ?? refuse(undefined, "properties", "properties must be an object");
  const names = Object.keys(properties);
  if (names.length > maxFields) refuse(undefined, "maxFields", `more than ${maxFields} fields`);
  const requiredNames = new Set(required === undefined ? [] : ownStrings(required));
  return names.map((name) => readField(name, properties[name], requiredNames.has(name), maxOptions));
}

/** One property as a field; see {@link readForm}. */
export function readField(name: string, schema: unknown, required: boolean, maxOptions: number): Field {
  if (name === "__proto__") refuse(name, "name", "this name is not allowed");
  const property = ownProperties(schema) ?? refuse(name, "property", "a property must be an object");
  const structural = STRUCTURAL.find((key) => key in property);
  if (structural !== undefined) refuse(name, structural, `"${structural}" is not allowed in a form`);

  const reader = new PropertyReader(property);
  const shape = readShape(name, reader, maxOptions);
  const secret = looksSecret(name, property);
  const labels = { ...reader.texts("title", "description"), ...(secret !== undefined && { secret }) };
  const ignored = reader.ignored();
  const field = { name, required, ...labels, ...shape, ...(ignored.length > 0 && { ignored }) } as Field;
  const value = shape.kind === "choices" ? ownStrings(property["default"]) : property["default"];
  return value !== undefined && checkField(field, value) === undefined
    ? ({ ...field, default: value } as Field)
    : field;
}

type Shape = { kind: Field["kind"]; options?: readonly FieldOption[] } & Record<string, unknown>;

function readShape(name: string, reader: PropertyReader, maxOptions: number): Shape {
  const type = reader.property["type"];
  const choices = (schema: Readonly<Record<string, unknown>>) =>
    readOptions(schema, maxOptions, (rule, why) => refuse(name, rule, why));
  switch (type) {
    case "number":
    case "integer":
      return { kind: type, ...reader.numbers("minimum", "maximum") };
    case "boolean":
      return { kind: type };
    case "array": {
      const items = ownProperties(reader.property["items"]) ?? refuse(name, "items", "items must be an object");
      reader.take("items");
      const options = choices(items) ?? refuse(name, "items", "a list must offer its choices (enum or anyOf)");
      return { kind: "choices", options, ...reader.counts("minItems", "maxItems") };
    }
    case undefined:
    case "string": {
      const options = choices(reader.property);
      if (options !== undefined) {
        reader.take("enum", "enumNames", "oneOf", "anyOf");
        return { kind: "choice", options };
      }
      if (type === undefined) refuse(name, "type", "a property must have a type");
      return { kind: "text", ...reader.counts("minLength", "maxLength"), ...reader.format() };
    }
    default:
      return refuse(name, "type", "the type must be string, number, integer, boolean or array");
  }
}

/** Takes keywords out of a property and remembers which it had no use for. */
class PropertyReader {
  readonly property: Readonly<Record<string, unknown>>;
  readonly #taken = new Set(["type", "default"]);

  constructor(property: Readonly<Record<string, unknown>>) {
    this.property = property;
  }

  /** Marks `keys` as understood. */
  take(...keys: string[]): void {
    for (const key of keys) this.#taken.add(key);
  }

  /** The texts under `keys`. */
  texts(...keys: string[]): Record<string, string> {
    return this.#pick(keys, (value) => typeof value === "string");
  }

  /** The finite numbers under `keys`. */
  numbers(...keys: string[]): Record<string, number> {
    return this.#pick(keys, (value) => Number.isFinite(value));
  }

  /** The whole numbers from zero under `keys`. */
  counts(...keys: string[]): Record<string, number> {
    return this.#pick(keys, (value) => Number.isSafeInteger(value) && (value as number) >= 0);
  }

  /** The format, if it is one of the four. */
  format(): Record<string, string> {
    return this.#pick(["format"], (value) => (FORMATS as readonly unknown[]).includes(value));
  }

  ignored(): string[] {
    return Object.keys(this.property).filter((key) => !this.#taken.has(key));
  }

  #pick<T>(keys: string[], accepts: (value: unknown) => boolean): Record<string, T> {
    const found: Record<string, T> = {};
    for (const key of keys) {
      const value = this.property[key];
      if (!accepts(value)) continue;
      this.take(key);
      found[key] = value as T;
    }
    return found;
  }
}

function refuse(property: string | undefined, rule: string, why: string): never {
  const where =
    property === undefined ? "The form cannot be shown" : `The form's field ${quoted(property)} cannot be shown`;
  const details = property === undefined ? { rule } : { property, rule };
  throw new ParleyError("invalid_interim", `${where}: ${why} (${rule}).`, { details });
}
