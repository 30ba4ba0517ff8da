import type { ParleyError } from "../errors.ts";
import type { Entry, Pending, StepEntry } from "../journal/entry.ts";
import type { ClientCapabilities, InputRequests, Json } from "../protocol/types.ts";
import type { RunSignal } from "./signal.ts";

/** What the engine needs from outside: it does no I/O, reads no clock and imports no runtime. */
export interface Deps {
  /** A collision-resistant digest of a question as it is put. */
  digest(question: Json): string;
  /** A value that is the same for this step of this call on every replay, delivery and replica. */
  idempotencyKey(stepKey: string): string;
  /** Calls back once the microtasks that are queued now have run. */
  afterMicrotasks(callback: () => void): void;
  /** Calls back after one turn of the event loop. */
  turn(callback: () => void): void;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Runs a step's function so that {@link currentStep} answers inside it, across its awaits. */
  insideStep<T>(key: string, run: () => T | Promise<T>): Promise<T>;
  /** The step whose function is running here, if there is one. */
  currentStep(): string | undefined;
  /** Wall clock in ms: how long a wait has lasted over several rounds. */
  now(): number;
}

export interface Limits {
  /** Invalid answers to one question before `InvalidAnswer`. */
  readonly attempts: number;
  /** Changes of one question's text before `question_unstable`. */
  readonly changes: number;
  /** Questions in one round. */
  readonly questions: number;
  /** How long a recorded entry may take to be asked for again while others wait for it. */
  readonly divergenceGraceMs: number;
}

/** What the engine tells an observer. Never an answer, never a step's value. */
export type RunEvent =
  | { readonly type: "stray"; readonly key: string; readonly operation: "question" | "step" | "wait" | "background" }
  | { readonly type: "unawaited_step" | "unawaited_question"; readonly key: string }
  | {
      readonly type: "asked_again";
      readonly key: string;
      readonly reason: "changed" | "invalid";
      readonly detail?: string;
    };

/**
 * What becomes of `flow.background()` in this run: the rest of the call can be handed over; it cannot, because the client
 * did not declare the extension on this request (H3) or because nothing runs tasks of this kind; or this is the task.
 */
export type BackgroundPlace = "available" | "undeclared" | "unsupported" | "here";

/** How a task is handed over. */
export interface BackgroundOptions {
  /** How long the task lives from its beginning, in ms; then it fails as expired (H20). Default: the server's. */
  readonly ttlMs?: number;
  /** How often a client should look, in ms (H19). Default: the server's. */
  readonly pollIntervalMs?: number;
  /**
   * What to do for a client that did not declare the extension, or where nothing runs tasks: `"refuse"` the call (-32021,
   * H5), or go on in the `"foreground"`, round by round. Default `"refuse"`.
   */
  readonly otherwise?: "refuse" | "foreground";
}

export interface RunInput {
  readonly journal: readonly Entry[];
  readonly pending: readonly Pending[];
  readonly responses: Readonly<Record<string, unknown>>;
  /** What this request's client declared; `undefined` leaves the check to the transport (the 2025 era). */
  readonly capabilities: ClientCapabilities | undefined;
  readonly limits: Limits;
  readonly signal: RunSignal;
  /** Default `unsupported`. */
  readonly background?: BackgroundPlace;
  /** Longest time one run may spend on a wait, in ms, whatever the flow allows. Default: the flow's word counts. */
  readonly longestWaitMs?: number;
  /** With a record of steps kept elsewhere: what earlier attempts at this very round finished, and where to write. */
  readonly record?: StepRecord;
  /** With questions that are put while the run goes on. Their answers are recorded as steps are, so `record` is there. */
  readonly live?: LiveQuestions;
  /** `every-step` runs the flow again from the top after every entry that settles: any flow must end the same. */
  readonly replay: "when-needed" | "every-step";
  onEvent(event: RunEvent): void;
}

/**
 * Questions that can be seen and answered while their run goes on: a task's. A round is answered once, and with all its
 * answers at once, so it has none of this.
 */
export interface LiveQuestions {
  /** What is out, and the answers to it so far, by the flow's own keys. */
  readonly pending: readonly Pending[];
  readonly responses: Readonly<Record<string, unknown>>;
  /** Shows all that is open, once it is on record under which keys. Rejects when it cannot; then the run fails. */
  show(asking: Pick<RunOutcome<never> & { kind: "asking" }, "requests" | "pending">): Promise<void>;
  /** Calls back with answers that come, each once, until the returned function is called. */
  listen(onAnswers: (responses: Readonly<Record<string, unknown>>) => void): () => void;
}

/** A round's entries, kept outside the state until the round ends, so that another attempt need not repeat its steps. */
export interface StepRecord {
  /** What earlier attempts at this round recorded, in order: replayed as the journal is. */
  readonly entries: readonly Entry[];
  /** Steps that an earlier attempt finished and did not hand to the flow: taken as the result, and not run again. */
  readonly finished: ReadonlyMap<string, StepEntry>;
  /** Whether the round is still this attempt's. Asked before a step starts. */
  isHeld(): boolean;
  /** Writes what of `journal` is not on record, before the flow goes on. Rejects when it cannot; then the run fails. */
  write(journal: readonly Entry[]): Promise<void>;
}

export type RunOutcome<R> =
  | { readonly kind: "returned"; readonly value: R }
  | { readonly kind: "threw"; readonly error: unknown }
  /** The flow cannot go on without answers. */
  | {
      readonly kind: "asking";
      readonly requests: InputRequests;
      readonly journal: Entry[];
      readonly pending: Pending[];
    }
  /** The flow waits for nothing but to be handed over; the hand-over is on record in `journal`. */
  | {
      readonly kind: "background";
      readonly options: BackgroundOptions;
      readonly journal: Entry[];
      readonly pending: readonly Pending[];
    }
  | { readonly kind: "missing_capability"; readonly required: ClientCapabilities }
  /** The flow broke a rule of replay; nothing it returned counts. */
  | { readonly kind: "failed"; readonly error: ParleyError }
  | { readonly kind: "aborted" }
  /** With `every-step`: something settled; run again from the top with this journal. */
  | { readonly kind: "settled"; readonly journal: Entry[] };

/** A step's retries: how often it is tried in all, and how long it waits between tries. */
export interface RetryOptions {
  /** Tries in all. Default 1. */
  readonly attempts?: number;
  /** Wait before the second try, in milliseconds. Default 200. */
  readonly delayMs?: number;
  /** Growth of the wait. Default 2. */
  readonly factor?: number;
}

/** Something that ends elsewhere: looked at in every round until it is done or the time is up. */
export interface WaitOptions {
  /** Whether it is done. Called again and again while the round may wait. */
  readonly until: (signal: AbortSignal) => boolean | Promise<boolean>;
  /** Time in all, over all rounds, in ms. */
  readonly waitMs: number;
  /** How long one round may wait before it answers "still waiting", in ms (E12). */
  readonly pollMs: number;
  /** Pause between two looks within a round, in ms. */
  readonly everyMs: number;
}

export interface StepContext {
  /** Stable over replays, deliveries and replicas: hand it to whatever you call, so that it happens once. */
  readonly idempotencyKey: string;
  /** 1 for the first try. */
  readonly attempt: number;
  readonly signal: AbortSignal;
}
