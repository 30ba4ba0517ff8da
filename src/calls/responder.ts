import type {
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  MrtrMethod,
  RootsResult,
  SamplingParams,
  SamplingResult,
} from "../protocol/types.ts";

/**
 * Who asks and for what: shown from the host's own configuration and from the request, never from the server's
 * prose (I1, I3).
 */
export interface QuestionContext {
  /** `id` is the host's own name for the server; `claimed` is what the server says about itself. */
  server: { id: string; claimed?: { name?: string; title?: string; version?: string } };
  method: MrtrMethod;
  /** The tool's or prompt's name, or the resource's URI. */
  target: string;
  /** The request's params as they are sent, arguments included. Frozen. */
  params: Readonly<Record<string, unknown>>;
  key: string;
  /** Tells the call apart from others of the same server: `call.id`. Absent where a host asks outside of a call. */
  callId?: string;
  /** When the question ends without an answer (`humanTimeoutMs`, `totalTimeoutMs`), in milliseconds since the epoch. */
  answerBy?: number;
  /** Which answer of the server asked this, counted from 1. */
  round: number;
  /** Fires when the call ends for any reason: take the question off the screen. */
  signal: AbortSignal;
  /** The same url under the same key came back after it was accepted: do not ask for consent again (E24). */
  repeated?: boolean;
  /** The server refused what was answered before, and the call started over (L13): say so, it was perhaps asked already. */
  startedOver?: boolean;
}

/**
 * What can answer. Only the members that exist are declared as capabilities (B17, B30). A responder that throws
 * ParleyError `aborted` ends the call as its owner would: a person left it, and nothing is sent for them (D1). Anything
 * else it throws fails the call as `unanswerable`.
 */
export interface Responders {
  form?: (params: ElicitFormParams, context: QuestionContext) => Promise<ElicitResult>;
  url?: (params: ElicitUrlParams, context: QuestionContext) => Promise<ElicitResult>;
  sample?: (params: SamplingParams, context: QuestionContext) => Promise<SamplingResult>;
  /** `sample` can serve `tools` and `toolChoice`. */
  sampleTools?: boolean;
  roots?: (context: QuestionContext) => Promise<RootsResult>;
}
