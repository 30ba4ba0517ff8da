import { hasEnded, openQuestions, type PendingCall } from "./call.ts";
import type { PendingSummary } from "./contract.ts";

export function summaryOf(call: PendingCall): PendingSummary {
  const { id, server, method, target, state, version, round, startedAt, changedAt, answerBy, task, result } = call;
  return {
    id,
    server,
    method,
    target,
    state,
    version,
    open: openQuestions(call),
    round,
    startedAt,
    changedAt,
    ...(answerBy !== undefined && state === "waiting" && { answerBy }),
    ...(task !== undefined && { task: task.status }),
    ...(result?.isError === true && { isError: true }),
  };
}

/** 0 for calls that go on, 1 for ended ones: what a list is sorted by first. */
export function rankOf(call: Pick<PendingCall, "state">): 0 | 1 {
  return hasEnded(call) ? 1 : 0;
}
