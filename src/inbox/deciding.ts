/** A person's decision on a question: checked, then taken if it is the first. */
import { checkAnswer } from "../calls/answers.ts";
import { ParleyError, reasonOf } from "../errors.ts";
import type { PendingCall, PendingDecision, PendingQuestion } from "../pending/call.ts";
import { standingDecision, type Verdict } from "../pending/rules.ts";
import { checkContent, readForm } from "../protocol/form/index.ts";
import { type ElicitFormParams, type InputResponse, kindOf, type SamplingParams } from "../protocol/types.ts";
import type { DecisionRequest } from "./api.ts";
import type { ResolvedInboxOptions } from "./options.ts";
import { requestOf } from "./questions.ts";
import { editedResult } from "./sampling.ts";
import { viewOf } from "./view.ts";

/** What a person may decide at once; a run of the model is a stage of its own. */
export type FinalRequest = Exclude<DecisionRequest, { action: "run" }>;

export interface Decided {
  readonly action: PendingDecision["action"];
  readonly response?: InputResponse;
}

/** @throws ParleyError `already_decided` with `details.decision`, `human_timeout`, `unknown_call`. */
export function openQuestion(call: PendingCall, questionId: string): PendingQuestion {
  const standing = standingDecision(call, questionId);
  if (standing !== undefined) throw refusal({ type: "decided", decision: standing });
  if (call.state === "expired") throw refusal({ type: "expired" });
  const question = call.questions.find(({ id }) => id === questionId);
  if (question === undefined || call.state !== "waiting") throw refusal({ type: "unknown" });
  return question;
}

/** What the decision was not taken for. */
export function refusal(verdict: Exclude<Verdict, { type: "won" }>): ParleyError {
  switch (verdict.type) {
    case "decided": {
      const { decision } = verdict;
      return new ParleyError("already_decided", "This question was decided already; that decision stands.", {
        details: { decision },
      });
    }
    case "expired":
      return new ParleyError("human_timeout", "The time to answer is over. Nothing was sent.");
    case "unknown":
      return new ParleyError("unknown_call", "This question is not open any more.");
  }
}

/**
 * What is to be recorded and sent. Nothing is filled in that was not given (D22, B32).
 * @throws ParleyError `invalid_content` with `details.fields`, or `unanswerable` for what must not be agreed to.
 */
export function readDecision(
  call: PendingCall,
  question: PendingQuestion,
  request: FinalRequest,
  options: ResolvedInboxOptions,
): Decided {
  const asked = requestOf(call, question);
  const { key } = question;
  const kind = kindOf(asked);
  const { action } = request;
  const elicitation = kind === "form" || kind === "url";
  if (action === "decline" || action === "cancel") {
    if (!elicitation) throw wrong(key, `there is no ${action} for it; refuse it instead, which ends the call`);
    return { action, response: { action } };
  }
  if (action === "refuse") {
    if (elicitation) throw wrong(key, "it can be declined or cancelled; refuse is for sampling and roots");
    return { action };
  }
  const { refused } = viewOf(call, question, options);
  if (refused.length > 0) throw new ParleyError("unanswerable", `It must not be agreed to: ${refused.join("; ")}.`);
  if (kind === "sample") {
    if (action !== "send" || question.sampling?.stage !== "response") {
      throw wrong(key, "run the model first, then review its answer and send that");
    }
    const { result } = question.sampling;
    return { action: "accept", response: editedResult(key, asked.params as SamplingParams, result, request.result) };
  }
  if (action !== "accept") throw wrong(key, "send is for sampling");
  if (kind === "roots") {
    if (options.roots === undefined) throw new ParleyError("unanswerable", "No folders are configured here.");
    return { action, response: checkAnswer(key, asked, options.roots) };
  }
  if (kind === "url") return { action, response: { action } };
  const check = checkContent(readForm((asked.params as ElicitFormParams).requestedSchema), request.content);
  if (check.ok) return { action, response: { action, content: check.content } };
  const fields = Object.fromEntries(check.issues.map(({ field, reason }) => [field, reason]));
  const named = Object.entries(fields).map(([field, reason]) => `${JSON.stringify(field)}: ${reasonOf(reason)}`);
  throw new ParleyError(
    "invalid_content",
    `These answers do not fit the form: ${named.join("; ")}. Nothing was sent.`,
    {
      details: { key, fields },
    },
  );
}

function wrong(key: string, rule: string): ParleyError {
  return new ParleyError("invalid_content", `The decision on ${JSON.stringify(key)}: ${rule}.`, { details: { key } });
}
