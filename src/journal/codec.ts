/**
 * {@link CallState} as compact JSON text. The text is only ever read back after its seal has been verified, so reading
 * checks the shape (another release may have written it) but defends against no attacker.
 */
import type { StepFailure } from "../errors.ts";
import type { Json, QuestionKind } from "../protocol/types.ts";
import type { AnswerEntry, CallState, Entry, Pending, Settled } from "./entry.ts";

const KINDS: Record<QuestionKind, string> = { form: "f", url: "u", sample: "s", roots: "r" };
const KIND_OF = new Map(Object.entries(KINDS).map(([kind, letter]) => [letter, kind as QuestionKind]));
const WAIT = "w";
const STEP = "!";
const FAILED = "x";

type Row = Json[];

/**
 * @param elsewhere the digest of the journal when it is kept in the ledger: it then travels instead of the entries.
 */
export function encodeState(state: CallState, elsewhere?: string): string {
  const body: { [key: string]: Json } = { c: state.callId, r: state.round };
  if (state.version !== undefined) body["v"] = state.version;
  if (state.polls !== undefined && state.polls > 0) body["w"] = state.polls;
  body["j"] = elsewhere ?? state.journal.map(encodeEntry);
  body["p"] = state.pending.map(encodePending);
  return JSON.stringify(body);
}

/** Entries as text, for a journal that is kept in pieces. */
export function encodeEntries(entries: readonly Entry[]): string {
  return JSON.stringify(entries.map(encodeEntry));
}

/** @throws TypeError when the text is no list of entries. */
export function decodeEntries(text: string): Entry[] {
  return (JSON.parse(text) as Row[]).map(decodeEntry);
}

/** What a state holds; `elsewhere` is the digest of a journal that is not in it. */
export interface DecodedState {
  readonly state: CallState;
  readonly elsewhere: string | undefined;
}

/** @returns `undefined` when the text is not a state of this format. */
export function decodeState(text: string): DecodedState | undefined {
  try {
    const body = JSON.parse(text) as { c: unknown; r: unknown; v?: unknown; w?: unknown; j: Row[] | string; p: Row[] };
    if (typeof body.c !== "string" || !Number.isSafeInteger(body.r)) return undefined;
    if (body.v !== undefined && typeof body.v !== "string") return undefined;
    const state: CallState = {
      callId: body.c,
      round: body.r as number,
      ...(body.v !== undefined && { version: body.v }),
      ...(typeof body.w === "number" && { polls: body.w }),
      journal: typeof body.j === "string" ? [] : body.j.map(decodeEntry),
      pending: body.p.map(decodePending),
    };
    return { state, elsewhere: typeof body.j === "string" ? body.j : undefined };
  } catch {
    return undefined;
  }
}

/** The size each part of a state takes, largest first: what an author needs to know when a limit is passed. */
export function largestEntries(state: CallState): { key: string; bytes: number }[] {
  return state.journal
    .map((entry) => ({ key: entry.key, bytes: Buffer.byteLength(JSON.stringify(encodeEntry(entry))) }))
    .sort((a, b) => b.bytes - a.bytes);
}

function encodeEntry(entry: Entry): Row {
  if (entry.type === "step") {
    if (entry.failure !== undefined) {
      const { name, message, code } = entry.failure;
      return code === undefined ? [FAILED, entry.key, name, message] : [FAILED, entry.key, name, message, code];
    }
    return entry.value === undefined ? [STEP, entry.key] : [STEP, entry.key, entry.value];
  }
  return encodeAnswer(entry);
}

/** The action's letter, upper case when unsolicited, with the number of changes behind it: "a", "D", "a2". */
function encodeAnswer({ kind, key, digest, settled, unsolicited, changes }: AnswerEntry): Row {
  const head: Row = [KINDS[kind], key, digest];
  if (settled === null) return head;
  const letter = unsolicited ? settled.action.charAt(0).toUpperCase() : settled.action.charAt(0);
  const row: Row = [...head, changes ? `${letter}${changes}` : letter];
  if (settled.action === "invalid") row.push(settled.reason);
  if (settled.action === "accept" && settled.content !== undefined) row.push(settled.content);
  return row;
}

function decodeEntry(row: Row): Entry {
  const [tag, key] = row;
  if (typeof key !== "string") throw new TypeError("key");
  if (tag === STEP) return row.length > 2 ? { type: "step", key, value: row[2] as Json } : { type: "step", key };
  if (tag === FAILED) return { type: "step", key, failure: decodeFailure(row) };
  return decodeAnswer(row, key);
}

function decodeFailure(row: Row): StepFailure {
  const [, , name, message, code] = row;
  if (typeof name !== "string" || typeof message !== "string") throw new TypeError("failure");
  return typeof code === "string" || typeof code === "number" ? { name, message, code } : { name, message };
}

function decodeAnswer(row: Row, key: string): AnswerEntry {
  const [tag, , digest, action] = row;
  const kind = KIND_OF.get(String(tag));
  if (kind === undefined || typeof digest !== "string") throw new TypeError("answer");
  if (action === undefined) return { type: "answer", key, kind, digest, settled: null };
  const [letter, count] = [String(action).charAt(0), String(action).slice(1)];
  return {
    type: "answer",
    key,
    kind,
    digest,
    settled: decodeSettled(letter.toLowerCase(), row),
    ...(letter !== letter.toLowerCase() && { unsolicited: true }),
    ...(count !== "" && { changes: Number(count) }),
  };
}

function decodeSettled(letter: string, row: Row): Settled {
  switch (letter) {
    case "a":
      return row.length > 4 ? { action: "accept", content: row[4] as Json } : { action: "accept" };
    case "d":
      return { action: "decline" };
    case "c":
      return { action: "cancel" };
    case "i":
      return { action: "invalid", reason: String(row[4]) };
    default:
      throw new TypeError("action");
  }
}

function encodePending(pending: Pending): Row {
  if (pending.kind === "wait") return [WAIT, pending.key, pending.sinceMs ?? 0];
  const row: Row = [KINDS[pending.kind], pending.key, pending.digest];
  if (pending.attempts > 0 || pending.changes > 0) row.push(pending.attempts, pending.changes);
  if (pending.previous !== undefined) row.push(pending.previous);
  return row;
}

function decodePending(row: Row): Pending {
  if (row[0] === WAIT) {
    return { key: String(row[1]), kind: "wait", digest: "", attempts: 0, changes: 0, sinceMs: Number(row[2]) };
  }
  const [tag, key, digest, attempts = 0, changes = 0, previous] = row;
  const kind = KIND_OF.get(String(tag));
  if (kind === undefined || typeof key !== "string" || typeof digest !== "string") throw new TypeError("pending");
  if (typeof attempts !== "number" || typeof changes !== "number") throw new TypeError("pending");
  return { key, kind, digest, attempts, changes, ...(typeof previous === "string" && { previous }) };
}
