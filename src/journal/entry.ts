/**
 * The journal: what is settled in a call, in the order in which it settled. It is all that a call keeps between rounds.
 */
import type { StepFailure } from "../errors.ts";
import type { Json, QuestionKind } from "../protocol/types.ts";

/** How a question ended. `accept` keeps the raw answer: the schema is applied again on every replay. */
export type Settled =
  | { readonly action: "accept"; readonly content?: Json }
  | { readonly action: "decline" | "cancel" }
  | { readonly action: "invalid"; readonly reason: string };

/**
 * An answered question. `digest` covers the question as it was put. `settled: null` keeps the place of an answer whose
 * question has changed since and is being asked again, so that entries behind it keep their order.
 */
export interface AnswerEntry {
  readonly type: "answer";
  readonly key: string;
  readonly kind: QuestionKind;
  readonly digest: string;
  readonly settled: Settled | null;
  /** The answer came without proof that it was asked for; it counts only while the question allows that. */
  readonly unsolicited?: true;
  /** How often the question had changed when this was answered. */
  readonly changes?: number;
}

/** A finished step: its value as JSON reads it back (absent for `undefined`), or its failure as data. */
export interface StepEntry {
  readonly type: "step";
  readonly key: string;
  readonly value?: Json;
  readonly failure?: StepFailure;
}

export type Entry = AnswerEntry | StepEntry;

/** What is out: a question (proof that this key was asked, how, and how often it failed), or a wait. */
export interface Pending {
  readonly key: string;
  readonly kind: QuestionKind | "wait";
  readonly digest: string;
  /** Invalid answers so far. */
  readonly attempts: number;
  /** How often the question has changed since it was first put. */
  readonly changes: number;
  /** The question's previous text, kept only once it has changed (bounded). */
  readonly previous?: string;
  /** A wait's beginning, in ms since the epoch. */
  readonly sinceMs?: number;
}

/** Everything a call remembers. Travels sealed as `requestState`. */
export interface CallState {
  readonly callId: string;
  /** Number of `input_required` answers given so far. */
  readonly round: number;
  /** How many of them asked nothing and only waited (E12); these do not count against the limit of rounds. */
  readonly polls?: number;
  /** The flow's `version` when this state was made. */
  readonly version?: string;
  readonly journal: readonly Entry[];
  readonly pending: readonly Pending[];
}

/** The journal for another run of the same round: what this one emptied is as it was `before`. */
export function withoutVoids(journal: readonly Entry[], before: readonly Entry[]): Entry[] {
  return journal.map((entry, index) =>
    entry.type === "answer" && entry.settled === null ? (before[index] ?? entry) : entry,
  );
}
