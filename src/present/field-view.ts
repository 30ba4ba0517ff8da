/** One field of a form as every surface shows it (presentation rules F1, F2, I4, U4). */
import type { Field, FieldOption } from "../protocol/form/index.ts";
import { labelled } from "./names.ts";
import { host, inert, inline, type Safe, type SafeText, say, visible } from "./text.ts";

/** An option: what is highlighted is `label`, what is sent is `value`. */
export interface OptionView {
  /** The wire value, unescaped: to send, never to show. */
  readonly value: string;
  /** The title, with the wire value beside it when they differ. */
  readonly label: Safe;
}

export interface FieldView {
  /** The field itself, unescaped: to check and build the answer, never to show. */
  readonly field: Field;
  readonly label: Safe;
  /** The property's name, when the label is a title that says something else. */
  readonly name?: Safe;
  readonly description?: SafeText;
  /** What may be answered: kind, bounds, format. */
  readonly rules: readonly Safe[];
  /** The server's default, to be shown as such. */
  readonly default?: Safe;
  /** The default may stand in the answer before the person touches it. False for a confirmation (F2) and a secret. */
  readonly prefill: boolean;
  readonly options?: readonly OptionView[];
  /** The host allowed this secret-looking field: mask what is typed and keep it out of every record (F1). */
  readonly masked: boolean;
  readonly warnings: readonly Safe[];
}

/** Longest texts of a field that are shown; the rest is counted. */
const LABEL_LENGTH = 120;
const DESCRIPTION_LENGTH = 1000;

/** Describes a field. `confirmation`: it is the form's only field and a yes or no. */
export function describeField(field: Field, confirmation: boolean): FieldView {
  const label = visible(field.title ?? field.name, { maxLength: LABEL_LENGTH, inertLinks: true });
  const name = inert(field.name, LABEL_LENGTH);
  const description =
    field.description === undefined
      ? undefined
      : visible(field.description, { maxLength: DESCRIPTION_LENGTH, multiline: true, maxLines: 10, inertLinks: true });
  const options = "options" in field ? field.options.map(describeOption) : undefined;
  const shownDefault = defaultOf(field);
  const masked = field.secret !== undefined;
  return {
    field,
    label: label.text,
    ...(label.text === name ? {} : { name }),
    ...(description === undefined ? {} : { description }),
    rules: rulesOf(field),
    ...(shownDefault === undefined || masked ? {} : { default: shownDefault }),
    prefill: !confirmation && !masked && shownDefault !== undefined,
    ...(options === undefined ? {} : { options }),
    masked,
    warnings: warningsOf(field, name, label, description),
  };
}

/** An answer as text for the review; a masked one never leaves this function. */
export function describeAnswer(view: FieldView, value: unknown): Safe {
  if (value === undefined) return host("(left empty)");
  if (view.masked) return host("••••••••");
  if (typeof value === "boolean") return value ? host("Yes") : host("No");
  if (typeof value === "number") return say`${value}`;
  const labels = new Map(view.options?.map((option) => [option.value, option.label]));
  if (Array.isArray(value)) {
    if (value.length === 0) return host("(none chosen)");
    return value.map((item) => labels.get(String(item)) ?? inert(String(item))).join(", ") as Safe;
  }
  const text = String(value);
  // What the person typed is shown as typed; what is still the server's default stays the server's text.
  return labels.get(text) ?? say`“${view.field.default === text ? inert(text, 1000) : inline(text, 1000)}”`;
}

function describeOption(option: FieldOption): OptionView {
  const title = inert(option.title, LABEL_LENGTH);
  return {
    value: option.value,
    label: option.title === option.value ? title : say`${title}  → sends “${inert(option.value, LABEL_LENGTH)}”`,
  };
}

function rulesOf(field: Field): Safe[] {
  const rules: Safe[] = [kindOf(field)];
  if (field.kind === "text") {
    if (field.format !== undefined) rules.push(FORMATS[field.format]);
    if (field.minLength !== undefined) rules.push(say`at least ${field.minLength} characters`);
    if (field.maxLength !== undefined) rules.push(say`at most ${field.maxLength} characters`);
  } else if (field.kind === "number" || field.kind === "integer") {
    if (field.minimum !== undefined) rules.push(say`at least ${field.minimum}`);
    if (field.maximum !== undefined) rules.push(say`at most ${field.maximum}`);
  } else if (field.kind === "choices") {
    if (field.minItems !== undefined) rules.push(say`choose at least ${field.minItems}`);
    if (field.maxItems !== undefined) rules.push(say`choose at most ${field.maxItems}`);
  }
  rules.push(field.required ? host("required") : host("may be left empty"));
  return rules;
}

const FORMATS = {
  email: host("e-mail address"),
  uri: host("web or other address"),
  date: host("date, such as 2026-07-28"),
  "date-time": host("date and time, such as 2026-07-28T12:00:00Z"),
} as const;

function kindOf(field: Field): Safe {
  switch (field.kind) {
    case "text":
      return host("text");
    case "number":
      return host("number");
    case "integer":
      return host("whole number");
    case "boolean":
      return host("yes or no");
    case "choice":
      return say`one of ${field.options.length}`;
    case "choices":
      return say`any of ${field.options.length}`;
  }
}

function defaultOf(field: Field): Safe | undefined {
  if (field.default === undefined) return undefined;
  if (field.kind === "choices") return inert(JSON.stringify(field.default), DESCRIPTION_LENGTH);
  if (field.kind === "boolean") return field.default ? host("Yes") : host("No");
  return inert(String(field.default), DESCRIPTION_LENGTH);
}

function warningsOf(field: Field, name: Safe, label: SafeText, description: SafeText | undefined): Safe[] {
  const subject = say`field “${name}”`;
  const warnings = [
    ...label.warnings.map((warning) => say`the title of ${subject} ${warning}`),
    ...visible(field.name).warnings.map((warning) => say`the name of ${subject} ${warning}`),
    ...(description?.warnings ?? []).map((warning) => say`the description of ${subject} ${warning}`),
    ...labelled(subject, field.title ?? field.name),
  ];
  if (typeof field.default === "string") {
    for (const warning of visible(field.default).warnings) warnings.push(say`the default of ${subject} ${warning}`);
  }
  if ("options" in field) {
    const found = new Set(field.options.flatMap(({ title, value }) => visible(`${title}${value}`).warnings));
    for (const warning of found) warnings.push(say`an option of ${subject} ${warning}`);
  }
  if (field.secret !== undefined) {
    warnings.push(say`${subject} asks for a secret (“${inert(field.secret)}”); secrets do not belong into forms`);
  }
  if (field.ignored !== undefined && field.ignored.length > 0) {
    warnings.push(say`${subject} has rules that are not checked here: ${inert(field.ignored.join(", "))}`);
  }
  return warnings;
}
