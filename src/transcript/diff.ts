import { isDeepStrictEqual } from "node:util";
import { isObject } from "../internal/json.ts";
import { type InputRequest, kindOf } from "../protocol/types.ts";
import type { RecordedQuestion } from "./format.ts";
import type { RecordedCall, RecordedEnd } from "./read.ts";

/** One difference between two runs of a call. `round` counts the rounds that ask, from 1. */
export type CallChange =
  | { readonly type: "question_added" | "question_removed"; readonly key: string; readonly round: number }
  | {
      readonly type: "question_changed";
      readonly key: string;
      readonly round: number;
      readonly part: "kind" | "message" | "schema" | "url" | "request";
      readonly before: unknown;
      readonly after: unknown;
    }
  | { readonly type: "question_moved"; readonly key: string; readonly before: number; readonly after: number }
  /** How many rounds asked something. */
  | { readonly type: "rounds_changed"; readonly before: number; readonly after: number }
  /** `path` is a JSON pointer into the result; a side without that member is absent. */
  | { readonly type: "result_changed"; readonly path: string; readonly before?: unknown; readonly after?: unknown }
  | { readonly type: "end_changed"; readonly before: string; readonly after: string };

/** Differences of one result that are listed; more are one that names the whole. */
const MOST_CHANGES = 50;

/**
 * What differs between two runs. Questions belong together by key, and in their order where a key is asked again.
 * Times, states, rounds that ask nothing and `_meta` do not count. When one of the two stops early, because its
 * recording ends or a replay could not go on, only what both got to is compared.
 */
export function diffCalls(before: RecordedCall, after: RecordedCall, stopped = false): CallChange[] {
  const [was, is] = [asked(before), asked(after)];
  const open = stopped || before.end === undefined || before.end.type === "aborted";
  const reached = Math.max(0, ...[...is.values()].map(({ round }) => round));
  const recorded = Math.max(0, ...[...was.values()].map(({ round }) => round));
  const changes: CallChange[] = [];
  for (const [id, { question, round }] of was) {
    const now = is.get(id);
    if (now !== undefined) changes.push(...changesOf(question, now.question, round, now.round));
    else if (!stopped || round <= reached) changes.push({ type: "question_removed", key: question.key, round });
  }
  for (const [id, { question, round }] of is) {
    // A recording that stops says nothing of what came later.
    if (was.has(id) || (before.end?.type !== "complete" && before.end?.type !== "failed" && round > recorded)) continue;
    changes.push({ type: "question_added", key: question.key, round });
  }
  if (open) return changes;
  if (reached !== recorded) changes.push({ type: "rounds_changed", before: recorded, after: reached });
  return [...changes, ...endChanges(before.end, after.end)];
}

/** Whether a question is the one that was asked: same kind, same words, same schema. */
export function sameQuestion(before: InputRequest, after: InputRequest): boolean {
  return partsOf(before, after).length === 0;
}

interface Asked {
  readonly question: RecordedQuestion;
  readonly round: number;
}

function asked({ rounds }: RecordedCall): Map<string, Asked> {
  const found = new Map<string, Asked>();
  const times = new Map<string, number>();
  const asking = rounds.filter(({ questions }) => questions.length > 0);
  for (const [index, { questions }] of asking.entries()) {
    for (const question of questions) {
      const time = (times.get(question.key) ?? 0) + 1;
      times.set(question.key, time);
      found.set(JSON.stringify([question.key, time]), { question, round: index + 1 });
    }
  }
  return found;
}

function changesOf(before: RecordedQuestion, after: RecordedQuestion, round: number, now: number): CallChange[] {
  const { key } = before;
  const parts = partsOf(before.request, after.request);
  return [
    ...parts.map((part): CallChange => ({ type: "question_changed", key, round: now, ...part })),
    ...(round === now ? [] : [{ type: "question_moved" as const, key, before: round, after: now }]),
  ];
}

type Part = Pick<Extract<CallChange, { type: "question_changed" }>, "part" | "before" | "after">;

function partsOf(before: InputRequest, after: InputRequest): Part[] {
  const [kind, other] = [kindOf(before), kindOf(after)];
  if (kind !== other) return [{ part: "kind", before: kind, after: other }];
  const [was, is] = [membersOf(before), membersOf(after)];
  const parts: Part[] = [];
  for (const [part, name] of PARTS) {
    if (!isDeepStrictEqual(was[name], is[name])) parts.push({ part, before: was[name], after: is[name] });
    delete was[name];
    delete is[name];
  }
  if (!isDeepStrictEqual(was, is)) parts.push({ part: "request", before: was, after: is });
  return parts;
}

const PARTS = [
  ["message", "message"],
  ["schema", "requestedSchema"],
  ["url", "url"],
] as const;

/** A missing mode is a form (D1). */
function membersOf({ params }: InputRequest): Record<string, unknown> {
  const { _meta: _, ...members } = { ...params } as Record<string, unknown>;
  if (members["mode"] === "form") delete members["mode"];
  return members;
}

function endChanges(before: RecordedEnd | undefined, after: RecordedEnd | undefined): CallChange[] {
  if (before?.type === "complete" && after?.type === "complete") {
    const changes = jsonChanges(before.result, after.result);
    if (changes.length > MOST_CHANGES) {
      return [{ type: "result_changed", path: "", before: before.result, after: after.result }];
    }
    return changes.map((change): CallChange => ({ type: "result_changed", ...change }));
  }
  const [was, is] = [wordsOf(before), wordsOf(after)];
  return was === is ? [] : [{ type: "end_changed", before: was, after: is }];
}

export interface JsonChange {
  readonly path: string;
  readonly before?: unknown;
  readonly after?: unknown;
}

/** Where two JSON values differ, by pointer; a side without that member is absent. */
export function jsonChanges(before: unknown, after: unknown, path = ""): JsonChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  const inside = (isObject(before) && isObject(after)) || (Array.isArray(before) && Array.isArray(after));
  if (!inside) return [{ path, ...side("before", before), ...side("after", after) }];
  const [was, is] = [before as Record<string, unknown>, after as Record<string, unknown>];
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].flatMap((name) =>
    jsonChanges(was[name], is[name], `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}

function side(name: "before" | "after", value: unknown): object {
  return value === undefined ? {} : { [name]: value };
}

function wordsOf(end: RecordedEnd | undefined): string {
  return end === undefined ? "nothing" : end.type === "failed" ? `failed (${end.code})` : end.type;
}
