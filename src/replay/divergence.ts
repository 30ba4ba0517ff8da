import { messageOf, ParleyError } from "../errors.ts";
import type { Entry } from "../journal/entry.ts";

/** A run did not repeat what its journal records. Names the keys, both sequences and the likely cause. */
export class FlowDiverged extends ParleyError {
  readonly missing: readonly string[];
  readonly recorded: readonly string[];
  readonly asked: readonly string[];

  constructor(what: string, cause: string, sequences: { missing: string[]; recorded: string[]; asked: string[] }) {
    const { missing, recorded, asked } = sequences;
    super(
      "flow_diverged",
      `${what} Recorded: ${list(recorded)}. This run asked: ${list(asked)}. Likely cause: ${cause}`,
      { details: { missing, recorded, asked } },
    );
    this.missing = missing;
    this.recorded = recorded;
    this.asked = asked;
  }
}

/** Entries were recorded that this run has not asked for. */
export function leftBehind(missing: string[], journal: readonly Entry[], asked: readonly string[]): FlowDiverged {
  const recorded = journal.map((entry) => entry.key);
  const fresh = asked.filter((key) => !recorded.includes(key));
  const cause =
    fresh.length > 0
      ? "a renamed key, or a path that depends on something other than the arguments, the answers and the steps"
      : "changed code (raise the flow's version), or work outside a step that was fast in one run and slow in another";
  return new FlowDiverged(`The run did not ask again for ${list(missing)}.`, `${cause}.`, {
    missing,
    recorded,
    asked: [...asked],
  });
}

/** A key is used for something else than what is recorded under it. */
export function otherKind(
  entry: Entry,
  now: string,
  journal: readonly Entry[],
  asked: readonly string[],
): FlowDiverged {
  const was = entry.type === "step" ? "step" : entry.kind;
  return new FlowDiverged(
    `Key "${entry.key}" is recorded as ${was} and is now used as ${now}.`,
    "changed code (raise the flow's version) or one key for two things.",
    { missing: [], recorded: journal.map((recorded) => recorded.key), asked: [...asked] },
  );
}

export function duplicateKey(key: string): ParleyError {
  return new ParleyError(
    "duplicate_key",
    `Key "${key}" is used twice in one run. Give each question and step its own key; number keys in loops ("${key}-1", "${key}-2").`,
    { details: { key } },
  );
}

/** A step is one unit: what is asked or stepped inside it could not be replayed. */
export function insideStep(key: string, operation: string, step: string): ParleyError {
  const message = `The ${operation} "${key}" comes from inside step "${step}". Ask and step one after the other: a step's function does its work and nothing else.`;
  return new ParleyError("nested_step", message, { details: { key, step } });
}

/** The flow went on without an answer to a question it never waited for: an effect may have come without consent. */
export function unawaited(key: string): ParleyError {
  const message = `The flow returned without awaiting question "${key}", so nobody was asked. Write "await" before it.`;
  return new ParleyError("unawaited_question", message, { details: { key } });
}

export function unwritable(key: string, cause: unknown): ParleyError {
  const why = messageOf(cause);
  return new ParleyError("invalid_question", `Question "${key}" cannot be written as JSON: ${why}`, {
    cause,
    details: { key },
  });
}

/** Another attempt has taken the round over: this one must not go on. */
export function holdLost(key: string): ParleyError {
  return new ParleyError("hold_lost", `Another delivery has taken this round over; step "${key}" is left to it.`, {
    details: { key },
  });
}

export function questionUnstable(key: string, before: string | undefined, now: string): ParleyError {
  return new ParleyError(
    "question_unstable",
    `Question "${key}" changed in every round, so no answer could count. Last time: ${before ?? "(not kept)"}. ` +
      `Now: ${now}. Take clocks, prices and randomness out of the question, or read them in a step.`,
    { details: { key, before, now } },
  );
}

export function tooManyQuestions(open: number, limit: number): ParleyError {
  const message = `${open} questions in one round; the limit is ${limit} (limits.questions). Ask fewer at once, or raise it.`;
  return new ParleyError("limit_exceeded", message, { details: { limit } });
}

function list(keys: readonly string[]): string {
  return keys.length === 0 ? "nothing" : keys.map((key) => `"${key}"`).join(", ");
}
