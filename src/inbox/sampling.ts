/** A sampling question's way: the request is approved, the model runs, its answer is approved apart (S1, F13 to F15). */
import { checkAnswer } from "../calls/answers.ts";
import { ParleyError } from "../errors.ts";
import type { PendingCall, PendingQuestion, PendingSampling } from "../pending/call.ts";
import type { Change } from "../pending/contract.ts";
import { isExpired, standingDecision } from "../pending/rules.ts";
import { samplingBreach } from "../protocol/sampling.ts";
import type { SamplingParams, SamplingResult } from "../protocol/types.ts";

/** Whether a stage was reached: by one attempt only, as a decision is. */
export type StageVerdict = "taken" | "running" | "not_open";

/** Request approved: the run that gets the stage is the only one. A run past its time is taken for lost. */
export function startRun(
  call: PendingCall,
  questionId: string,
  stage: Extract<PendingSampling, { stage: "running" }>,
  now: number,
): Change<StageVerdict> {
  const question = stillOpen(call, questionId, now);
  if (question === undefined) return { value: "not_open" };
  const { sampling } = question;
  if (sampling?.stage === "running" && sampling.until > now) return { value: "running" };
  return { call: withStage(call, question, stage), value: "taken" };
}

/** What came of the run `run`; one that was given up does not count any more. */
export function endRun(
  call: PendingCall,
  questionId: string,
  run: string,
  stage: PendingSampling,
  now: number,
): Change<StageVerdict> {
  const question = stillOpen(call, questionId, now);
  if (question?.sampling?.stage !== "running" || question.sampling.run !== run) return { value: "not_open" };
  return { call: withStage(call, question, stage), value: "taken" };
}

/**
 * The request as a person edited it, fit to run: whole, and with no larger limit than was asked for (F15).
 * @throws ParleyError `invalid_content`
 */
export function editedParams(key: string, asked: SamplingParams, edited: unknown): SamplingParams {
  const given = (edited ?? {}) as Record<string, unknown>;
  const breach = samplingBreach(given);
  if (breach !== undefined) throw invalid(key, breach.reason);
  const { maxTokens } = given as unknown as SamplingParams;
  if (maxTokens > asked.maxTokens) throw invalid(key, `maxTokens must be at most ${asked.maxTokens}`);
  const { _meta } = asked;
  return { ...given, ...(_meta !== undefined && { _meta }) } as unknown as SamplingParams;
}

/** The model's answer as a person edited it. @throws ParleyError `invalid_content` */
export function editedResult(
  key: string,
  asked: SamplingParams,
  reviewed: SamplingResult,
  edited: unknown,
): SamplingResult {
  const { _meta } = reviewed;
  const whole = { ...(edited as object), ...(_meta !== undefined && { _meta }) };
  return checkAnswer(key, { method: "sampling/createMessage", params: asked }, whole) as SamplingResult;
}

function stillOpen(call: PendingCall, questionId: string, now: number): PendingQuestion | undefined {
  if (call.state !== "waiting" || isExpired(call, now) || standingDecision(call, questionId) !== undefined)
    return undefined;
  return call.questions.find(({ id }) => id === questionId);
}

function withStage(call: PendingCall, question: PendingQuestion, sampling: PendingSampling): PendingCall {
  return { ...call, questions: call.questions.map((one) => (one.id === question.id ? { ...one, sampling } : one)) };
}

function invalid(key: string, reason: string): ParleyError {
  return new ParleyError("invalid_content", `The request of ${JSON.stringify(key)} cannot be run: ${reason}.`, {
    details: { key, reason },
  });
}
