import type { FormContent } from "../types.ts";
import type { Field } from "./field-types.ts";

/** Longest message that is searched. Searching one value takes time up to its length times the message's. */
const LONGEST = 2000;

/**
 * A validator's message without what the person typed: some validators quote the value ("was hunter2"), and messages
 * travel into logs and new questions (F1). Choices and booleans stay; they are the form's own words. A short value is
 * taken out only where it stands as a word of its own, so that a typed "5" does not eat the "15" of a limit. A message of more
 * than 2,000 characters is left out whole.
 */
export function withoutValues(message: string, fields: readonly Field[], content: FormContent): string {
  if (message.length > LONGEST) return "its reason is too long to be shown";
  const typed = fields
    .filter((field) => field.kind === "text" || field.kind === "number" || field.kind === "integer")
    .map((field) => content[field.name])
    .filter((value) => typeof value === "string" || typeof value === "number")
    .flatMap((value) => [String(value).trim(), JSON.stringify(value).replace(/^"|"$/g, "")])
    .filter((text) => text !== "" && text.length <= message.length)
    .sort((a, b) => b.length - a.length);
  return typed.reduce((text, value) => text.replace(asPattern(value), "…"), message);
}

function asPattern(value: string): RegExp {
  // Exactly the characters with a meaning: a Unicode pattern refuses to have any other escaped, a hyphen for one.
  const literal = value.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  const whole = value.length < 4 || /^[\d.-]+$/.test(value);
  return new RegExp(whole ? `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])` : literal, "giu");
}
