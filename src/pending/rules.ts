/** How a pending call moves, as pure functions: the stores make each step atomic, and no other code changes a call. */
import { ParleyError } from "../errors.ts";
import type { InputResponse } from "../protocol/types.ts";
import { hasEnded, type PendingCall, type PendingDecision, type PendingEvent, type PendingState } from "./call.ts";
import { type Change, dueAt } from "./contract.ts";

/** Entries kept; the first one, and the newest. */
const MAX_HISTORY = 1000;

/** What came of an attempt to decide a question. */
export type Verdict =
  | { readonly type: "won" }
  /** Somebody was first: theirs stands (D3). */
  | { readonly type: "decided"; readonly decision: PendingDecision }
  | { readonly type: "expired" }
  /** No such question, or its call is over. */
  | { readonly type: "unknown" };

type NewEvent = PendingEvent extends infer E ? (E extends PendingEvent ? Omit<E, "at" | "round"> : never) : never;

export function withEvent(call: PendingCall, at: number, event: NewEvent): PendingCall {
  const entry = { at, round: call.round, ...event } as PendingEvent;
  const [first, ...others] = call.history;
  const history = first === undefined ? [entry] : [first, ...others.slice(2 - MAX_HISTORY), entry];
  return { ...call, history };
}

/**
 * One question, one decision (D3): it counts if the question has none yet and its time is not over. The last one of a
 * round makes the call ready to go on; a `refuse` ends it (B21).
 */
export function decide(
  call: PendingCall,
  questionId: string,
  decision: PendingDecision,
  response?: InputResponse,
): Change<Verdict> {
  const standing = standingDecision(call, questionId);
  if (standing !== undefined) return { value: { type: "decided", decision: standing } };
  if (call.state === "expired") return { value: { type: "expired" } };
  const question = call.questions.find(({ id }) => id === questionId);
  if (call.state !== "waiting" || question === undefined) return { value: { type: "unknown" } };
  if (isExpired(call, decision.at)) return { call: expire(call, decision.at), value: { type: "expired" } };
  const { sampling: _over, ...rest } = question;
  const decided = { ...rest, decision, ...(response !== undefined && { response }) };
  const questions = call.questions.map((other) => (other === question ? decided : other));
  const event = { type: "decided", question: questionId, key: question.key, decision } as const;
  const next = withEvent({ ...call, questions }, decision.at, event);
  const value = { type: "won" } as const;
  if (decision.action === "refuse") {
    return {
      call: conclude(next, decision.at, "stopped", `“${question.key}” was refused; no answer was sent.`),
      value,
    };
  }
  const ready = questions.every((one) => one.decision !== undefined);
  return { call: ready ? { ...next, state: "sending" } : next, value };
}

/** The decision on a question of this round or, once that is over, of the history. */
export function standingDecision(call: PendingCall, questionId: string): PendingDecision | undefined {
  const open = call.questions.find(({ id }) => id === questionId);
  if (open !== undefined) return open.decision;
  const past = call.history.find((event) => event.type === "decided" && event.question === questionId);
  return past?.type === "decided" ? past.decision : undefined;
}

export function isExpired({ state, answerBy }: PendingCall, now: number): boolean {
  return state === "waiting" && answerBy !== undefined && answerBy <= now;
}

export function expire(call: PendingCall, at: number): PendingCall {
  const left = hasTask(call) ? " Its task may go on at the server until its own time is over." : "";
  return end(call, at, "expired", `Nobody answered in time; nothing was sent.${left}`);
}

/**
 * The end that this side wants. A call whose task still runs at the server ends once that was told (H28): it asks nobody any
 * more, and is carried on for this alone. Asked for twice, it ends at once.
 */
export function conclude(call: PendingCall, at: number, state: "stopped" | "failed", reason: string): PendingCall {
  if (!hasTask(call)) return end(call, at, state, reason);
  if (call.ending !== undefined) return end(call, at, call.ending.state, `${call.ending.reason} ${UNTOLD}`);
  const { pause: _pause, problem: _problem, answerBy: _by, ...rest } = call;
  const ending = { state, reason, at };
  return withEvent({ ...rest, state: "sending", questions: [], ending }, at, { type: "ending", reason });
}

/** How a call ended whose task could not be cancelled. */
export const UNTOLD = "The server was not told: the task may go on there.";

function hasTask({ saved }: PendingCall): boolean {
  return saved?.task !== undefined;
}

/** The end: what a call needed to go on, answers and the server's state, is forgotten. */
export function end(
  call: PendingCall,
  at: number,
  state: PendingState,
  reason?: string,
  result?: PendingCall["result"],
): PendingCall {
  if (hasEnded(call)) throw new ParleyError("call_state", `The call is ${call.state} already.`);
  const { saved: _saved, claim: _claim, pause: _pause, problem: _problem, answerBy: _by, ending: _, ...rest } = call;
  const ended: PendingCall = {
    ...rest,
    state,
    questions: [],
    ...(reason !== undefined && { problem: reason }),
    ...(result !== undefined && { result }),
  };
  return withEvent(ended, at, { type: "ended", state, ...(reason !== undefined && { reason }) });
}

/** Takes a call to carry it on, unless it is not to be, or another process has it. */
export function claim(call: PendingCall, owner: string, now: number, leaseMs: number): Change<PendingCall | undefined> {
  const takenBy = call.claim;
  const due = dueAt(call);
  if (call.state !== "sending" || due === undefined || due > now) return { value: undefined };
  // A claim that ran out was a process that is gone.
  const resumed = takenBy === undefined ? call : withEvent(call, now, { type: "resumed" });
  const mine = { ...resumed, claim: { owner, until: now + leaseMs } };
  return { call: mine, quiet: takenBy === undefined, value: mine };
}

export function isHeldBy({ state, claim }: PendingCall, owner: string): boolean {
  return state === "sending" && claim?.owner === owner;
}
