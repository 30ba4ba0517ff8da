import type { InputRequest, Json, QuestionKind } from "../protocol/types.ts";

/** What a raw `inputResponses` entry says, before the schema is applied. */
export type Parsed =
  | { readonly action: "accept"; readonly content?: Json }
  | { readonly action: "decline" | "cancel" }
  | { readonly action: "malformed"; readonly reason: string };

/** The schema's word on an accepted answer. `value` is the validator's own output. */
export type Verdict = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

/** A question as the engine sees it; `src/flow` makes these from what an author writes. */
export interface Question {
  readonly key: string;
  readonly kind: QuestionKind;
  /** As the author put it. A complaint about an earlier answer is added to what is sent, never to this. */
  readonly request: InputRequest;
  /** Accept an answer that no state vouches for (`unsolicited: "accept"`). Only for questions that grant nothing. */
  readonly unsolicited: boolean;
  parse(response: unknown): Parsed;
  check(content: Json | undefined): Verdict | Promise<Verdict>;
}

/** How a question ended, for the author. */
export type Outcome<T> =
  | { readonly action: "accept"; readonly value: T }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }
  | { readonly action: "invalid"; readonly reason: string };
