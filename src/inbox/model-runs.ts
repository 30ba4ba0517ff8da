import { randomBytes } from "node:crypto";
import { within } from "../calls/clock.ts";
import { messageOf, ParleyError } from "../errors.ts";
import type { PendingCall, PendingSampling } from "../pending/call.ts";
import type { PendingStore } from "../pending/contract.ts";
import { describeSample } from "../present/sampling-view.ts";
import { samplingResultBreach } from "../protocol/sampling.ts";
import type { SamplingParams } from "../protocol/types.ts";
import type { SamplingPermit } from "../sampling/limits.ts";
import { openQuestion, refusal } from "./deciding.ts";
import type { ResolvedInboxOptions } from "./options.ts";
import { contextOf, requestOf } from "./questions.ts";
import { editedParams, endRun, type StageVerdict, startRun } from "./sampling.ts";
import { viewOf } from "./view.ts";

/** Runs of the model for approved requests, one at a time for each question. */
export class ModelRuns {
  readonly #options: ResolvedInboxOptions;
  readonly #store: PendingStore;
  readonly #runs = new Map<string, AbortController>();
  readonly #work = new Set<Promise<void>>();

  constructor(options: ResolvedInboxOptions, store: PendingStore) {
    this.#options = options;
    this.#store = store;
  }

  /**
   * Gives the approved (and perhaps edited) request to the model; resolves once the run has begun.
   * @throws ParleyError `unanswerable` without a model, `limit_exceeded`, `invalid_content`, or as `openQuestion`.
   */
  async start(call: PendingCall, questionId: string, edited: unknown): Promise<void> {
    const { model, samplingLimits, clock, modelTimeoutMs } = this.#options;
    const question = openQuestion(call, questionId);
    const { key } = question;
    const request = requestOf(call, question);
    if (request.method !== "sampling/createMessage") throw new ParleyError("invalid_content", "Only sampling is run.");
    if (model === undefined) throw new ParleyError("unanswerable", `No model is configured here to answer "${key}".`);
    const { refused } = viewOf(call, question, this.#options);
    if (refused.length > 0) throw new ParleyError("unanswerable", `It must not be run: ${refused.join("; ")}.`);
    const params = editedParams(key, request.params, edited);
    const permit = samplingLimits.check(params, contextOf(call, question));
    const now = clock.now();
    const run = randomBytes(9).toString("base64url");
    const stage = { stage: "running", params, run, until: now + modelTimeoutMs } as const;
    let verdict: StageVerdict | undefined;
    try {
      verdict = await this.#store.update(call.id, (one) => startRun(one, questionId, stage, now));
    } finally {
      if (verdict !== "taken") permit.release();
    }
    if (verdict === "not_open") throw refusal({ type: "unknown" });
    if (verdict !== "taken") throw new ParleyError("call_state", "The model is running on this already.");
    const end = new AbortController();
    this.#runs.set(run, end);
    const work = this.#run(call, questionId, { run, params, permit }, end.signal)
      .catch((error: unknown) => this.#options.onError(error))
      .finally(() => {
        this.#runs.delete(run);
        this.#work.delete(work);
      });
    this.#work.add(work);
  }

  /** Ends the run a question has here, whose answer nobody wants any more. */
  drop({ questions }: PendingCall): void {
    for (const { sampling } of questions) if (sampling?.stage === "running") this.#runs.get(sampling.run)?.abort();
  }

  async close(): Promise<void> {
    for (const end of this.#runs.values()) end.abort();
    await Promise.all(this.#work);
  }

  async #run(
    call: PendingCall,
    questionId: string,
    { run, params, permit }: { run: string; params: SamplingParams; permit: SamplingPermit },
    signal: AbortSignal,
  ): Promise<void> {
    const stage = await this.#sample(call, questionId, params, signal);
    permit.spent(stage.stage === "response" ? stage.result : undefined);
    const now = this.#options.clock.now();
    await this.#store.update(call.id, (one) => endRun(one, questionId, run, stage, now));
  }

  async #sample(
    call: PendingCall,
    questionId: string,
    params: SamplingParams,
    outer: AbortSignal,
  ): Promise<PendingSampling> {
    const { model, clock, modelTimeoutMs } = this.#options;
    const question = openQuestion(call, questionId);
    const late = () => new ParleyError("human_timeout", "The model did not answer in time (modelTimeoutMs).");
    try {
      const result = await within(clock, outer, [{ ms: modelTimeoutMs, error: late }], async ({ real: signal }) =>
        (model as NonNullable<typeof model>)(params, { ...contextOf(call, question), signal }),
      );
      const breach = samplingResultBreach(params, { ...result });
      if (breach !== undefined) throw new Error(`its answer cannot be sent: ${breach.field} ${breach.reason}`);
      if (!describeSample(result).complete) throw new Error("its answer is too large to be reviewed");
      return { stage: "response", params, result };
    } catch (error) {
      return { stage: "failed", params, reason: reasonOfRun(error, outer) };
    }
  }
}

function reasonOfRun(error: unknown, signal: AbortSignal): string {
  return signal.aborted ? "The run was interrupted." : `The model failed: ${messageOf(error)}`;
}
