/** One field at the keyboard (F8). The value is checked before the prompt lets go of it (D21, F7). */
import { checkField } from "../../protocol/form/index.ts";
import type { FormContent } from "../../protocol/types.ts";
import type { FieldView } from "../field-view.ts";
import { host, inline, type Safe, say, visible } from "../text.ts";
import { parseNumber } from "../typed.ts";
import { drawField } from "./draw.ts";
import type { Option, Prompter } from "./prompter.ts";

export type FieldValue = FormContent[string];

export interface FieldDialog {
  /** Which field this is, counted from 1. Prompts name it by this: a server's title is no chrome of ours (I2). */
  place: { number: number; of: number };
  confirmation: boolean;
  /** What was answered before, when the person came back to change it. */
  before: FieldValue | undefined;
  prompter: Prompter;
}

export interface FieldAnswer {
  /** `undefined`: left empty. */
  value: FieldValue | undefined;
  /** The person gave another value than the one that stood there. */
  touched: boolean;
}

const REQUIRED = host("This field is required.");
const EMPTY = host("Leave it empty");

/** Asks one field. Throws `Left` when the person leaves; a confirmation offers the two ways out itself. */
export async function askField(view: FieldView, dialog: FieldDialog): Promise<FieldAnswer | "decline" | "cancel"> {
  const { prompter, place, before } = dialog;
  prompter.print(drawField(view, say`Field ${place.number} of ${place.of}`, prompter.columns));
  if (dialog.confirmation) return confirm(dialog);
  const standing = before ?? (view.prefill ? defaultOf(view) : undefined);
  const value = await askValue(view, standing, dialog);
  return { value, touched: JSON.stringify(value) !== JSON.stringify(view.prefill ? defaultOf(view) : undefined) };
}

async function askValue(
  view: FieldView,
  standing: FieldValue | undefined,
  dialog: FieldDialog,
): Promise<FieldValue | undefined> {
  switch (view.field.kind) {
    case "text":
      return askText(view, standing as string | undefined, dialog);
    case "number":
    case "integer":
      return askNumber(view, standing as number | undefined, dialog);
    case "boolean":
      return askOne(
        view,
        [
          { value: false, label: host("No"), letter: "n" },
          { value: true, label: host("Yes"), letter: "y" },
        ],
        standing,
        dialog,
      );
    case "choice":
      return askOne(view, optionsOf(view), standing, dialog);
    case "choices":
      return askMany(view, standing as string[] | undefined, dialog);
  }
}

/** A single yes or no: the highlighted answer is No whatever the default says (F2, D2). */
async function confirm({ prompter, before }: FieldDialog): Promise<FieldAnswer | "decline" | "cancel"> {
  const answer = await prompter.decide<boolean | "decline" | "cancel">(
    host("Your answer? (y or n marks one, Enter gives it)"),
    [
      { value: false, label: host("No"), letter: "n" },
      { value: true, label: host("Yes"), letter: "y" },
      { value: "decline", label: host("Decline: tell the server you will not answer") },
      { value: "cancel", label: host("Dismiss without an answer (Esc)") },
    ],
    before === true ? 1 : 0,
  );
  return typeof answer === "string" ? answer : { value: answer, touched: true };
}

async function askText(
  view: FieldView,
  standing: string | undefined,
  { place, prompter }: FieldDialog,
): Promise<string | undefined> {
  // An editor shows its line as it is: only text with nothing hidden in it may stand there.
  const editable = standing === undefined || (standing.length <= 500 && visible(standing).text === standing);
  if (!editable) {
    const keep = await prompter.choose(
      say`The text of field ${place.number} cannot be edited here.`,
      [
        { value: false, label: host("Type another text") },
        { value: true, label: host("Use this text") },
      ],
      0,
    );
    if (keep) return standing;
  }
  const typed = await prompter.line(say`Text for field ${place.number}`, {
    ...(editable && standing !== undefined ? { initial: standing } : {}),
    masked: view.masked,
    check: (value) => (value === "" ? emptyCheck(view) : complaint(view, value)),
  });
  return typed === "" ? undefined : typed;
}

async function askNumber(
  view: FieldView,
  standing: number | undefined,
  { place, prompter }: FieldDialog,
): Promise<number | undefined> {
  const typed = await prompter.line(say`Number for field ${place.number}`, {
    ...(standing === undefined ? {} : { initial: String(standing) }),
    masked: view.masked,
    check: (value) => {
      if (value.trim() === "") return emptyCheck(view);
      const number = parseNumber(value);
      return number === undefined ? host("This is not a number.") : complaint(view, number);
    },
  });
  return parseNumber(typed);
}

async function askOne<T extends FieldValue>(
  view: FieldView,
  options: readonly Option<T>[],
  standing: FieldValue | undefined,
  { place, prompter }: FieldDialog,
): Promise<T | undefined> {
  const none = { value: undefined, label: view.field.required ? host("(not chosen yet)") : EMPTY };
  const all: Option<T | undefined>[] = [none, ...options];
  for (;;) {
    const at = all.findIndex(({ value }) => value === standing);
    const value = await prompter.choose(say`Choose for field ${place.number}`, all, Math.max(0, at));
    if (value !== undefined || !view.field.required) return value;
    prompter.say(say`  ▲ ${REQUIRED}`);
  }
}

async function askMany(
  view: FieldView,
  standing: readonly string[] | undefined,
  { place, prompter }: FieldDialog,
): Promise<string[] | undefined> {
  let chosen = standing ?? [];
  for (;;) {
    const value = await prompter.chooseMany(
      say`Choose any for field ${place.number} (space marks, Enter goes on)`,
      optionsOf(view),
      chosen,
    );
    // Nothing marked is "left empty", unless the field is required or its default was taken back on purpose.
    if (value.length === 0 && !view.field.required && view.field.default === undefined) return undefined;
    const problem = complaint(view, value);
    if (problem === undefined) return value;
    prompter.say(say`  ▲ ${problem}`);
    chosen = value;
  }
}

function optionsOf(view: FieldView): Option<string>[] {
  return [...(view.options ?? [])];
}

function defaultOf(view: FieldView): FieldValue | undefined {
  const value = view.field.default;
  return Array.isArray(value) ? [...value] : (value as FieldValue | undefined);
}

function emptyCheck(view: FieldView): Safe | undefined {
  return view.field.required ? REQUIRED : undefined;
}

function complaint(view: FieldView, value: FieldValue): Safe | undefined {
  const reason = checkField(view.field, value);
  return reason === undefined ? undefined : say`This ${inline(reason, 300)}.`;
}
