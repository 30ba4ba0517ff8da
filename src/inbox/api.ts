/** What the inbox and its page say to each other, as JSON. Types only. */

import type { QuestionView, Safe, SafeText, SamplingView } from "../present/index.ts";
import type { FormContent, MrtrMethod, SamplingParams, SamplingResult } from "../protocol/types.ts";

/** Times are ms since the epoch. `Safe` text is for textContent; ids and keys are for requests, never for show. */

export interface ServerItem {
  readonly id: string;
  readonly name: Safe;
  readonly status: "connecting" | "ready" | "unreachable";
  /** Why it cannot be reached. */
  readonly problem?: Safe;
  /** "Nothing more from this server": its questions are not shown and its calls are stopped. */
  readonly muted: boolean;
}

export type CallState = "sending" | "waiting" | "complete" | "failed" | "stopped" | "expired";

/** A call that the server goes on with by itself (the tasks extension). */
export interface TaskItem {
  /** `working`, `input_required`, `completed`, `failed`, `cancelled`, or a word of the server's own. */
  readonly status: Safe;
  /** What the server says of how it goes. */
  readonly message?: SafeText;
  /** When the call became a task. */
  readonly since: number;
  /** When the server lets it expire, by this host's clock; absent: never, or not known. */
  readonly endsAt?: number;
}

export interface CallItem {
  readonly id: string;
  readonly server: string;
  readonly serverName: Safe;
  readonly method: MrtrMethod;
  readonly target: Safe;
  readonly state: CallState;
  /** Open questions. */
  readonly open: number;
  readonly round: number;
  readonly startedAt: number;
  readonly changedAt: number;
  /** When the open questions expire; absent: never. */
  readonly answerBy?: number;
  /** What the call has become. In a list: while it goes on. */
  readonly task?: TaskItem;
  /** It is over here; its server is being told to cancel its task. */
  readonly ending?: boolean;
  /** It is complete, with a failure that the tool itself reports. */
  readonly isError?: boolean;
}

export interface InboxView {
  readonly servers: readonly ServerItem[];
  /** Newest change first, waiting calls before ended ones. */
  readonly calls: readonly CallItem[];
  readonly total: number;
  readonly waiting: number;
  /** Pass as ?after= for the next page. */
  readonly next?: string;
}

export type Decider = { readonly type: "person" } | { readonly type: "policy"; readonly rule: Safe };

export interface Decision {
  readonly action: "accept" | "decline" | "cancel" | "refuse";
  readonly by: Decider;
  readonly at: number;
}

/** A sampling question goes through stages; each is approved apart (S1). */
export type SamplingStage =
  | { readonly stage: "request" /** To edit. */; readonly params: SamplingParams }
  | { readonly stage: "running" }
  | { readonly stage: "response"; readonly view: SamplingView /** To edit. */; readonly result: SamplingResult }
  | { readonly stage: "failed"; readonly reason: Safe; readonly params: SamplingParams };

export interface QuestionItem {
  /** Names this question in this round; a decision is accepted for it once. */
  readonly id: string;
  readonly view: QuestionView;
  readonly decision?: Decision;
  /** Summary of what was sent, by field, masked where it must be. */
  readonly answer?: readonly { readonly label: Safe; readonly value: Safe }[];
  readonly sampling?: SamplingStage;
  /** For roots: what would be told, to be agreed to. */
  readonly roots?: readonly { readonly uri: Safe; readonly name?: Safe }[];
}

export type HistoryItem = { readonly at: number; readonly round: number } & (
  | { readonly type: "started"; readonly by: "person" | "host" }
  | { readonly type: "asked"; readonly questions: readonly Safe[] }
  | { readonly type: "decided"; readonly question: Safe; readonly action: Decision["action"]; readonly by: Decider }
  | { readonly type: "sent" }
  /** The server refused what was answered, and the call started over. */
  | { readonly type: "started_over" }
  | { readonly type: "waiting_on_server" }
  /** The server could not be reached, or did not answer. */
  | { readonly type: "unreachable" }
  | { readonly type: "resumed" }
  /** The server goes on with it as a task. */
  | { readonly type: "task" }
  /** It is over here, and its server is being told to cancel its task. */
  | { readonly type: "ending"; readonly reason: Safe }
  | { readonly type: "ended"; readonly state: CallState; readonly reason?: Safe }
);

