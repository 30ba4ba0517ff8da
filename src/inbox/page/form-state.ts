/** What stands in a form's controls, and what it means as an answer. */
import { useState } from "preact/hooks";
import type { FieldView } from "../../present/index.ts";
import { visible } from "../../present/text.ts";
import { parseNumber } from "../../present/typed.ts";
import type { Field } from "../../protocol/form/index.ts";
import { checkContent, checkField } from "../../protocol/form/validate.ts";
import type { FormContent } from "../../protocol/types.ts";
import { useLatest } from "./latest.ts";

/** A text for text and numbers, a list for several choices; `undefined`: nothing chosen. */
export type Entry = string | boolean | readonly string[] | undefined;

/** By field name. A map, since a field may be called `__proto__` (F4). */
export type Entries = ReadonlyMap<string, Entry>;
export type Problems = ReadonlyMap<string, string>;

/** What stands there at first: the server's default where it may (F2, D22), otherwise nothing. */
export function firstEntry({ field, prefill }: FieldView): Entry {
  if (!prefill || field.default === undefined) return field.kind === "choices" ? [] : undefined;
  if (field.kind === "number" || field.kind === "integer") return String(field.default);
  // A text box shows its text as it is: only text with nothing hidden in it may stand there.
  if (field.kind === "text" && !isPlain(field.default as string)) return undefined;
  return field.default as Entry;
}

/** True if a text box shows all of `text` as it is. */
export function isPlain(text: string): boolean {
  const limits = { maxLength: Number.POSITIVE_INFINITY, maxLines: Number.POSITIVE_INFINITY };
  return visible(text, { ...limits, multiline: true }).text === text;
}

/** The entry as a value to send; `undefined`: left out. What is no number stays text, for the check to refuse. */
export function answerOf(field: Field, entry: Entry): FormContent[string] | undefined {
  switch (field.kind) {
    case "text":
      return entry === "" ? undefined : (entry as string | undefined);
    case "number":
    case "integer": {
      const text = (entry ?? "") as string;
      return text.trim() === "" ? undefined : (parseNumber(text) ?? text);
    }
    case "boolean":
    case "choice":
      return entry as string | boolean | undefined;
    case "choices": {
      const chosen = (entry ?? []) as readonly string[];
      // Nothing marked is "left empty", unless the field is required or its default was taken back on purpose.
      return chosen.length === 0 && !field.required && field.default === undefined ? undefined : [...chosen];
    }
  }
}

export function problemOf(field: Field, entry: Entry): string | undefined {
  const reason = checkField(field, answerOf(field, entry));
  return reason === undefined ? undefined : sentence(reason);
}

export interface FormState {
  readonly entries: Entries;
  readonly problems: Problems;
  readonly change: (field: Field, entry: Entry) => void;
  /** The person went on to the next field: time to say what is wrong with it, unless it is still empty. */
  readonly leave: (field: Field) => void;
  /** The content to send; `undefined` when the problems say why not. */
  readonly check: () => FormContent | undefined;
  /** What the server found wrong, as its check says it. */
  readonly refuse: (reasons: Problems) => void;
}

export function useForm(views: readonly FieldView[]): FormState {
  const [entries, latest, setEntries] = useLatest<Entries>(
    () => new Map(views.map((view) => [view.field.name, firstEntry(view)])),
  );
  const [problems, setProblems] = useState<Problems>(new Map());
  const judge = (field: Field, entry: Entry) =>
    setProblems((before) => {
      const after = new Map(before);
      const problem = problemOf(field, entry);
      if (problem === undefined) after.delete(field.name);
      else after.set(field.name, problem);
      return after;
    });
  return {
    entries,
    problems,
    change(field, entry) {
      setEntries(new Map(latest()).set(field.name, entry));
      if (problems.has(field.name)) judge(field, entry);
    },
    leave(field) {
      const entry = latest().get(field.name);
      if (answerOf(field, entry) !== undefined) judge(field, entry);
    },
    check() {
      const values = views.map(({ field }) => [field.name, answerOf(field, latest().get(field.name))] as const);
      const given = Object.fromEntries(values.filter(([, value]) => value !== undefined));
      const result = checkContent(
        views.map(({ field }) => field),
        given,
      );
      setProblems(result.ok ? new Map() : new Map(result.issues.map(({ field, reason }) => [field, sentence(reason)])));
      return result.ok ? result.content : undefined;
    },
    refuse: (reasons) => setProblems(new Map([...reasons].map(([name, reason]) => [name, sentence(reason)]))),
  };
}

/** A check's phrase ("must be ...") as a sentence about the field. */
function sentence(reason: string): string {
  return reason === "is required" ? "This field is required." : `This ${reason}.`;
}
