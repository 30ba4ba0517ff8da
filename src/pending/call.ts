import type { SavedCall } from "../calls/saved.ts";
import type { InputResponse, MrtrMethod, SamplingParams, SamplingResult } from "../protocol/types.ts";

/**
 * - `sending`: on its way to the server, or about to be;
 * - `waiting`: for answers to its open questions;
 * - the others are ends. `stopped`: a person ended it here; `expired`: nobody answered in time. Nothing was sent in
 *   either case.
 */
export type PendingState = "sending" | "waiting" | "complete" | "failed" | "stopped" | "expired";

/** Who decided: a person at a surface of this host, or a rule of its policy. Nobody else decides (D1). */
export type PendingDecider = { readonly type: "person" } | { readonly type: "policy"; readonly rule: string };

export interface PendingDecision {
  /** `refuse` ends the call: sampling and roots have no "no" on the wire (B21, F21). */
  readonly action: "accept" | "decline" | "cancel" | "refuse";
  readonly by: PendingDecider;
  readonly at: number;
}

/** Where a sampling question stands; request and response are approved apart (S1). */
export type PendingSampling =
  /** `until`: a run that has not reported by then is taken for lost. */
  | { readonly stage: "running"; readonly params: SamplingParams; readonly run: string; readonly until: number }
  | { readonly stage: "response"; readonly params: SamplingParams; readonly result: SamplingResult }
  | { readonly stage: "failed"; readonly params: SamplingParams; readonly reason: string };

/** The task that a call became, as it was last seen. The server's words: escape them. */
export interface PendingTask {
  /** `working`, `input_required`, `completed`, `failed`, `cancelled`, or what a later revision adds. */
  readonly status: string;
  readonly message?: string;
  /** When it became known here. */
  readonly since: number;
  /** How long it lives from its beginning, in ms; `null`: without end. Absent where the server does not say. */
  readonly ttlMs?: number | null;
}

/** A question of the present round. What was asked is in `saved.questions`, under its key. */
export interface PendingQuestion {
  /** Names the question in the call, over all rounds. */
  readonly id: string;
  readonly key: string;
  /** The same link came back after it was agreed to (E24). */
  readonly repeated: boolean;
  readonly decision?: PendingDecision;
  /** Kept until the server has it, and no longer: it may hold a secret (B35). */
  readonly response?: InputResponse;
  readonly sampling?: PendingSampling;
}

/** What happened, in order. Never an answer. */
export type PendingEvent = { readonly at: number; readonly round: number } & (
  | { readonly type: "started"; readonly by: "person" | "host" }
  | { readonly type: "asked"; readonly keys: readonly string[] }
  | { readonly type: "decided"; readonly question: string; readonly key: string; readonly decision: PendingDecision }
  | { readonly type: "sent" }
  /** The server refused what was answered, and the call started over (L13). */
  | { readonly type: "started_over" }
  | { readonly type: "waiting_on_server" }
  /** The server could not be reached, or did not answer. */
  | { readonly type: "unreachable" }
  | { readonly type: "resumed" }
  /** The server goes on with it as a task. */
  | { readonly type: "task" }
  /** It is over here, and its task is still to be cancelled at the server. */
  | { readonly type: "ending"; readonly reason: string }
  | { readonly type: "ended"; readonly state: PendingState; readonly reason?: string }
);

/** Why a call that is `sending` is not on the wire now. */
export type PendingPause =
  /** The server answered with state alone (I16): it is asked again by itself. */
  | { readonly type: "state" }
  /** The server cannot be reached: tried again at `at`. */
  | { readonly type: "unreachable"; readonly at: number }
  /** It is a task, which is looked at again at `at` (H19). */
  | { readonly type: "task"; readonly at: number }
  /** The answers went out and no response came. Whether the server acted is unknown, so a person decides (B24). */
  | { readonly type: "lost" };

/** A call over its whole life, as plain JSON. It holds the server's state and answers: keep it like a secret. */
export interface PendingCall {
  readonly id: string;
  /** The host's own name for the server. */
  readonly server: string;
  /** What the server calls itself. */
  readonly claimed?: { readonly name?: string; readonly title?: string; readonly version?: string };
  readonly method: MrtrMethod;
  /** The tool's or prompt's name, or the resource's URI. */
  readonly target: string;
  /** As they were given; `_meta` included. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly state: PendingState;
  /** Counted up by the store with every change that shows. */
  readonly version: number;
  readonly round: number;
  readonly startedAt: number;
  /** Set by the store. */
  readonly changedAt: number;
  /** When the open questions expire. */
  readonly answerBy?: number;
  /** The first request may have reached the server. */
  readonly opened?: boolean;
  /** Absent before the server's first answer, and after the end. */
  readonly saved?: SavedCall;
  readonly questions: readonly PendingQuestion[];
  readonly pause?: PendingPause;
  /** Stays after the end. */
  readonly task?: PendingTask;
  /** It is to end so, once the server was told to cancel the task (H28), or could not be. */
  readonly ending?: { readonly state: "stopped" | "failed"; readonly reason: string; readonly at: number };
  /** Which process carries it on, and until when nobody else may. */
  readonly claim?: { readonly owner: string; readonly until: number };
  readonly history: readonly PendingEvent[];
  /** Once complete: the result as text to read. */
  readonly result?: { readonly text: string; readonly isError: boolean };
  /** Why it failed, or why it does not get on. */
  readonly problem?: string;
}

export function hasEnded({ state }: Pick<PendingCall, "state">): boolean {
  return state !== "sending" && state !== "waiting";
}

export function openQuestions({ state, questions }: Pick<PendingCall, "state" | "questions">): number {
  return state === "waiting" ? questions.filter(({ decision }) => decision === undefined).length : 0;
}