export interface CallView extends CallItem {
  /** Changes with every change of the call. */
  readonly version: number;
  readonly arguments?: SafeText;
  readonly questions: readonly QuestionItem[];
  readonly history: readonly HistoryItem[];
  /** The final result as text to read, once complete; `isError` for a tool's own failure. */
  readonly result?: { readonly text: SafeText; readonly isError: boolean };
  /** Why it failed, and what to do about it. */
  readonly problem?: Safe;
  /** An agreed link was accepted and the server still waits: offer "check now", "keep waiting", "stop" (L9). */
  readonly waitingOnServer?: boolean;
  /**
   * The server cannot be reached. Without `at` the answers went out and no response came: they go out again by "check
   * now" only (B24).
   */
  readonly unreachable?: { /** When it is tried again by itself. */ readonly at?: number };
}

/** POST /api/calls/:call/questions/:question */
export type DecisionRequest =
  | { readonly action: "accept"; readonly content?: FormContent }
  | { readonly action: "decline" }
  | { readonly action: "cancel" }
  /** Sampling: give (edited) params to the model; then send the (edited) result; or refuse, which ends the call. */
  | { readonly action: "run"; readonly params: SamplingParams }
  | { readonly action: "send"; readonly result: SamplingResult }
  | { readonly action: "refuse" };

/** Body of every answer that is not 2xx. */
export interface Problem {
  readonly error: {
    /** "already_decided" (409), "expired" (410), "invalid_content" (422), "unknown" (404), "forbidden" (403), ... */
    readonly code: string;
    readonly message: Safe;
    /** With invalid_content: by field name. */
    readonly fields?: Readonly<Record<string, Safe>>;
    /** With already_decided: whose decision stands. */
    readonly decision?: Decision;
  };
}

export interface ToolItem {
  readonly method: MrtrMethod;
  /** The tool's or prompt's name, or the resource's uri: what is sent. */
  readonly target: string;
  readonly label: Safe;
  readonly description?: SafeText;
  readonly destructive: boolean;
  /** Argument form, when the input schema is flat enough to draw; otherwise `json` says: write the arguments as JSON. */
  readonly form?: { readonly fields: readonly import("../present/index.ts").FieldView[] };
  readonly json?: { readonly schema: SafeText };
}

/** POST /api/calls */
export interface StartRequest {
  readonly server: string;
  readonly method: MrtrMethod;
  readonly target: string;
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** First message of GET /api/session, which also sets nothing: the cookie came with the one-time link. */
export interface Session {
  /** To be sent as header `X-Parley-Csrf` with every POST. */
  readonly csrf: string;
  /** The host's clock, so that deadlines read right. */
  readonly now: number;
}

/** GET /api/events, server-sent events, each `data:` one of these. The page then fetches what it shows. */
export type InboxEvent =
  | { readonly type: "call"; readonly id: string; readonly version: number }
  | { readonly type: "servers" };

/*
Routes (all JSON but the page; all need the session cookie; POSTs need the csrf header and a same-origin Origin):
GET  /open/:token            one-time link: sets the HttpOnly, SameSite=Strict cookie, 303 to /
GET  /  /app.js  /app.css    the page, from dist/inbox/page/
GET  /api/session            Session
GET  /api/inbox?after=       InboxView
GET  /api/events             text/event-stream of InboxEvent
GET  /api/calls/:call        CallView
POST /api/calls              StartRequest -> 201 CallView
POST /api/calls/:call/questions/:question   DecisionRequest -> CallView
POST /api/calls/:call/stop   -> CallView          ends the call; a task is cancelled at its server
POST /api/calls/:call/check  -> CallView          "check now" for waitingOnServer
POST /api/servers/:server/mute  {"muted": boolean} -> InboxView
GET  /api/servers/:server/tools -> ToolItem[]
*/
