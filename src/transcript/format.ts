/**
 * A transcript: JSON lines, the first a header. A line is written when the thing happens, so that a crash keeps what
 * was before it. States and secrets are left out unless they are kept by name (M1, F1, B35).
 */
import type { ClientCapabilities, InputRequest, InputResponse, MrtrMethod } from "../protocol/types.ts";

export const FORMAT = "mcp-parley/transcript";
export const VERSION = 1;

/** What may be kept although it is left out by default. */
export type TranscriptKeep = "state" | "secrets";
export const KEEPS: readonly TranscriptKeep[] = ["state", "secrets"];

export interface Header {
  readonly format: typeof FORMAT;
  readonly version: typeof VERSION;
  /** Milliseconds since the epoch; `at` of the other lines counts from here. */
  readonly startedAt: number;
  readonly keep: readonly TranscriptKeep[];
}

/** Stands for a `requestState`: which one of the call it was, counted from 1, and its size in UTF-8 bytes. */
export interface StateMark {
  readonly ordinal: number;
  readonly bytes: number;
  /** Only with `keep: ["state"]`. */
  readonly value?: string;
}

interface Base {
  /** Which call of the transcript, counted from 1. */
  readonly call: number;
  /** Milliseconds since the header. */
  readonly at: number;
}
interface OfRound extends Base {
  /** The leg, counted from 1 over the whole call. */
  readonly round: number;
}

export interface RecordedQuestion {
  readonly key: string;
  readonly request: InputRequest;
}

export type Line =
  | (Base & {
      readonly type: "call";
      /** The host's own name for the server. */
      readonly server: string;
      readonly method: MrtrMethod;
      /** Without `_meta`. */
      readonly params: Readonly<Record<string, unknown>>;
      readonly capabilities: ClientCapabilities;
      /** JSON pointers into `params` of what was left out. */
      readonly masked?: readonly string[];
    })
  | (OfRound & { readonly type: "leg"; readonly answered: readonly string[]; readonly state?: StateMark })
  | (OfRound & {
      readonly type: "interim";
      readonly ms: number;
      readonly questions: readonly RecordedQuestion[];
      readonly state?: StateMark;
    })
  | (OfRound & {
      readonly type: "answer";
      readonly key: string;
      readonly answer: InputResponse;
      /** Who decided, if not a person; see the `answered` event. */
      readonly by?: string;
      /** JSON pointers into `answer` of what was left out. */
      readonly masked?: readonly string[];
    })
  | (OfRound & { readonly type: "complete"; readonly ms: number; readonly result: Readonly<Record<string, unknown>> })
  | (OfRound & { readonly type: "failed"; readonly code: string; readonly message: string })
  | (OfRound & { readonly type: "aborted" })
  | (OfRound & { readonly type: "restarted" })
  | (OfRound & { readonly type: "resent"; readonly attempt: number });

/** The members of one type of line without what every line has. */
export type LineBody = Line extends infer L ? (L extends Line ? Omit<L, "call" | "at" | "round"> : never) : never;
