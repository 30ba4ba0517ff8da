/** A model behind a person's two approvals and the host's limits (F11, F13 to F15, F18 to F21; rule S1). */
import type { QuestionContext, Responders } from "../calls/responder.ts";
import { InputCancelled, InputDeclined, ParleyError } from "../errors.ts";
import { samplingBreach, samplingResultBreach } from "../protocol/sampling.ts";
import type { SamplingParams, SamplingResult } from "../protocol/types.ts";
import { type SamplingLimits, samplingLimits } from "../sampling/limits.ts";
import type { Model } from "../sampling/model.ts";
import { describeQuestion, type SampleQuestionView } from "./model.ts";
import { describeSample } from "./sampling-view.ts";
import { inline } from "./text.ts";

/** A person's no to sampling, or leaving it: neither has a word on the wire, so both end the call (F21). */
export type SamplingRefusal = "decline" | "cancel";

/**
 * Who lets a request through to the model, and its answer to the server. Each gives back what it was given, or changed,
 * or a refusal. Show what the view holds; `context.signal` takes it off the screen.
 */
export interface SamplingApproval {
  request(
    view: SampleQuestionView,
    params: SamplingParams,
    context: QuestionContext,
  ): Promise<SamplingParams | SamplingRefusal>;
  /** `view.sampling` is the model's answer. */
  response(
    view: SampleQuestionView,
    result: SamplingResult,
    context: QuestionContext,
  ): Promise<SamplingResult | SamplingRefusal>;
}

export interface SamplingResponderOptions {
  model: Model;
  approve: SamplingApproval;
  /** Give one object to all servers of a host. Default: `samplingLimits()`, for this responder alone. */
  limits?: SamplingLimits;
  /** `model` can use `tools` and `toolChoice`. Default false: then they are not declared, and not asked for (F3). */
  tools?: boolean;
}

/**
 * A `sample` responder. It throws `limit_exceeded` before anybody is asked, `unanswerable` for what cannot be shown
 * whole, `input_declined` and `input_cancelled` for a refusal, `invalid_content` for an approval that breaks a rule, and
 * `model_failed` for an answer that does; whatever it throws ends the call, and nothing is made up (B21, F21).
 */
export function samplingResponder(options: SamplingResponderOptions): Pick<Responders, "sample" | "sampleTools"> {
  const { model, approve, limits = samplingLimits(), tools = false } = options;
  if (typeof model !== "function") throw bad("model", "must be a function");
  if (typeof approve?.request !== "function" || typeof approve.response !== "function") {
    throw bad("approve", "must have request and response");
  }
  const sample = async (params: SamplingParams, context: QuestionContext): Promise<SamplingResult> => {
    const view = viewOf(params, context);
    const permit = limits.check(params, context);
    let result: SamplingResult;
    try {
      const approved = granted(await approve.request(view, params, context), context);
      checkApproved(params, approved, context);
      throwIfOver(context);
      try {
        result = await model(approved, context);
      } catch (error) {
        // It may have cost all the same.
        permit.spent();
        throw error;
      }
      permit.spent(result);
    } finally {
      permit.release();
    }
    throwIfOver(context);
    const breach = samplingResultBreach(params, result as SamplingResult & Record<string, unknown>);
    if (breach !== undefined) {
      throw failure(
        "model_failed",
        `The model's answer to ${name(context)}: ${breach.field} ${breach.reason}.`,
        context,
      );
    }
    const sampling = describeSample(result);
    if (!sampling.complete) {
      const message = `The model's answer to ${name(context)} is too large to be reviewed, so it was not sent.`;
      throw failure("unanswerable", message, context);
    }
    const answer = granted(
      await approve.response({ ...view, warnings: sampling.warnings, sampling }, result, context),
      context,
    );
    const edited = samplingResultBreach(params, answer as SamplingResult & Record<string, unknown>);
    if (edited === undefined) return answer;
    throw failure("invalid_content", `The answer to ${name(context)}: ${edited.field} ${edited.reason}.`, context);
  };
  return { sample, ...(tools && { sampleTools: true }) };
}

function viewOf(params: SamplingParams, context: QuestionContext): SampleQuestionView {
  const breach = samplingBreach(params as Record<string, unknown>);
  if (breach !== undefined) {
    throw failure("invalid_interim", `Question ${name(context)} breaks ${breach.rule}: ${breach.reason}.`, context);
  }
  const view = describeQuestion({ method: "sampling/createMessage", params }, context) as SampleQuestionView;
  if (view.refused.length === 0) return view;
  throw failure("unanswerable", `Question ${name(context)} was refused: ${view.refused.join("; ")}.`, context);
}

function granted<T extends object>(decision: T | SamplingRefusal, { key }: QuestionContext): T {
  if (decision === "decline") throw new InputDeclined(key);
  if (decision === "cancel") throw new InputCancelled(key);
  return decision;
}

/** An approval may change the request within what was asked: F15, and the rules of F5 to F9. */
function checkApproved(asked: SamplingParams, approved: SamplingParams, context: QuestionContext): void {
  const breach = samplingBreach(approved as Record<string, unknown>);
  const reason = breach?.reason ?? (approved.maxTokens > asked.maxTokens ? "maxTokens may only be lowered" : undefined);
  if (reason === undefined) return;
  throw failure("invalid_content", `The request approved for ${name(context)}: ${reason}.`, context);
}

function throwIfOver({ signal, key }: QuestionContext): void {
  if (!signal.aborted) return;
  if (signal.reason instanceof ParleyError) throw signal.reason;
  throw new ParleyError("aborted", `Question “${inline(key, 100)}” was taken back.`, { cause: signal.reason });
}

function name({ key, server }: QuestionContext): string {
  return `“${inline(key, 100)}” of server “${inline(server.id, 100)}”`;
}

function failure(
  code: "model_failed" | "unanswerable" | "invalid_content" | "invalid_interim",
  message: string,
  { key, server }: QuestionContext,
): ParleyError {
  return new ParleyError(code, message, { details: { key, server: server.id } });
}

function bad(option: string, rule: string): ParleyError {
  return new ParleyError("configuration", `samplingResponder: ${option} ${rule}.`, { details: { option } });
}
