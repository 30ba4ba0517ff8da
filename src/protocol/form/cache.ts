import type { FormSchema } from "../types.ts";
import type { PreparedForm } from "./prepared.ts";

/** Forms of one kind that are kept; texts come from authors, who may build them anew for every caller. */
const KEPT_FORMS = 500;
/** Longest schema that is remembered by its text, in characters. */
const LONGEST_KEPT = 4_000;

/**
 * Forms that were prepared before. A replayed flow puts the same form in every round, and checking one takes longer
 * than everything else a replay does.
 *
 * A Standard Schema is immutable and found by its identity. Of a wire schema nothing is trusted but its content as it
 * is now: authors write it where they ask, or change one they hold.
 */
export class FormCache {
  readonly #byIdentity = new WeakMap<object, Map<string, PreparedForm>>();
  readonly #byText = new Map<string, PreparedForm>();
  /** What a caller that says where it asks got there last: nearly always the same again, and found without its text. */
  readonly #byPlace = new Map<string, PreparedForm>();

  /** @param variant the options, as text. */
  standard(schema: object, variant: string, prepare: () => PreparedForm): PreparedForm {
    const variants = this.#byIdentity.get(schema) ?? new Map<string, PreparedForm>();
    const form = variants.get(variant) ?? prepare();
    this.#byIdentity.set(schema, variants.set(variant, form));
    return form;
  }

  /** @param place Where the form is put, such as the question's key. Decides nothing but how fast it is found. */
  wire(schema: unknown, variant: string, place: string | undefined, prepare: () => PreparedForm): PreparedForm {
    const here = place === undefined ? undefined : `${variant}\0${place}`;
    const last = here === undefined ? undefined : this.#byPlace.get(here);
    if (last !== undefined && isSame(schema, last.wire)) return last;
    const text = textOf(schema);
    if (text === undefined || text.length > LONGEST_KEPT) return prepare();
    const key = variant + text;
    const known = this.#byText.get(key);
    // The text leaves out what JSON does not know, and the check refuses it.
    const form = known !== undefined && isSame(schema, known.wire) ? known : prepare();
    if (form !== known) {
      if (!isSame(schema, form.wire)) return form;
      keep(this.#byText, key, form);
    }
    if (here !== undefined) keep(this.#byPlace, here, form);
    return form;
  }
}

function keep(forms: Map<string, PreparedForm>, key: string, form: PreparedForm): void {
  if (forms.size >= KEPT_FORMS) forms.clear();
  forms.set(key, form);
}

function textOf(schema: unknown): string | undefined {
  try {
    return JSON.stringify(schema);
  } catch {
    return undefined;
  }
}

/** Whether `given` has the members of our own copy, and no others. It may be anything, and throw when it is read. */
function isSame(given: unknown, wire: FormSchema): boolean {
  try {
    return equals(given, wire);
  } catch {
    return false;
  }
}

function equals(given: unknown, own: unknown): boolean {
  if (typeof own !== "object" || own === null) return Object.is(given, own);
  if (typeof given !== "object" || given === null || Object.getPrototypeOf(given) !== Object.getPrototypeOf(own)) {
    return false;
  }
  const keys = Object.keys(own);
  const theirs = Object.keys(given);
  if (theirs.length !== keys.length) return false;
  // In the same order, too: it is the order in which a person sees the fields.
  for (const [at, key] of keys.entries()) {
    if (theirs[at] !== key) return false;
    if (!equals((given as Record<string, unknown>)[key], (own as Record<string, unknown>)[key])) return false;
  }
  return true;
}
