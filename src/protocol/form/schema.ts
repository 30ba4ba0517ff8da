import { inputRequired, type StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import { messageOf, ParleyError } from "../../errors.ts";
import type { FormSchema } from "../types.ts";
import { FormCache } from "./cache.ts";
import { checkFormSchema } from "./check.ts";
import type { Field } from "./field-types.ts";
import { readForm } from "./fields.ts";
import { type FormOptions, type ResolvedFormOptions, resolveFormOptions } from "./form-options.ts";
import type { FormSource, FormValue } from "./form-value.ts";
import type { FormVerdict, PreparedForm } from "./prepared.ts";
import { withoutValues } from "./redact.ts";
import { type ContentIssue, checkContent, describeIssues } from "./validate.ts";

const cache = new FormCache();

/**
 * Prepares a form from a Standard Schema with JSON conversion (zod 4, ArkType, Valibot through its
 * `toStandardJsonSchema`) or from the wire schema itself. Standard Schemas are converted by the SDK; both are then
 * checked by {@link checkFormSchema}.
 * @param place Where it is put, such as the question's key: the form that was there last is found fastest.
 * @throws ParleyError "invalid_form" with `details.rule` and, where one is to blame, `details.property`.
 */
export function prepareForm<const S extends FormSource>(
  schema: S,
  options?: FormOptions,
  place?: string,
): PreparedForm<FormValue<S>>;
export function prepareForm(schema: FormSource, options?: FormOptions, place?: string): PreparedForm {
  const resolved = resolveFormOptions(options);
  const variant = options === undefined ? "" : JSON.stringify(Object.values(resolved));
  return isStandardSchema(schema)
    ? cache.standard(schema, variant, () => fromStandard(schema, resolved))
    : cache.wire(schema, variant, place, () => fromWire(schema, resolved));
}

function fromWire(schema: unknown, options: ResolvedFormOptions): PreparedForm {
  const wire = checkFormSchema(schema, options);
  const fields = fieldsOf(wire, options);
  return Object.freeze({
    wire,
    validate(content: unknown): FormVerdict {
      const checked = checkContent(fields, content, { unknownKeys: "ignore" });
      return checked.ok ? { ok: true, value: checked.content } : { ok: false, reason: describeIssues(checked.issues) };
    },
  });
}

function fromStandard(schema: StandardSchemaWithJSON, options: ResolvedFormOptions): PreparedForm {
  const wire = checkFormSchema(convert(schema), options);
  const fields = fieldsOf(wire, options);
  return Object.freeze({
    wire,
    validate(content: unknown): FormVerdict | Promise<FormVerdict> {
      const checked = checkContent(fields, content, { unknownKeys: "ignore" });
      if (!checked.ok) return { ok: false, reason: describeIssues(checked.issues) };
      const verdict = (result: StandardResult): FormVerdict => {
        if (result.issues === undefined) return { ok: true, value: result.value };
        const hide = (message: string) => withoutValues(message, fields, checked.content);
        return { ok: false, reason: describeIssues(result.issues.map((issue) => readIssue(issue, fields, hide))) };
      };
      const result = schema["~standard"].validate(checked.content);
      return result instanceof Promise ? result.then(verdict) : verdict(result);
    },
  });
}

type StandardResult = Awaited<ReturnType<StandardSchemaWithJSON["~standard"]["validate"]>>;
type StandardIssue = NonNullable<StandardResult["issues"]>[number];

function readIssue(issue: StandardIssue, fields: readonly Field[], hide: (message: string) => string): ContentIssue {
  const first = issue.path?.[0];
  const key = typeof first === "object" ? first.key : first;
  const message = hide(issue.message);
  return fields.some((field) => field.name === key)
    ? { field: String(key), reason: `is not accepted: ${message}` }
    : { field: "", reason: message };
}

/** The wire schema by the SDK's own converter, whose complaint names the offending property and keyword. */
function convert(schema: StandardSchemaWithJSON): unknown {
  try {
    const request = inputRequired.elicit({ message: "", requestedSchema: schema });
    return (request.params as { requestedSchema?: unknown }).requestedSchema;
  } catch (cause) {
    const message = messageOf(cause);
    throw new ParleyError("invalid_form", message, { cause, details: blame(message) });
  }
}

/** The first `properties.<name>[.<keyword>]` of the SDK's complaint. */
function blame(message: string): Record<string, unknown> {
  const path = /: properties\.([^,]+)/.exec(message)?.[1];
  if (path === undefined) return { rule: /: ([$\w]+)(?:,|$)/.exec(message)?.[1] ?? "conversion" };
  const dot = path.lastIndexOf(".");
  return dot < 1 ? { property: path, rule: "type" } : { property: path.slice(0, dot), rule: path.slice(dot + 1) };
}

function fieldsOf(wire: FormSchema, { maxProperties, maxOptions }: ResolvedFormOptions): readonly Field[] {
  return readForm(wire, { maxFields: maxProperties, maxOptions });
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function isStandardSchema(value: unknown): value is StandardSchemaWithJSON {
  const standard = isObject(value) ? (value as Partial<StandardSchemaWithJSON>)["~standard"] : undefined;
  return typeof standard?.validate === "function";
}
