/** A waiting question with what it is about, as the driver would put it to a responder. */
import type { QuestionContext } from "../calls/responder.ts";
import type { PendingCall, PendingQuestion } from "../pending/call.ts";
import type { InputRequest } from "../protocol/types.ts";

/** Nobody takes a question off this screen: it is drawn anew from the store. */
const NEVER = new AbortController().signal;

export function requestOf(call: PendingCall, question: PendingQuestion): InputRequest {
  return call.saved?.questions[question.key] as InputRequest;
}

export function contextOf(call: PendingCall, question: Pick<PendingQuestion, "key" | "repeated">): QuestionContext {
  const { id, server, claimed, method, target, params, round } = call;
  return {
    server: { id: server, ...(claimed && { claimed }) },
    method,
    target,
    params,
    key: question.key,
    callId: id,
    round,
    signal: NEVER,
    ...(question.repeated && { repeated: true }),
    ...(call.saved?.startedOver === true && { startedOver: true }),
  };
}
