/**
 * Every error Parley throws: one base class, one code union, one table of meaning and remedy.
 *
 * A code never changes its meaning. Messages may: branch on `error.code`, not on text. No message carries a sealed
 * state, a token, a key or the content of an answer.
 */

/** code -> what it means and what to do about it. */
export const ERROR_TABLE = {
  configuration: "An option is missing or wrong. The message names it; nothing was started.",
  sdk_incompatible: "The installed MCP SDK lacks something Parley mounts on. Install a version Parley is tested with.",
  invalid_form: "A form schema cannot be sent (property and rule are named). Change the schema.",
  invalid_question: "A question is malformed (field and rule are named). Change the question.",
  duplicate_key: "Two uses of one key in one run. Give each its own key; number keys in loops.",
  nested_step: "A question or step was used inside a step's function. Put it before or after the step.",
  unawaited_question: "A flow returned without awaiting a question. Await it: nobody was asked.",
  unawaited_background: "A flow went on without awaiting flow.background(). Await it: no task was begun.",
  flow_diverged: "A run did not repeat what its journal records. Make the path stable or raise the flow's version.",
  question_unstable: "A question changed round after round. Take clocks, prices and randomness out of its text.",
  invalid_answer: "An answer stayed invalid after the allowed attempts.",
  input_declined: "A person said no. Catch it to offer an alternative; the default result says so.",
  input_cancelled: "A question was dismissed without an answer.",
  step_failed: "A step threw. The failure is recorded and is thrown again on replay.",
  step_value: "A step returned what JSON cannot carry; the path is named. Return plain JSON.",
  limit_exceeded: "A limit was passed; the message names it and the largest entry. Raise the option or keep less.",
  invalid_params: "The request's params cannot be bound to state; the rule is named. The caller gets -32602.",
  state_refused: "requestState did not verify. The caller sees one fixed refusal; the reason is on the event hook.",
  missing_capability: "The client did not declare what a question needs (-32021).",
  ledger_unavailable:
    "The ledger cannot be reached or answered too late. The call failed closed; try again when it is back.",
  tasks_unavailable:
    "The task store cannot be reached or answered too late. Nothing is known; try again when it is back.",
  task_cancelled: "The task that the call became was cancelled at its server, and has no result.",
  ticket_refused:
    "A link's ticket is unknown, used, too old, or not this person's. The page shows one message for all.",
  url_incomplete: "What a link leads to was not finished in the author's time. Offer it again, or end.",
  hold_lost: "Another delivery has taken this round over. This one stops, and gives back what the other recorded.",
  round_running: "Another delivery of this round is still running. Send the same request again later.",
  unsettled: "The flow used Parley after its round was over. Await every question and step.",
  unanswerable: "Nobody here can answer the question; it is named. Give the call a responder or an answers file.",
  model_failed: "The model that answers sampling failed; the message says how. Check its address, its key and its log.",
  rounds_exceeded: "The server still asks after the allowed rounds. The last questions are attached.",
  invalid_interim: "The server's input_required result breaks the revision's rules; the rule is named.",
  invalid_result: "The server's result cannot be read.",
  connection_lost:
    "The connection broke before the answer was there. Whether the server acted is not known: ask, or send it again.",
  leg_timeout: "One request took longer than legTimeoutMs.",
  human_timeout: "Nobody answered within humanTimeoutMs. Nothing was sent in their name.",
  total_timeout: "The whole call took longer than totalTimeoutMs.",
  aborted: "The call was aborted by its owner.",
  call_state: "The call is not in a state that allows this (already answered, finished or in flight).",
  invalid_resume: "The saved call cannot be resumed; the field is named.",
  invalid_content: "An answer does not fit the question; the field is named. Nothing was sent.",
  already_decided: "Another decision on the question came first and stands; it is attached.",
  unknown_call: "There is no such call, or no such question in it. It may be over, or forgotten.",
  server_muted: "A person wants to hear nothing more from this server. Nothing was sent.",
  store_unavailable:
    "The store of waiting calls cannot be reached or read. Nothing was decided; try again when it is back.",
  usage: "The command line, a file or a module is wrong; the message names what and how to mend it.",
} as const;

/** Stable identifier of an error; see {@link ERROR_TABLE}. */
export type ParleyErrorCode = keyof typeof ERROR_TABLE;

/** Base of all errors of this package. `details` is safe to log. */
export class ParleyError extends Error {
  readonly code: ParleyErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(
    code: ParleyErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** A person declined the question `key` (ElicitResult action "decline"). */
export class InputDeclined extends ParleyError {
  readonly key: string;
  constructor(key: string) {
    super("input_declined", `The request for "${key}" was declined.`, { details: { key } });
    this.key = key;
  }
}

/** The question `key` was dismissed without an answer (ElicitResult action "cancel"). */
export class InputCancelled extends ParleyError {
  readonly key: string;
  constructor(key: string) {
    super("input_cancelled", `The request for "${key}" was cancelled.`, { details: { key } });
    this.key = key;
  }
}

/** The answer to `key` stayed invalid after the allowed attempts; `reason` is the last complaint. */
export class InvalidAnswer extends ParleyError {
  readonly key: string;
  readonly reason: string;
  constructor(key: string, reason: string) {
    super("invalid_answer", `No valid answer to "${key}": ${reason}`, { details: { key, reason } });
    this.key = key;
    this.reason = reason;
  }
}

/** A recorded failure of step `key`. `failure` is data: class identity does not survive a round; match on its code. */
export class StepFailed extends ParleyError {
  readonly key: string;
  readonly failure: StepFailure;
  constructor(key: string, failure: StepFailure, cause?: unknown) {
    super("step_failed", `Step "${key}" failed: ${failure.message}`, { cause, details: { key, name: failure.name } });
    this.key = key;
    this.failure = failure;
  }
}

/** What of a thrown value is recorded. */
export interface StepFailure {
  readonly name: string;
  readonly message: string;
  readonly code?: string | number;
}

/** The text of whatever was thrown. It never throws: what reports a failure must not become one. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message || thrown.name : thrown);
  } catch {
    return "something was thrown that cannot be read";
  }
}

/** {@link messageOf} as a phrase to put inside another sentence. */
export function reasonOf(thrown: unknown): string {
  return messageOf(thrown).replace(/\.$/, "");
}

/** The innermost cause of what was thrown: what a person can act on is there ("connect ECONNREFUSED ..."). */
export function rootOf(thrown: unknown): Error {
  let root = thrown instanceof Error ? thrown : new Error(messageOf(thrown));
  for (let depth = 0; depth < 8; depth += 1) {
    const inner: unknown = root instanceof AggregateError ? root.errors[0] : root.cause;
    if (!(inner instanceof Error)) break;
    root = inner;
  }
  return root;
}
