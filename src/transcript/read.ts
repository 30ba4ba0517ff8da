import { readInterim } from "../calls/interim.ts";
import { ParleyError, reasonOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { type ClientCapabilities, type InputResponse, MRTR_METHODS, type MrtrMethod } from "../protocol/types.ts";
import { FORMAT, KEEPS, type RecordedQuestion, type TranscriptKeep, VERSION } from "./format.ts";

export interface RecordedAnswer {
  readonly answer: InputResponse;
  /** Who decided, if not a person. */
  readonly by?: string;
  /** JSON pointers of what was left out: such an answer cannot be given again. */
  readonly masked: readonly string[];
}

/** One interim result, and what was answered to it. */
export interface RecordedRound {
  readonly questions: readonly RecordedQuestion[];
  readonly answers: ReadonlyMap<string, RecordedAnswer>;
}

export type RecordedEnd =
  | { readonly type: "complete"; readonly result: Readonly<Record<string, unknown>> }
  | { readonly type: "failed"; readonly code: string; readonly message: string }
  | { readonly type: "aborted" };

export interface RecordedCall {
  readonly server: string;
  readonly method: MrtrMethod;
  readonly params: Readonly<Record<string, unknown>>;
  readonly capabilities: ClientCapabilities;
  /** JSON pointers into `params` of what was left out. */
  readonly masked: readonly string[];
  /** Since the start, or since the call started over. */
  readonly rounds: readonly RecordedRound[];
  /** Absent when the recording stops before the call does. */
  readonly end?: RecordedEnd;
}

export interface Transcript {
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly keep: readonly TranscriptKeep[];
  readonly calls: readonly RecordedCall[];
}

interface Growing extends Omit<RecordedCall, "rounds" | "end"> {
  rounds: { questions: readonly RecordedQuestion[]; answers: Map<string, RecordedAnswer> }[];
  end?: RecordedEnd;
}

/**
 * Reads the text of a transcript, trusting none of it. A last line that a crash cut short is left out.
 * @throws ParleyError `configuration` naming the line; it repeats nothing of it.
 */
export function readTranscript(text: string): Transcript {
  const lines = text.split("\n");
  // What is behind the last line feed is nothing, or half a line.
  lines.pop();
  const [first, ...others] = lines.map((line, index) => parse(line, index + 1));
  const { format, version, startedAt, keep } = first ?? refuse(1, "there is none: this is no transcript");
  if (format !== FORMAT) refuse(1, "this is no transcript");
  if (version !== VERSION) refuse(1, `its version is not ${VERSION}`);
  const kept = Array.isArray(keep) ? KEEPS.filter((one) => keep.includes(one)) : refuse(1, "keep is not a list");
  const calls: Growing[] = [];
  for (const [index, line] of others.entries()) take(calls, line, index + 2);
  return {
    startedAt: typeof startedAt === "number" ? startedAt : refuse(1, "startedAt is no time"),
    keep: kept,
    calls,
  };
}

function take(calls: Growing[], line: Record<string, unknown>, at: number): void {
  if (line["type"] === "call") {
    if (line["call"] !== calls.length + 1) refuse(at, "calls are not numbered in order");
    calls.push(readCall(line, at));
    return;
  }
  const call = calls[Number(line["call"]) - 1] ?? refuse(at, "it belongs to no call");
  if (call.end !== undefined) refuse(at, "its call is over");
  switch (line["type"]) {
    case "interim":
      call.rounds.push({ questions: readQuestions(line["questions"], call, at), answers: new Map() });
      return;
    case "answer":
      takeAnswer(call, line, at);
      return;
    case "restarted":
      // What was asked and answered before does not count any more.
      call.rounds = [];
      return;
    case "complete":
      call.end = { type: "complete", result: objectIn(line, "result", at) };
      return;
    case "failed":
      call.end = { type: "failed", code: textIn(line, "code", at), message: textIn(line, "message", at) };
      return;
    case "aborted":
      call.end = { type: "aborted" };
      return;
    case "leg":
    case "resent":
      return;
    default:
      refuse(at, "its type is unknown");
  }
}

function readCall(line: Record<string, unknown>, at: number): Growing {
  const method = MRTR_METHODS.find((one) => one === line["method"]) ?? refuse(at, "its method is none that can ask");
  const params = objectIn(line, "params", at);
  const capabilities = objectIn(line, "capabilities", at);
  return { server: textIn(line, "server", at), method, params, capabilities, masked: pointersIn(line, at), rounds: [] };
}

/** As strictly as if they had just come from a server. */
function readQuestions(value: unknown, { server, capabilities }: Growing, at: number): readonly RecordedQuestion[] {
  if (!Array.isArray(value)) return refuse(at, "questions is not a list");
  const entries = value.map((one): [string, unknown] =>
    isObject(one) && typeof one["key"] === "string"
      ? [one["key"], one["request"]]
      : refuse(at, "a question has no key"),
  );
  if (entries.length === 0) return [];
  const rules = { server, declared: capabilities, maxQuestions: Number.MAX_SAFE_INTEGER, maxRequestStateBytes: 0 };
  try {
    const { requests } = readInterim({ inputRequests: Object.fromEntries(entries) }, rules);
    return entries.flatMap(([key]) => {
      const request = requests.get(key);
      return request === undefined ? [] : [{ key, request }];
    });
  } catch (error) {
    return refuse(at, reasonOf(error), error);
  }
}

function takeAnswer({ rounds }: Growing, line: Record<string, unknown>, at: number): void {
  const key = textIn(line, "key", at);
  const round = rounds.at(-1);
  if (!round?.questions.some((question) => question.key === key)) refuse(at, "it answers no question");
  const answer = objectIn(line, "answer", at) as unknown as InputResponse;
  const by = line["by"] === undefined ? {} : { by: textIn(line, "by", at) };
  round?.answers.set(key, { answer, ...by, masked: pointersIn(line, at) });
}

function pointersIn(line: Record<string, unknown>, at: number): readonly string[] {
  const masked = line["masked"] ?? [];
  const fits = Array.isArray(masked) && masked.every((one) => typeof one === "string");
  return fits ? (masked as string[]) : refuse(at, "masked is not a list of pointers");
}

function objectIn(line: Record<string, unknown>, name: string, at: number): Record<string, unknown> {
  const value = line[name];
  return isObject(value) ? value : refuse(at, `${name} is not an object`);
}

function textIn(line: Record<string, unknown>, name: string, at: number): string {
  const value = line[name];
  return typeof value === "string" ? value : refuse(at, `${name} is not text`);
}

function parse(line: string, at: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // The engine's own message quotes the text.
    return refuse(at, "it is not JSON");
  }
  return isObject(value) ? value : refuse(at, "it is not an object");
}

function refuse(line: number, reason: string, cause?: unknown): never {
  const message = `The transcript cannot be read, line ${line}: ${reason}.`;
  const remedy = "record it again, or mend that line";
  throw new ParleyError("configuration", message, { cause, details: { line, remedy } });
}
