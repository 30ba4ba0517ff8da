/** A form at the terminal: every field by keyboard, a review, and only then an answer (D18 to D22, F7, F8). */
import { checkContent } from "../../protocol/form/index.ts";
import type { ElicitResult, FormContent } from "../../protocol/types.ts";
import { describeAnswer } from "../field-view.ts";
import type { FormView } from "../model.ts";
import { host, inline, type Safe, say } from "../text.ts";
import { askField, type FieldValue } from "./field.ts";
import { Left, type Option, type Prompter } from "./prompter.ts";
import { wrapped } from "./wrap.ts";

type Ending = "decline" | "cancel";

/** The two ways out, in every menu and apart from each other (D1, D18, D25). */
export const WAYS_OUT: readonly Option<Ending>[] = [
  { value: "decline", label: host("Decline: tell the server no") },
  { value: "cancel", label: host("Dismiss without an answer (Esc)") },
];

export interface FormSetting {
  /** Whether the round asks more than this: then nothing is sent when the form is done. */
  others: () => boolean;
  /** What was answered before, when the person came back to change it. */
  before?: ElicitResult;
}

/** Asks `view`; the result is what the person chose. Leaving by Escape is a cancel, never a decline. */
export async function askForm(view: FormView, prompter: Prompter, setting: FormSetting): Promise<ElicitResult> {
  try {
    const ending = await new FormDialog(view, prompter, setting).run();
    return typeof ending === "string" ? { action: ending } : { action: "accept", content: ending };
  } catch (error) {
    if (error instanceof Left) return { action: "cancel" };
    throw error;
  }
}

/** The answer in a few words. */
export function summaryOfForm(view: FormView, { action, content = {} }: ElicitResult): Safe[] {
  if (action !== "accept") return [action === "decline" ? host("Declined.") : host("Dismissed without an answer.")];
  if (view.fields.length === 0) return [host("You agree.")];
  return view.fields.map((field) => {
    const value = Object.hasOwn(content, field.field.name) ? content[field.field.name] : undefined;
    return say`“${field.label}”: ${describeAnswer(field, value)}`;
  });
}

class FormDialog {
  readonly #view: FormView;
  readonly #prompter: Prompter;
  readonly #setting: FormSetting;
  readonly #answers = new Map<string, FieldValue>();
  /** The person entered or changed something: until then Enter does not send (D2). */
  #touched = false;

  constructor(view: FormView, prompter: Prompter, setting: FormSetting) {
    this.#view = view;
    this.#prompter = prompter;
    this.#setting = setting;
  }

  async run(): Promise<FormContent | Ending> {
    const { fields, confirmation } = this.#view;
    if (fields.length === 0) return this.#acceptMessage();
    const { before } = this.#setting;
    if (before?.action === "accept") {
      for (const [name, value] of Object.entries(before.content ?? {})) this.#answers.set(name, value);
      this.#touched = true;
      return this.#review();
    }
    if (!confirmation) {
      const start = await this.#prompter.decide<Ending | "fill">(
        say`Answer? It has ${fields.length} ${fields.length === 1 ? host("field") : host("fields")}.`,
        [{ value: "fill", label: host("Fill it in") }, ...WAYS_OUT],
        0,
      );
      if (start !== "fill") return start;
    }
    for (let index = 0; index < fields.length; index += 1) {
      const ending = await this.#fill(index);
      if (ending !== undefined) return ending;
    }
    return this.#review();
  }

  /** A form without fields: agreeing to the message is the whole answer, so Enter alone must not do it. */
  async #acceptMessage(): Promise<FormContent | Ending> {
    const choice = await this.#prompter.decide<Ending | "accept">(
      host("There is nothing to fill in. Agree to what the server says?"),
      [{ value: "accept", label: host("Agree") }, ...WAYS_OUT],
      2,
    );
    return choice === "accept" ? {} : choice;
  }

  /** Asks one field. Escape leads to a menu, from which the form goes on or ends. */
  async #fill(index: number): Promise<Ending | undefined> {
    const { fields, confirmation } = this.#view;
    const field = fields[index];
    if (field === undefined) return undefined;
    const name = field.field.name;
    for (;;) {
      try {
        const before = this.#answers.get(name);
        const place = { number: index + 1, of: fields.length };
        const answer = await askField(field, { place, confirmation, before, prompter: this.#prompter });
        if (answer === "decline" || answer === "cancel") return answer;
        if (answer.touched) this.#touched = true;
        if (answer.value === undefined) this.#answers.delete(name);
        else this.#answers.set(name, answer.value);
        return undefined;
      } catch (error) {
        if (!(error instanceof Left) || confirmation) throw error;
      }
      const choice = await this.#prompter.decide<Ending | "back">(
        host("Leave the form?"),
        [{ value: "back", label: host("Go back to the form") }, ...WAYS_OUT],
        0,
      );
      if (choice !== "back") return choice;
    }
  }

  async #review(): Promise<FormContent | Ending> {
    for (;;) {
      this.#prompter.print(this.#drawReview());
      const others = this.#setting.others();
      const choice = await this.#prompter.decide<Ending | "send" | "change">(
        others
          ? host("Keep this? Nothing is sent before the other questions are answered.")
          : say`Send this to server “${this.#view.server.id}”?`,
        [
          { value: "send", label: others ? host("Keep these answers") : host("Send these answers") },
          { value: "change", label: host("Change an answer") },
          ...WAYS_OUT,
        ],
        this.#touched ? 0 : 1,
      );
      if (choice === "decline" || choice === "cancel") return choice;
      if (choice === "send") {
        // Own members, whatever a field is called: `__proto__` is a name like any other here (F4).
        const content: FormContent = Object.fromEntries(this.#answers);
        const check = checkContent(
          this.#view.fields.map(({ field }) => field),
          content,
        );
        if (check.ok) return content;
        for (const issue of check.issues)
          this.#prompter.say(say`  ▲ “${inline(issue.field)}” ${inline(issue.reason)}.`);
      }
      const ending = await this.#change();
      if (ending !== undefined) return ending;
    }
  }

  async #change(): Promise<Ending | undefined> {
    const { fields } = this.#view;
    if (fields.length === 1) return this.#fill(0);
    const options = fields.map((field, value) => ({ value, label: field.label }));
    const back = { value: -1, label: host("None, go back") };
    return this.#fill(await this.#prompter.choose(host("Which one?"), [...options, back], 0));
  }

  #drawReview(): Safe[] {
    const lines = this.#view.fields.flatMap((field) => {
      const answer = describeAnswer(field, this.#answers.get(field.field.name));
      return wrapped(say`  “${field.label}”: ${answer}`, this.#prompter.columns);
    });
    return [host(""), host("  Your answers:"), ...lines];
  }
}
