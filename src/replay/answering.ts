import type { AnswerEntry, Pending, Settled } from "../journal/entry.ts";
import type { Outcome, Question } from "./question.ts";
import type { Limits } from "./types.ts";

/** What this round knows about one question. */
export interface Evidence {
  readonly digest: string;
  /** The journal's entry under this key, if there is one. */
  readonly recorded: AnswerEntry | undefined;
  /** The state's proof that this key was asked, if it holds one. */
  readonly before: Pending | undefined;
  /** The entry of `inputResponses`, unread. */
  readonly response: unknown;
}

/** Invalid answers and changes of the question so far. */
export interface History {
  readonly attempts: number;
  readonly changes: number;
}

/** What becomes of a question in this run. */
export type Ruling =
  /** As recorded: hand it back in its turn. */
  | { readonly type: "replayed"; readonly outcome: Outcome<unknown> }
  /** Answered in this round: record it. */
  | {
      readonly type: "answered";
      readonly entry: Pick<AnswerEntry, "settled" | "unsolicited" | "changes">;
      readonly outcome: Outcome<unknown>;
    }
  | { readonly type: "open"; readonly history: History; readonly changed: boolean; readonly complaint?: string }
  /** Its text has changed too often for any answer to count. */
  | { readonly type: "unstable" };

/**
 * Design rule 4. An answer counts only if this very question (key, kind, digest) was asked by us and the content fits.
 * A recorded answer counts under the same terms: when the question or its schema has changed, it is asked again.
 */
export function rule(question: Question, evidence: Evidence, limits: Limits): Ruling | Promise<Ruling> {
  const { digest, recorded, before, response } = evidence;
  const settled = recorded?.settled ?? undefined;
  const stillCounts = recorded?.digest === digest && (!recorded.unsolicited || question.unsolicited);
  if (settled !== undefined && stillCounts) return replayed(question, settled, limits);
  const changed =
    settled !== undefined || (before !== undefined && (before.digest !== digest || before.kind !== question.kind));
  const history = {
    attempts: changed ? 0 : (before?.attempts ?? 0),
    changes: (before?.changes ?? recorded?.changes ?? 0) + (changed ? 1 : 0),
  };
  if (history.changes >= limits.changes) return { type: "unstable" };
  const vouched = before !== undefined && !changed;
  if (response === undefined || !(vouched || question.unsolicited)) return { type: "open", history, changed };
  return read(question, response, history, vouched, limits);
}

function replayed(question: Question, settled: Settled, limits: Limits): Ruling | Promise<Ruling> {
  if (settled.action !== "accept") return { type: "replayed", outcome: settled };
  return whenChecked(question, settled, (verdict) =>
    verdict.ok
      ? { type: "replayed", outcome: { action: "accept", value: verdict.value } }
      : complain(verdict.reason, { attempts: 0, changes: 0 }, limits),
  );
}

function read(
  question: Question,
  response: unknown,
  history: History,
  vouched: boolean,
  limits: Limits,
): Ruling | Promise<Ruling> {
  const entry = (settled: Settled) => ({
    settled,
    ...(!vouched && { unsolicited: true as const }),
    ...(history.changes > 0 && { changes: history.changes }),
  });
  const parsed = question.parse(response);
  if (parsed.action === "malformed") return complain(parsed.reason, history, limits);
  if (parsed.action !== "accept") return { type: "answered", entry: entry(parsed), outcome: parsed };
  return whenChecked(question, parsed, (verdict) =>
    verdict.ok
      ? { type: "answered", entry: entry(parsed), outcome: { action: "accept", value: verdict.value } }
      : complain(verdict.reason, history, limits),
  );
}

function whenChecked(
  question: Question,
  answer: Settled & { action: "accept" },
  then: (verdict: { ok: true; value: unknown } | { ok: false; reason: string }) => Ruling,
): Ruling | Promise<Ruling> {
  const verdict = question.check(answer.content);
  return verdict instanceof Promise ? verdict.then(then) : then(verdict);
}

/** Asks again with the reason, a bounded number of times; then the question ends as invalid. */
function complain(reason: string, history: History, limits: Limits): Ruling {
  const attempts = history.attempts + 1;
  const invalid = { action: "invalid", reason } as const;
  return attempts >= limits.attempts
    ? { type: "answered", entry: { settled: invalid }, outcome: invalid }
    : { type: "open", history: { ...history, attempts }, changed: false, complaint: reason };
}
