/** A call that came back with questions: the policy is asked first, and what it leaves is put to a person. */
import { checkAnswer } from "../calls/answers.ts";
import type { Question } from "../calls/interim.ts";
import type { SavedCall } from "../calls/saved.ts";
import { messageOf } from "../errors.ts";
import type { PendingCall, PendingDecision, PendingQuestion } from "../pending/call.ts";
import { conclude, decide, withEvent } from "../pending/rules.ts";
import type { Policy } from "../policy/decision.ts";
import type { ElicitResult, InputResponse } from "../protocol/types.ts";
import { contextOf, requestOf } from "./questions.ts";

/** The call as the driver left it between two rounds; nothing is decided yet. */
export function parked(call: PendingCall, saved: SavedCall, asked: readonly Question[], at: number): PendingCall {
  const { pause: _pause, problem: _problem, answerBy: _by, claim, ...rest } = call;
  const questions = asked.map(({ key, repeated }, index): PendingQuestion => {
    return { id: `r${saved.round}-${index}`, key, repeated };
  });
  const { answerBy } = saved;
  const next: PendingCall = { ...rest, saved, round: saved.round, questions };
  if (questions.length === 0) {
    // State alone: the driver asks again by itself, so the call stays with this process.
    const paused: PendingCall = { ...next, ...(claim && { claim }), pause: { type: "state" } };
    return call.pause?.type === "state" ? paused : withEvent(paused, at, { type: "waiting_on_server" });
  }
  const waiting: PendingCall = { ...next, state: "waiting", ...(answerBy !== undefined && { answerBy }) };
  if (questions.every(({ repeated }) => repeated)) return withEvent(waiting, at, { type: "waiting_on_server" });
  return withEvent(waiting, at, { type: "asked", keys: questions.map(({ key }) => key) });
}

/**
 * Decides what the policy decides. A policy that throws, or answers what does not fit, ends the call with its rule
 * named: a person is not asked what a rule was meant to settle, and nothing is answered in anybody's name (D1).
 * A link that came back is not put to it: a rule would agree again and again, without a pause.
 */
export function consult(call: PendingCall, policy: Policy, destructive: boolean, at: number): PendingCall {
  let next = call;
  for (const question of call.questions.filter(({ repeated }) => !repeated)) {
    const { key } = question;
    const request = requestOf(call, question);
    const { signal: _signal, ...context } = contextOf(call, question);
    try {
      const verdict = policy.decide({ request, context, destructive });
      if (verdict.type === "ask") continue;
      const by = { type: "policy", rule: verdict.rule } as const;
      if (verdict.type === "fail") {
        const decision = { action: "refuse", by, at } as const;
        const told = withEvent(next, at, { type: "decided", question: question.id, key, decision });
        return conclude(told, at, "failed", `Rule “${verdict.rule}” of the policy ends the call: ${verdict.reason}`);
      }
      const response = checkAnswer(key, request, verdict.response);
      next = decide(next, question.id, { action: actionOf(response), by, at }, response).call ?? next;
    } catch (error) {
      return conclude(next, at, "failed", `The policy could not decide on “${key}”: ${messageOf(error)}`);
    }
  }
  return next;
}

function actionOf(response: InputResponse): PendingDecision["action"] {
  return "action" in response ? (response as ElicitResult).action : "accept";
}

/** The saved call, to be gone on with. The time for people is over once all of them decided. */
export function resumable({ saved }: PendingCall): unknown {
  return saved && { ...saved, answerBy: undefined };
}
