import type { Client, Progress } from "@modelcontextprotocol/client";
import { ParleyError, type ParleyErrorCode } from "../errors.ts";
import { LazySignal } from "../internal/lazy-signal.ts";
import { kindOf } from "../protocol/types.ts";
import type { Limit } from "./clock.ts";
import type { CallContent, CallEvent, EventBody } from "./events.ts";
import type { Interim, InterimRules, Question } from "./interim.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Responders } from "./responder.ts";
import type { CallRecord } from "./saved.ts";

/** What one call works with; what it remembers is its {@link CallRecord}. */
export interface CallSetting {
  readonly client: Client;
  readonly options: ResolvedOptions;
  readonly responders: Responders;
  readonly legTimeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly onProgress: ((progress: Progress, round: number) => void) | undefined;
}

/** What the wire side and the people's side of one call share. */
export class CallCore {
  readonly setting: CallSetting;
  readonly record: CallRecord;
  /** Ends everything the call waits for. Its reason is always a ParleyError. */
  readonly end = new LazySignal();

  /** This round's questions, made once. */
  #asked: { readonly requests: CallRecord["requests"]; readonly questions: readonly Question[] } | undefined;

  constructor(setting: CallSetting, record: CallRecord) {
    this.setting = setting;
    this.record = record;
  }

  /** The tool's or prompt's name, or the URI. */
  get target(): string {
    const { name, uri } = this.record.params as { name?: string; uri?: string };
    return name ?? uri ?? "";
  }

  get questions(): readonly Question[] {
    const { requests, acceptedUrls } = this.record;
    if (this.#asked?.requests !== requests) {
      const questions = [...requests].map(([key, request]) => {
        const kind = kindOf(request);
        const repeated = kind === "url" && acceptedUrls.get(key) === (request.params as { url: string }).url;
        return { key, kind, request, repeated };
      });
      this.#asked = { requests, questions };
    }
    return this.#asked.questions;
  }

  /** Milliseconds until `deadline`; without one, `Infinity`. */
  left(deadline: number | undefined): number {
    return deadline === undefined ? Number.POSITIVE_INFINITY : deadline - this.setting.options.clock.now();
  }

  /** What a question must be before anybody is asked (B18). */
  get interimRules(): InterimRules {
    const { server, maxRequestStateBytes, maxQuestions } = this.setting.options;
    return { server, declared: this.record.capabilities, maxRequestStateBytes, maxQuestions };
  }

  /**
   * Remembers what is asked now, and until when it can be answered.
   * @throws ParleyError `rounds_exceeded`: a question whose answer could not be sent any more is not put to anybody.
   */
  take({ requests, requestState }: Interim): void {
    const { record, setting } = this;
    const { humanTimeoutMs, clock, maxRounds, server } = setting.options;
    if (record.round >= maxRounds) {
      const details = { maxRounds, questions: Object.fromEntries(requests) };
      throw this.error("rounds_exceeded", `"${server}" still asks after ${maxRounds} rounds.`, { details });
    }
    for (const [key, request] of record.requests) {
      if (kindOf(request) !== "url") continue;
      const answer = record.answers.get(key) as { action?: string } | undefined;
      if (answer?.action === "accept") record.acceptedUrls.set(key, (request.params as { url: string }).url);
      else record.acceptedUrls.delete(key);
    }
    const latest = Math.min(clock.now() + humanTimeoutMs, this.#taskEndsAt());
    const answerBy = Number.isFinite(latest) ? latest : undefined;
    Object.assign(record, { requests, requestState, answers: new Map(), answerBy });
  }

  /** A question cannot wait longer than its task lives (H20). One that outlived what it was given is taken as it comes. */
  #taskEndsAt(): number {
    const { since, ttlMs } = this.record.task ?? {};
    const endsAt = since === undefined || typeof ttlMs !== "number" ? Number.POSITIVE_INFINITY : since + ttlMs;
    return this.left(endsAt) > 0 ? endsAt : Number.POSITIVE_INFINITY;
  }

  get totalLimit(): Limit {
    // A resumed call keeps the end it was saved with, whatever totalTimeoutMs is now.
    const error = () => this.error("total_timeout", "The call did not end in the time it was given (totalTimeoutMs).");
    return { ms: this.left(this.record.endBy), error };
  }

  error(code: ParleyErrorCode, message: string, more: { cause?: unknown; details?: object } = {}): ParleyError {
    const { cause, details } = more;
    const about = { server: this.setting.options.server, method: this.record.method, target: this.target };
    return new ParleyError(code, message, { cause, details: { ...about, ...details } });
  }

  /** `content` is for the recorder only. */
  emit(body: EventBody, content: CallContent = {}): void {
    const { onEvent, recorder, server } = this.setting.options;
    if (onEvent === undefined && recorder === undefined) return;
    const { callId, method, round } = this.record;
    const event = { callId, server, method, target: this.target, round, ...body } as CallEvent;
    observe(() => onEvent?.(event));
    observe(() => recorder?.record(event, content));
  }
}

/** An observer must not change a call. */
function observe(tell: () => void): void {
  try {
    tell();
  } catch {
    // Its own fault.
  }
}
