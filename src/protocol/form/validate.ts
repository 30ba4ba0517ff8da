import type { FormContent } from "../types.ts";
import type { ChoiceField, ChoicesField, Field, NumberField, TextField } from "./field-types.ts";
import { FORMAT_REASONS, hasFormat } from "./formats.ts";
import { bounded, ownItems, ownProperties, ownStrings, quoted } from "./plain.ts";

/** One complaint. `field` is the field's name, or `""` for the content as a whole. Neither holds a typed value. */
export interface ContentIssue {
  readonly field: string;
  readonly reason: string;
}
export type ContentCheck =
  | { readonly ok: true; readonly content: FormContent }
  | { readonly ok: false; readonly issues: readonly ContentIssue[] };

export interface ContentOptions {
  /**
   * Members the form does not have: a host refuses to send them ("reject", the default), a server ignores them (A18).
   * So with a choice that a list repeats: the revision's schema allows it (D9), but whoever sends one made a slip.
   */
  readonly unknownKeys?: "reject" | "ignore";
}

/**
 * Why `value` is no answer to `field`, as a phrase that follows the field's name ("must be ..."); `undefined` if it
 * is one. Never throws and never repeats the value. `undefined` as value means "left out".
 */
export function checkField(field: Field, value: unknown): string | undefined {
  if (value === undefined) return field.required ? "is required" : undefined;
  switch (field.kind) {
    case "text":
      return typeof value === "string" ? checkText(field, value) : "must be text";
    case "number":
    case "integer":
      return checkNumber(field, value);
    case "boolean":
      return typeof value === "boolean" ? undefined : "must be true or false";
    case "choice":
      return typeof value === "string" && offers(field, value) ? undefined : "must be one of the offered choices";
    case "choices":
      return checkChoices(field, value);
  }
}

/**
 * Checks the `content` of an accept against a form: D26 for the shape, every field by {@link checkField}. Missing or
 * `null` content is `{}` (B23, L30). The content that comes back is a copy with the form's own fields only.
 * Never throws.
 */
export function checkContent(
  fields: readonly Field[],
  content: unknown,
  { unknownKeys = "reject" }: ContentOptions = {},
): ContentCheck {
  const given = ownProperties(content ?? {});
  if (given === undefined) return { ok: false, issues: [{ field: "", reason: "The content must be an object." }] };
  const issues: ContentIssue[] = [];
  const accepted: [string, FormContent[string]][] = [];
  const names = new Set<string>();
  for (const field of fields) {
    names.add(field.name);
    const value = given[field.name];
    const copy = contentValue(value);
    const repeats = unknownKeys === "reject" && Array.isArray(copy) && new Set(copy).size !== copy.length;
    const reason =
      checkField(field, value === undefined ? undefined : (copy ?? null)) ??
      (repeats ? "must not repeat a choice" : undefined);
    if (reason !== undefined) issues.push({ field: field.name, reason });
    else if (copy !== undefined) accepted.push([field.name, copy]);
  }
  const unknown = Object.keys(given).filter((name) => !names.has(name));
  if (unknownKeys === "reject") {
    for (const name of unknown) issues.push({ field: name, reason: "is not part of the form" });
  } else if (unknown.some((name) => contentValue(given[name]) === undefined)) {
    // The name is the peer's own text, so it is not repeated.
    const reason = "An unknown field carries a value that is no text, number, boolean or list of texts.";
    issues.push({ field: "", reason });
  }
  // Object.fromEntries defines own members, whatever their names.
  return issues.length > 0 ? { ok: false, issues } : { ok: true, content: Object.fromEntries(accepted) };
}

/** The complaints as one text of at most `limit` characters. */
export function describeIssues(issues: readonly ContentIssue[], limit = 500): string {
  const texts = issues.map(({ field, reason }) => (field === "" ? reason : `${quoted(field)} ${reason}`));
  return bounded(texts.join("; "), limit);
}

/** A copy of a value that content may carry (D26), or `undefined`. */
function contentValue(value: unknown): FormContent[string] | undefined {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return value;
  const items = ownStrings(value);
  return items === undefined ? undefined : [...items];
}

function checkText(field: TextField, text: string): string | undefined {
  const { minLength, maxLength, format } = field;
  const length = minLength === undefined && maxLength === undefined ? 0 : codePoints(text);
  if (minLength !== undefined && length < minLength) return `must have at least ${count(minLength, "character")}`;
  if (maxLength !== undefined && length > maxLength) return `must have at most ${count(maxLength, "character")}`;
  return format !== undefined && !hasFormat(format, text) ? FORMAT_REASONS[format] : undefined;
}

function checkNumber({ kind, minimum, maximum }: NumberField, value: unknown): string | undefined {
  if (typeof value !== "number" || !Number.isFinite(value)) return "must be a number";
  if (kind === "integer" && !Number.isInteger(value)) return "must be a whole number";
  if (minimum !== undefined && value < minimum) return `must be at least ${minimum}`;
  return maximum !== undefined && value > maximum ? `must be at most ${maximum}` : undefined;
}

function checkChoices(field: ChoicesField, value: unknown): string | undefined {
  const items = ownItems(value);
  if (items === undefined) return "must be a list of choices";
  const { minItems, maxItems } = field;
  if (minItems !== undefined && items.length < minItems) return `needs at least ${count(minItems, "choice")}`;
  if (maxItems !== undefined && items.length > maxItems) return `takes at most ${count(maxItems, "choice")}`;
  const offered = new Set<unknown>(field.options.map((option) => option.value));
  return items.every((item) => offered.has(item)) ? undefined : "must hold offered choices only";
}

function offers(field: ChoiceField, value: string): boolean {
  return field.options.some((option) => option.value === value);
}

/** Length as JSON Schema counts it, without building an array of a long text. */
function codePoints(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

function count(amount: number, noun: string): string {
  return `${amount} ${noun}${amount === 1 ? "" : "s"}`;
}
