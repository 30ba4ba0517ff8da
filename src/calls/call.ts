import type { CallToolResult, GetPromptResult, Progress, ReadResourceResult } from "@modelcontextprotocol/client";
import type { ClientCapabilities, InputResponse, MrtrMethod } from "../protocol/types.ts";
import type { Question } from "./interim.ts";
import type { SavedCall } from "./saved.ts";

/** Params of the three methods. `_meta` is the caller's; envelope keys and progress tokens in it are replaced. */
export interface CallParams {
  "tools/call": { name: string; arguments?: Record<string, unknown>; _meta?: Record<string, unknown> };
  "prompts/get": { name: string; arguments?: Record<string, string>; _meta?: Record<string, unknown> };
  "resources/read": { uri: string; _meta?: Record<string, unknown> };
}

/** What each method ends with: the SDK's types. */
export interface CallResults {
  "tools/call": CallToolResult;
  "prompts/get": GetPromptResult;
  "resources/read": ReadResourceResult;
}

export interface CallOptions {
  /** Ends the whole call: the leg in flight, the questions on the screen, the pause between two rounds. */
  signal?: AbortSignal;
  /** Progress of the leg in flight. It starts anew with each round (I4). */
  onProgress?: (progress: Progress, round: number) => void;
  /** Sent in `_meta` of every leg. A `traceparent` gets a new span id per leg (I15). */
  meta?: Record<string, unknown>;
  /**
   * What to declare instead of what the responders give: for a host that answers step by step. A question that is
   * then asked and that nobody answers fails the call (B40).
   */
  capabilities?: ClientCapabilities;
  /** Handed the call before its first request goes out, for a host that watches or ends it from there. */
  onOpen?: (call: Call) => void;
  /** Overrides `legTimeoutMs` of `createCalls` for this call (I10). */
  legTimeoutMs?: number;
}

/**
 * - `asking`: between two rounds (or, inside `continue`, on the way to the next);
 * - `complete`: `result` is there, a tool's own `isError` included;
 * - `failed`: the server, the protocol or a limit ended it;
 * - `aborted`: its owner did.
 */
export type CallStatus = "asking" | "complete" | "failed" | "aborted";

/** A task of the tasks extension, as a host shows it. The server's words: escape them. */
export interface TaskState {
  readonly taskId: string;
  /** `working`, `input_required`, `completed`, `failed`, `cancelled`, or what a later revision adds. */
  readonly status: string;
  readonly statusMessage?: string;
  /** How often to look, as the server said last (H19); 1000 where it does not say. */
  readonly pollIntervalMs: number;
  /** How long the task lives from its beginning, in ms; `null`: without end. Absent where the server did not say. */
  readonly ttlMs?: number | null;
}

/** One logical call over all its rounds, step by step. Made by `calls.open` and `calls.resume`. */
export interface Call<M extends MrtrMethod = MrtrMethod> {
  /** Tells this call apart in events, and names it to the server (`_meta["mcp-parley/call-id"]`): not to be guessed. */
  readonly id: string;
  readonly method: M;
  readonly status: CallStatus;
  /** Requests sent so far, resent ones aside. */
  readonly round: number;
  /** The task that the call has become, as it was last seen. */
  readonly task: TaskState | undefined;
  /** This round's questions. Empty when the call is over. */
  readonly questions: readonly Question[];
  /** Keys of this round that have no answer yet. */
  readonly unanswered: readonly string[];
  /** The final result, once `status` is `complete`. */
  readonly result: CallResults[M] | undefined;
  /**
   * Answers a question; nothing is sent before `continue`. An answer may be replaced until then (D19).
   * @throws ParleyError `invalid_content` naming the field, `call_state`, `human_timeout`.
   */
  answer(key: string, response: InputResponse): void;
  /** A person's no to a form or url (D25). Sampling and roots have no such answer (B21): abort the call instead. */
  decline(key: string): void;
  /** A person dismissed a form or url without choosing (D25). */
  cancel(key: string): void;
  /**
   * Sends this round's answers and waits until the server asks again or is done. After `leg_timeout` or a transport
   * error the call stays `asking` with its answers, and `continue` may be tried again.
   * @throws ParleyError `call_state` naming unanswered keys, `leg_timeout`, `rounds_exceeded`, `invalid_interim`,
   * `invalid_result`, `limit_exceeded`, `total_timeout`, `aborted`; the SDK's ProtocolError for an error of the
   * server; what the transport threw.
   */
  continue(): Promise<void>;
  /**
   * Lets the responders answer, round after round, until the result is there. Any error ends the call.
   * @throws as `continue`, and ParleyError `unanswerable` or `human_timeout`.
   */
  run(): Promise<CallResults[M]>;
  /**
   * Ends the call. Between two rounds nothing is sent: no request is open (B22). A task is cancelled at its server (H28):
   * the event `task_cancel` says whether the server heard of it, and `run` and `continue` reject after that, 5 s later
   * at most.
   */
  abort(reason?: unknown): void;
  /**
   * Lets go of the call: what it waits for here is dropped, a request on its way is cancelled, and a task goes on at its
   * server. Save the call first, to resume it elsewhere. Its status is `aborted` then.
   */
  leave(): void;
  /**
   * The call as plain data, for `calls.resume` in any process. It holds the server's state and the answers given so
   * far: keep it like a secret.
   * @throws ParleyError `call_state` when the call is over.
   */
  toJSON(): SavedCall;
}
