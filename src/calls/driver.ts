import { ProtocolError } from "@modelcontextprotocol/client";
import { ParleyError } from "../errors.ts";
import { type InputResponse, kindOf, type MrtrMethod } from "../protocol/types.ts";
import { checkAnswer } from "./answers.ts";
import { type Asking, askAll, isInterruption } from "./ask.ts";
import type { Call, CallResults, CallStatus, TaskState } from "./call.ts";
import { within } from "./clock.ts";
import { CallCore, type CallSetting } from "./core.ts";
import { deciderOf } from "./decider.ts";
import type { Question } from "./interim.ts";
import type { QuestionContext } from "./responder.ts";
import { advance } from "./rounds.ts";
import { type CallRecord, type SavedCall, saveCall } from "./saved.ts";
import { abandonTask } from "./task.ts";

/** The state machine behind {@link Call}: one record, one leg at a time. */
export class CallDriver<M extends MrtrMethod> implements Call<M> {
  readonly id: string;
  readonly method: M;
  readonly #core: CallCore;
  #status: CallStatus = "asking";
  #sending = false;
  #left = false;
  #result: CallResults[M] | undefined;
  /** Settles once the server of an aborted call has heard of it, as far as it has to. */
  #told: Promise<void> | undefined;

  constructor(setting: CallSetting, record: CallRecord) {
    this.id = record.callId;
    this.method = record.method as M;
    this.#core = new CallCore(setting, record);
    const { signal } = setting;
    if (signal?.aborted) this.#onOwnerAbort();
    else signal?.addEventListener("abort", this.#onOwnerAbort, { once: true });
  }

  get status(): CallStatus {
    return this.#status;
  }

  get round(): number {
    return this.#core.record.round;
  }

  get result(): CallResults[M] | undefined {
    return this.#result;
  }

  get task(): TaskState | undefined {
    const { task } = this.#core.record;
    if (task === undefined) return undefined;
    const { taskId, status, statusMessage, pollIntervalMs, ttlMs } = task;
    return {
      taskId,
      status,
      ...(statusMessage !== undefined && { statusMessage }),
      pollIntervalMs,
      ...(ttlMs !== undefined && { ttlMs }),
    };
  }

  get questions(): readonly Question[] {
    return this.#status === "asking" ? this.#core.questions : [];
  }

  get unanswered(): readonly string[] {
    return this.questions.map(({ key }) => key).filter((key) => !this.#core.record.answers.has(key));
  }

  answer(key: string, response: InputResponse): void {
    this.#assertIdle();
    const { record } = this.#core;
    const request = record.requests.get(key);
    if (request === undefined) throw this.#core.error("call_state", `There is no question ${quote(key)} now.`);
    if (this.#core.left(record.answerBy) <= 0) throw this.#fail(this.#humanTimeout());
    const answer = checkAnswer(key, request, response);
    record.answers.set(key, answer);
    const by = deciderOf(response);
    this.#core.emit({ type: "answered", key, kind: kindOf(request), ...(by !== undefined && { by }) }, { answer });
  }

  decline(key: string): void {
    this.answer(key, { action: "decline" });
  }

  cancel(key: string): void {
    this.answer(key, { action: "cancel" });
  }

  continue(): Promise<void> {
    return this.#continue(this.#core.setting.options.followTasks);
  }

  async #continue(follow: boolean): Promise<void> {
    this.#assertIdle();
    const open = this.unanswered;
    if (open.length > 0) throw this.#core.error("call_state", `Still unanswered: ${open.map(quote).join(", ")}.`);
    this.#sending = true;
    try {
      const done = await advance(this.#core, follow);
      // An observer may have ended the call since the answer came.
      this.#core.end.throwIfAborted();
      if (done === undefined) return;
      this.#result = done.result as CallResults[M];
      this.#close("complete");
      this.#core.emit({ type: "complete", ms: done.ms }, { result: done.result });
    } catch (error) {
      const thrown = isFinal(error) ? this.#fail(error) : error;
      await this.#told;
      throw thrown;
    } finally {
      this.#sending = false;
    }
  }

  /** The first leg: without an answer to it there is no call to go on with. */
  async start(): Promise<this> {
    try {
      await this.continue();
      return this;
    } catch (error) {
      throw this.#fail(error);
    }
  }

  async run(): Promise<CallResults[M]> {
    try {
      while (this.#result === undefined) {
        this.#assertIdle();
        if (this.unanswered.length > 0) await this.#askResponders();
        await this.#continue(true);
      }
      return this.#result;
    } catch (error) {
      const thrown = this.#fail(error);
      await this.#told;
      throw thrown;
    }
  }

  abort(reason?: unknown): void {
    if (this.#status !== "asking") return;
    this.#close("aborted");
    this.#core.emit({ type: "aborted" });
    this.#told = abandonTask(this.#core);
    this.#core.end.abort(this.#core.error("aborted", "The call was aborted.", { cause: reason }));
  }

  leave(): void {
    if (this.#status !== "asking") return;
    this.#left = true;
    this.#close("aborted");
    this.#core.emit({ type: "aborted", left: true });
    this.#core.end.abort(this.#core.error("aborted", "The call was let go of. It can be resumed as it was saved."));
  }

  toJSON(): SavedCall {
    if (this.#left) throw this.#core.error("call_state", "The call was let go of: save it before leave().");
    if (this.#status !== "asking") throw this.#core.error("call_state", `The call is ${this.#status}.`);
    return saveCall(this.#core.setting.options.server, this.#core.record);
  }

  async #askResponders(): Promise<void> {
    const { setting, record, end, totalLimit } = this.#core;
    const open = new Set(this.unanswered);
    const asking: Asking = {
      server: setting.options.server,
      responders: setting.responders,
      contextOf: (question) => this.#contextOf(question),
      onQuestion: ({ key, kind, repeated }) => this.#core.emit({ type: "question", key, kind, repeated }),
      onAnswer: (key, answer) => this.answer(key, answer),
    };
    const human = { ms: this.#core.left(record.answerBy), error: () => this.#humanTimeout() };
    const questions = this.questions.filter(({ key }) => open.has(key));
    await within(setting.options.clock, end, [human, totalLimit], (scope) => askAll(questions, asking, scope.real));
  }

  #contextOf({ key, repeated }: Question): Omit<QuestionContext, "signal"> {
    const { setting, record, target } = this.#core;
    const info = setting.client.getServerVersion();
    const answerBy = Math.min(record.answerBy ?? Number.POSITIVE_INFINITY, record.endBy ?? Number.POSITIVE_INFINITY);
    return {
      server: { id: setting.options.server, ...(info && { claimed: claimOf(info) }) },
      method: record.method,
      target,
      params: record.params,
      key,
      callId: record.callId,
      round: record.round,
      ...(Number.isFinite(answerBy) && { answerBy }),
      ...(repeated && { repeated }),
      ...(record.startedOver && { startedOver: true }),
    };
  }

  #assertIdle(): void {
    this.#core.end.throwIfAborted();
    if (this.#status !== "asking") throw this.#core.error("call_state", `The call is ${this.#status}.`);
    if (this.#sending) throw this.#core.error("call_state", "A request of this call is in flight.");
  }

  #humanTimeout(): ParleyError {
    const keys = this.unanswered;
    const message = `Nobody answered ${keys.map(quote).join(", ")} in time; nothing was sent.`;
    return this.#core.error("human_timeout", message, { details: { keys } });
  }

  /** Ends the call with `error` unless it is over already, and hands the error back to be thrown. */
  #fail(error: unknown): unknown {
    if (this.#status !== "asking") return error;
    if (isInterruption(error)) {
      this.abort(error);
      return error;
    }
    this.#close("failed");
    const code = error instanceof Error && "code" in error ? String(error.code) : "transport";
    this.#core.emit({ type: "failed", code }, { error });
    return error;
  }

  #close(status: CallStatus): void {
    this.#status = status;
    this.#core.setting.signal?.removeEventListener("abort", this.#onOwnerAbort);
  }

  readonly #onOwnerAbort = (): void => this.abort(this.#core.setting.signal?.reason);
}

function claimOf({ name, title, version }: { name: string; title?: string | undefined; version: string }) {
  return { name, version, ...(title !== undefined && { title }) };
}

/** Whether trying the same leg again is pointless: a leg's time-out and transport errors are worth another try. */
function isFinal(error: unknown): boolean {
  if (error instanceof ParleyError) return error.code !== "leg_timeout" && error.code !== "connection_lost";
  return error instanceof ProtocolError;
}

const quote = (key: string): string => JSON.stringify(key);
