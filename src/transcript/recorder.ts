import { CLIENT_CAPABILITIES_META_KEY } from "@modelcontextprotocol/client";
import type { CallContent, CallEvent, Recorder } from "../calls/events.ts";
import { messageOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import type { ClientCapabilities, InputRequest, InputResponse } from "../protocol/types.ts";
import {
  FORMAT,
  type Header,
  type Line,
  type LineBody,
  type StateMark,
  type TranscriptKeep,
  VERSION,
} from "./format.ts";
import { Masker } from "./mask.ts";

export interface RecorderOptions {
  /** What to keep although it is left out by default: `requestState`s, secret-looking fields. Default: nothing. */
  readonly keep?: readonly TranscriptKeep[];
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly now?: () => number;
}

/** A state shorter than this may be a word like any other ("1"); a longer one is taken out wherever it is repeated. */
const TELLING_STATE = 16;

/** One call on its way. */
interface Recorded {
  readonly call: number;
  readonly masker: Masker;
  readonly states: Map<string, number>;
  requests: ReadonlyMap<string, InputRequest>;
  /** A line of it could not be made: what would come after it could not be read without. */
  lost: boolean;
}

/** Makes lines of what happens and hands each to `write`, the header first. Any number of calls at a time. */
export function lineRecorder(write: (line: Header | Line) => void, options: RecorderOptions = {}): Recorder {
  const { keep = [], now = Date.now } = options;
  const startedAt = now();
  const calls = new Map<string, Recorded>();
  let count = 0;
  write({ format: FORMAT, version: VERSION, startedAt, keep });

  const begin = (event: CallEvent, { params = {}, requests = new Map() }: CallContent): Recorded => {
    count += 1;
    const { server, method } = event;
    const masker = new Masker(keep.includes("secrets"));
    const recorded: Recorded = { call: count, masker, states: new Map(), requests: new Map(), lost: false };
    calls.set(event.callId, recorded);
    const { inputResponses, requestState: _, ...own } = params;
    // A resumed call: what it was told before is not to be repeated either.
    for (const [key, answer] of Object.entries(isObject(inputResponses) ? inputResponses : {})) {
      const request = requests.get(key);
      if (request !== undefined) masker.answer(request, answer as InputResponse);
    }
    const { value, masked } = masker.params(own);
    const at = now() - startedAt;
    const capabilities = capabilitiesIn(params["_meta"]);
    write({ type: "call", call: count, at, server, method, params: value, capabilities, ...maskedOf(masked) });
    return recorded;
  };

  const markOf = ({ states, masker }: Recorded, state: unknown): { state?: StateMark } => {
    if (typeof state !== "string") return {};
    const ordinal = states.get(state) ?? states.size + 1;
    states.set(state, ordinal);
    const kept = keep.includes("state");
    if (!kept && state.length >= TELLING_STATE) masker.hide(state);
    return { state: { ordinal, bytes: Buffer.byteLength(state), ...(kept && { value: state }) } };
  };

  const bodyOf = (recorded: Recorded, event: CallEvent, content: CallContent): LineBody | undefined => {
    const { masker } = recorded;
    switch (event.type) {
      case "leg":
        return {
          type: "leg",
          answered: masker.scrub(event.answered),
          ...markOf(recorded, content.params?.["requestState"]),
        };
      case "interim": {
        const state = markOf(recorded, content.requestState);
        recorded.requests = content.requests ?? new Map();
        // All are looked at before any is written: one may repeat what another gives away.
        for (const request of recorded.requests.values()) masker.question(request);
        // Keys are the server's words as well.
        const questions = [...recorded.requests].map(([key, request]) => ({
          key: masker.scrub(key),
          request: masker.question(request),
        }));
        return { type: "interim", ms: event.ms, questions, ...state };
      }
      case "answered": {
        const request = recorded.requests.get(event.key);
        if (request === undefined || content.answer === undefined) return undefined;
        const { value, masked } = masker.answer(request, content.answer);
        const by = event.by === undefined ? {} : { by: event.by };
        return { type: "answer", key: masker.scrub(event.key), answer: value, ...by, ...maskedOf(masked) };
      }
      case "complete": {
        const { _meta: _, resultType: __, ...result } = content.result ?? {};
        return { type: "complete", ms: event.ms, result: masker.scrub(result) };
      }
      case "failed":
        return { type: "failed", code: event.code, message: masker.scrub(messageOf(content.error)) };
      case "aborted":
      case "restarted":
        return { type: event.type };
      case "resent":
        return { type: "resent", attempt: event.attempt };
      default:
        return undefined;
    }
  };

  return {
    record(event, content) {
      const known = calls.get(event.callId);
      // A call that fails before its first leg has nothing to tell.
      if (known === undefined && event.type !== "leg") return;
      const recorded = known ?? begin(event, content);
      const { call } = recorded;
      try {
        const body = recorded.lost ? undefined : bodyOf(recorded, event, content);
        if (body !== undefined) write({ call, round: event.round, at: now() - startedAt, ...body } as Line);
      } catch (error) {
        recorded.lost = true;
        throw error;
      } finally {
        if (event.type === "complete" || event.type === "failed" || event.type === "aborted") {
          calls.delete(event.callId);
        }
      }
    },
  };
}

function maskedOf(masked: readonly string[]): { masked?: readonly string[] } {
  return masked.length > 0 ? { masked } : {};
}

function capabilitiesIn(meta: unknown): ClientCapabilities {
  const declared = isObject(meta) ? meta[CLIENT_CAPABILITIES_META_KEY] : undefined;
  return isObject(declared) ? declared : {};
}
