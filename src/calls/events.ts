import type { InputRequest, InputResponse, MrtrMethod, QuestionKind } from "../protocol/types.ts";

/** What every event carries. `callId` tells calls in flight apart; `target` is a tool, a prompt or a URI. */
interface Base {
  readonly callId: string;
  readonly server: string;
  readonly method: MrtrMethod;
  readonly target: string;
  /** The leg this is about, counted from 1 over the whole call. */
  readonly round: number;
}

/**
 * What a call tells an observer. Never a state, never an answer, never the content of a result: keys, kinds, sizes
 * and times only, so that events may be logged.
 */
export type CallEvent = Base &
  (
    | { readonly type: "leg"; readonly answered: readonly string[]; readonly traceparent?: string }
    | { readonly type: "resent"; readonly attempt: number }
    | {
        readonly type: "interim";
        readonly questions: readonly { readonly key: string; readonly kind: QuestionKind }[];
        /** UTF-8 bytes of `requestState`; 0 without one. */
        readonly stateBytes: number;
        readonly ms: number;
      }
    | { readonly type: "question"; readonly key: string; readonly kind: QuestionKind; readonly repeated: boolean }
    | {
        readonly type: "answered";
        readonly key: string;
        readonly kind: QuestionKind;
        /** `policy:<rule>` or `answers-file` when no person was asked; absent for a person, or the host's own code (D1). */
        readonly by?: string;
      }
    /** The server goes on without this client, which looks after it from now on (H2). */
    | {
        readonly type: "task";
        readonly status: string;
        readonly statusMessage?: string;
        /** The first word after it could not be reached: the rest may be as it was. */
        readonly back?: true;
      }
    /** The call was aborted and its task with it (H28). `acknowledged`: the server heard of it; else the task may go on. */
    | { readonly type: "task_cancel"; readonly acknowledged: boolean }
    | { readonly type: "paced"; readonly ms: number }
    /** The server refused the state; the call starts over and asks again (L13). */
    | { readonly type: "restarted" }
    | { readonly type: "warning"; readonly warning: "missing_result_type" }
    | { readonly type: "complete"; readonly ms: number }
    | { readonly type: "failed"; readonly code: string }
    /** `left`: let go of, and resumed elsewhere perhaps; its task goes on. */
    | { readonly type: "aborted"; readonly left?: true }
  );

/** The members of one kind of event without what {@link Base} adds. */
export type EventBody = CallEvent extends infer E ? (E extends CallEvent ? Omit<E, keyof Base> : never) : never;

/**
 * What an event leaves out, by its type: for a transcript, never for a log. Holds states, answers and whatever people
 * typed.
 */
export interface CallContent {
  /** `leg`: the params as they are sent, retry fields and `_meta` included. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** `interim`: what is asked; `leg`: what it answers. */
  readonly requests?: ReadonlyMap<string, InputRequest>;
  /** `interim`: the state exactly as it came. */
  readonly requestState?: string;
  /** `answered`: what will be sent for the key. */
  readonly answer?: InputResponse;
  /** `complete` */
  readonly result?: Readonly<Record<string, unknown>>;
  /** `failed`: what is thrown. */
  readonly error?: unknown;
}

/** Sees all of a call; `recordTo` makes one that keeps states and secrets out of what it writes. */
export interface Recorder {
  record(event: CallEvent, content: CallContent): void;
}
