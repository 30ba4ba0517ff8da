import type { MrtrMethod } from "../protocol/types.ts";
import type { RunEvent } from "../replay/types.ts";
import type { StateRefusal } from "../state/index.ts";

/** Which request an event is about. */
export interface EventScope {
  readonly method: MrtrMethod;
  readonly target: string;
}

/**
 * What an operator may see. No event carries a sealed state, an answer, a step's value or a key.
 *
 * - `warning`: something about the set-up; said once.
 * - `state_refused`: why a `requestState` did not verify. The caller is told the same for every reason (C20).
 * - `started_over`: the state was made by another version of the flow, so the call asks again from the start.
 * - `round`: one request served.
 * - the engine's own: `asked_again`, `stray`, `unawaited_step`.
 */
export type ParleyEvent =
  | {
      readonly type: "warning";
      readonly code: WarningCode;
      readonly message: string;
      /** An option says that this is meant: reported here, and not worth a process warning. */
      readonly meant?: true;
    }
  | (EventScope & { readonly type: "state_refused"; readonly reason: StateRefusal | "unreadable" | "other_answers" })
  | (EventScope & { readonly type: "started_over"; readonly callId: string })
  | (EventScope & {
      readonly type: "round";
      readonly callId: string;
      /** 0 for the first request of a call. */
      readonly round: number;
      readonly outcome: "asking" | "complete" | "error";
      /** Keys asked in this round. */
      readonly questions: readonly string[];
      /** Size of the state sent, in bytes. */
      readonly stateBytes: number;
      /** With the outcome "error": what the caller is told, and a code where the error is one of ours. */
      readonly error?: { readonly code?: string; readonly message: string };
    })
  /** A round was delivered again and got what was recorded. */
  | (EventScope & { readonly type: "redelivered"; readonly callId: string; readonly round: number })
  /** A round whose first replica went silent was taken over. */
  | (EventScope & {
      readonly type: "taken_over";
      readonly callId: string;
      readonly round: number;
      readonly attempt: number;
    })
  /** A call goes on as a task. */
  | (EventScope & { readonly type: "task_begun"; readonly callId: string; readonly round: number })
  | (EventScope & {
      readonly type: "task_ended";
      readonly callId: string;
      readonly round: number;
      readonly status: "completed" | "failed" | "cancelled";
      /** Of a task that failed, or whose flow threw: that one has completed, with a result that says so. */
      readonly error?: { readonly message: string };
    })
  /** Tasks could not be looked for, or a run of one ended without its end being stored; it is tried again. */
  | { readonly type: "task_runner_failed"; readonly code?: string; readonly message: string }
  /** `close` waits for this many tasks that run here. */
  | { readonly type: "tasks_draining"; readonly tasks: number }
  | (EventScope & { readonly type: "ledger_unavailable"; readonly message: string })
  | (EventScope & RunEvent);

export type WarningCode = "ephemeral_key" | "anonymous_callers" | "principal_without_subject";

const DEVELOPER_EVENTS: ReadonlySet<string> = new Set(["stray", "unawaited_step", "unawaited_question"]);

/** The default observer: process warnings for what an author or operator must know, silence for the rest. */
export function warnOnly(development: boolean): (event: ParleyEvent) => void {
  const faultOf = taskFaults();
  return (event) => {
    const fault = faultOf(event);
    if (fault !== undefined) process.emitWarning(fault, "ParleyWarning");
    else if (event.type === "warning") {
      if (!event.meant) process.emitWarning(event.message, { type: "ParleyWarning", code: event.code });
    } else if (development && DEVELOPER_EVENTS.has(event.type)) {
      process.emitWarning(describe(event), "ParleyWarning");
    }
  };
}

/**
 * What must be read of tasks that failed: nobody waits for them where they run, and their callers are told to look here. A
 * store that is away fails every look: that is said once, until a task begins or ends again.
 */
export function taskFaults(): (event: ParleyEvent) => string | undefined {
  let said: string | undefined;
  return (event) => {
    if (event.type === "task_begun" || event.type === "task_ended") said = undefined;
    if (event.type === "task_ended") {
      return event.error && `${event.method} ${event.target} failed: ${event.error.message}`;
    }
    if (event.type !== "task_runner_failed" || event.message === said) return undefined;
    said = event.message;
    return `tasks cannot be run: ${event.message}`;
  };
}

function describe(event: ParleyEvent): string {
  if (event.type === "stray") {
    return `${event.target}: ${event.operation} "${event.key}" came after its round was over and was ignored. Await every question and step.`;
  }
  if (event.type === "unawaited_question") {
    return `${event.target}: the flow returned while question "${event.key}" was open, so no answer to it can matter. Await it.`;
  }
  return event.type === "unawaited_step"
    ? `${event.target}: the flow returned while step "${event.key}" was running. Its result is lost. Await it.`
    : event.type;
}
