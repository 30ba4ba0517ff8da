/** A call that went on as a task: how it is kept between two looks, and how it ends. */
import type { TaskState } from "../calls/call.ts";
import type { SavedCall } from "../calls/saved.ts";
import type { PendingCall, PendingTask } from "../pending/call.ts";
import { withEvent } from "../pending/rules.ts";
import type { ResolvedInboxOptions } from "./options.ts";

/** Longest pause between two looks, whatever the server says. */
const MAX_PAUSE_MS = 24 * 60 * 60_000;
/** Longest words of a server that are kept with a task, in characters. */
const MAX_STATUS = 50;
const MAX_MESSAGE = 2000;

/** The call with its task as it is now. History says when it became one. */
export function withTask(call: PendingCall, state: TaskState, at: number): PendingCall {
  const task = taskOf(state, call.task?.since ?? at);
  return call.task === undefined ? withEvent({ ...call, task }, at, { type: "task" }) : { ...call, task };
}

/**
 * The call between two exchanges with a task that asks nothing now. No process holds it meanwhile: whoever is there
 * when it is due looks (H19). Answers that the task has got are forgotten, and the next look is at once.
 */
export function resting(call: PendingCall, saved: SavedCall, state: TaskState, at: number): PendingCall {
  const { pause: _pause, problem: _problem, answerBy: _by, claim: _claim, ...rest } = call;
  const answered = call.task !== undefined && call.questions.length > 0;
  const next = answered ? at : at + Math.min(state.pollIntervalMs, MAX_PAUSE_MS);
  return withTask({ ...rest, saved, round: saved.round, questions: [], pause: { type: "task", at: next } }, state, at);
}

/** Whether a look at the task of `call` brought nothing that anybody sees. */
export function isNoNews({ task, pause, questions, problem }: PendingCall, state: TaskState): boolean {
  if (task === undefined || pause?.type !== "task" || questions.length > 0 || problem !== undefined) return false;
  const now = taskOf(state, task.since);
  return task.status === now.status && task.message === now.message && task.ttlMs === now.ttlMs;
}

/** A task cannot wait longer than it lives: its questions expire with it, if that is sooner. */
export function withTaskDeadline(call: PendingCall, at: number): PendingCall {
  const { task, answerBy = Number.POSITIVE_INFINITY } = call;
  const endsAt = task && endOf(task);
  return endsAt !== undefined && endsAt > at && endsAt < answerBy ? { ...call, answerBy: endsAt } : call;
}

/** When the server lets the task expire, by this host's clock (H20). */
export function endOf({ since, ttlMs }: PendingTask): number | undefined {
  return ttlMs === undefined || ttlMs === null ? undefined : since + ttlMs;
}

/** The time that this host gives a task is over. */
export function isTooOld({ task, ending }: PendingCall, { taskTimeoutMs }: ResolvedInboxOptions, now: number): boolean {
  return task !== undefined && ending === undefined && now >= task.since + taskTimeoutMs;
}

export const TOO_OLD =
  "Its task did not end in the time that this host gives one (taskTimeoutMs), and is not looked at any more. It may go on at the server.";

/** The server knows no such task, or no more (H18). */
export function isUnknownTask(error: unknown): boolean {
  return (error as { code?: unknown }).code === -32_602;
}

export const UNKNOWN =
  "The server does not know the task any more: its time was over, or it was removed there. What it did until then stands.";
export const TOLD = "The server was told to cancel its task.";
export const OVER = "The server does not know its task any more.";
/** For how long a server that is out of reach is told again of the end that this side wants. */
export const TELL_FOR_MS = 60_000;

function taskOf({ status, statusMessage, ttlMs }: TaskState, since: number): PendingTask {
  return {
    status: status.slice(0, MAX_STATUS),
    ...(statusMessage !== undefined && { message: statusMessage.slice(0, MAX_MESSAGE) }),
    since,
    ...(ttlMs !== undefined && { ttlMs }),
  };
}
