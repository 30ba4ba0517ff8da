import type { QuestionContext } from "../calls/responder.ts";
import type { InputRequest, InputResponse } from "../protocol/types.ts";

/** What a policy says of one question. `rule` names the rule of the file that said so; it is recorded as the decider. */
export type PolicyDecision =
  /** Put it to a person. Also what happens when no rule matches. */
  | { readonly type: "ask"; readonly rule?: string }
  /** Answered by the rule: accept with content, decline, a fixed sampling result or roots. */
  | { readonly type: "answer"; readonly response: InputResponse; readonly rule: string }
  /** The call fails here, with the reason; nothing is answered. */
  | { readonly type: "fail"; readonly reason: string; readonly rule: string };

export interface PolicyQuestion {
  readonly request: InputRequest;
  /** Whom and what it is about. Without the signal: a policy decides at once. */
  readonly context: Omit<QuestionContext, "signal">;
  /** What the host knows of the tool: `false` only when it is known to be read-only or not destructive. */
  readonly destructive: boolean;
}

export interface Policy {
  decide(question: PolicyQuestion): PolicyDecision;
}
