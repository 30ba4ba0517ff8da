import type { Client } from "@modelcontextprotocol/client";
import type { CallParams } from "../calls/call.ts";
import { createCalls } from "../calls/calls.ts";
import type { QuestionContext, Responders } from "../calls/responder.ts";
import { ParleyError } from "../errors.ts";
import type { InputRequest, InputResponse, MrtrMethod } from "../protocol/types.ts";
import { type CallChange, diffCalls, sameQuestion } from "./diff.ts";
import type { Header, Line, TranscriptKeep } from "./format.ts";
import { type RecordedAnswer, type RecordedCall, readTranscript } from "./read.ts";
import { lineRecorder } from "./recorder.ts";

export interface ReplayOptions {
  /** The host's own name for the server. Default: the recorded one. */
  server?: string;
  /** Answers instead of the recorded ones: for those that were masked. Default: none. */
  instead?: { readonly keys: ReadonlySet<string>; readonly responders: Responders };
  /** The call's arguments instead of the recorded ones: for those that were masked. */
  arguments?: Record<string, unknown>;
  /**
   * Give the recorded answer although the question's words or schema have changed. Default false: consent to one
   * question is no consent to another, so the replay stops there.
   */
  answerChanged?: boolean;
  /** What the transcript keeps: the other side of the comparison must be masked alike. Default: nothing. */
  keep?: readonly TranscriptKeep[];
  signal?: AbortSignal;
}

export interface Replay {
  /** Empty: the server did what it did then. */
  readonly changes: readonly CallChange[];
  /** Why the replay did not come to an end; what is behind that point was not compared. */
  readonly stopped?: { readonly key: string; readonly reason: "changed" | "not_recorded" };
  /** The run itself, masked as the recording is. */
  readonly live: RecordedCall;
}

/**
 * Makes a recorded call again, with the recorded answers, and says what is different. **It really calls the server.**
 * Questions are told by their keys and, where a key is asked again, by their order; states by their order alone: the
 * server's new ones are sent back, and the recorded ones never.
 *
 * @throws ParleyError `configuration` when something that was masked is not given anew; the key or pointer is named,
 * and nothing is sent. What the connection or the protocol throws ends up as a change, as it would in a recording.
 */
export async function replayCall(client: Client, recorded: RecordedCall, options: ReplayOptions = {}): Promise<Replay> {
  const { keep = [], instead, signal } = options;
  const params = paramsOf(recorded, options.arguments);
  checkMasked(recorded, instead?.keys ?? new Set());
  const lines: (Header | Line)[] = [];
  const player = new Player(recorded, options, (key) => liveQuestion(lines, key));
  const calls = createCalls(client, {
    server: options.server ?? recorded.server,
    responders: player.responders,
    recorder: lineRecorder((line) => lines.push(line), { keep }),
  });
  try {
    const call = await calls.open(recorded.method, params, {
      capabilities: recorded.capabilities,
      ...(signal && { signal }),
    });
    await call.run();
  } catch (error) {
    // Everything the server did is in the lines; without any, nothing was sent.
    if (lines.length < 2 || signal?.aborted) throw error;
  }
  const [live] = readTranscript(lines.map((line) => `${JSON.stringify(line)}\n`).join("")).calls;
  if (live === undefined) throw new ParleyError("call_state", "The replay left no record.");
  const { stopped } = player;
  return { changes: diffCalls(recorded, live, stopped !== undefined), live, ...(stopped && { stopped }) };
}

/** The question as it was written down a moment ago: masked as the recorded one is. */
function liveQuestion(lines: readonly (Header | Line)[], key: string): InputRequest | undefined {
  const last = lines.findLast((line) => "type" in line && line.type === "interim");
  const questions = last !== undefined && "questions" in last ? last.questions : [];
  return questions.find((question) => question.key === key)?.request;
}

/** Gives recorded answers, each in its turn. */
class Player {
  stopped: Replay["stopped"];
  readonly responders: Responders;
  readonly #recorded = new Map<string, readonly { request: InputRequest; answer: RecordedAnswer | undefined }[]>();
  readonly #times = new Map<string, number>();
  readonly #options: ReplayOptions;
  readonly #live: (key: string) => InputRequest | undefined;

  constructor({ rounds }: RecordedCall, options: ReplayOptions, live: (key: string) => InputRequest | undefined) {
    this.#options = options;
    this.#live = live;
    for (const { questions, answers } of rounds) {
      for (const { key, request } of questions) {
        this.#recorded.set(key, [...(this.#recorded.get(key) ?? []), { request, answer: answers.get(key) }]);
      }
    }
    const own = options.instead?.responders ?? {};
    this.responders = {
      form: (params, context) => this.#answer(context, () => own.form?.(params, context)),
      url: (params, context) => this.#answer(context, () => own.url?.(params, context)),
      sample: (params, context) => this.#answer(context, () => own.sample?.(params, context)),
      sampleTools: true,
      roots: (context) => this.#answer(context, () => own.roots?.(context)),
    };
  }

  async #answer<T extends InputResponse>({ key }: QuestionContext, instead: () => Promise<T> | undefined): Promise<T> {
    const time = this.#times.get(key) ?? 0;
    this.#times.set(key, time + 1);
    const before = this.#recorded.get(key)?.[time];
    const given = this.#options.instead?.keys.has(key) ? instead() : undefined;
    if (before !== undefined && this.#options.answerChanged !== true && given === undefined) {
      const now = this.#live(key);
      if (now === undefined || !sameQuestion(before.request, now)) throw this.#stop(key, "changed");
    }
    if (given !== undefined) return given;
    // A masked one is given anew or not at all.
    if (before?.answer === undefined || before.answer.masked.length > 0) throw this.#stop(key, "not_recorded");
    return before.answer.answer as T;
  }

  #stop(key: string, reason: NonNullable<Replay["stopped"]>["reason"]): ParleyError {
    this.stopped ??= { key, reason };
    return new ParleyError("unanswerable", "The replay has no answer to it.", { details: { key } });
  }
}

function paramsOf(recorded: RecordedCall, given: ReplayOptions["arguments"]): CallParams[MrtrMethod] {
  const left = given === undefined ? recorded.masked : recorded.masked.filter((pointer) => pointer === "/uri");
  if (left.length > 0) throw masked(`the call's ${left.join(", ")}`, "give the arguments anew (--args)");
  const params = { ...recorded.params, ...(given !== undefined && { arguments: given }) };
  return params as unknown as CallParams[MrtrMethod];
}

function checkMasked({ rounds }: RecordedCall, keys: ReadonlySet<string>): void {
  const left = rounds
    .flatMap(({ answers }) => [...answers])
    .flatMap(([key, answer]) => (answer.masked.length > 0 && !keys.has(key) ? [JSON.stringify(key)] : []));
  if (left.length === 0) return;
  throw masked(`the answer to ${[...new Set(left)].join(", ")}`, "give it anew, with an answers file (--answers FILE)");
}

function masked(what: string, remedy: string): ParleyError {
  const message = `The transcript does not hold ${what}: it was masked.`;
  return new ParleyError("configuration", message, { details: { remedy } });
}
