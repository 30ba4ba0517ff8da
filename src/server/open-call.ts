import { createHash } from "node:crypto";
import { decodeState } from "../journal/codec.ts";
import type { CallState } from "../journal/entry.ts";
import { callIdIn } from "../protocol/call-id.ts";
import type { Binding } from "../state/index.ts";
import { bindingDigest } from "../state/index.ts";
import type { ResolvedOptions } from "./options.ts";
import { stateRefused } from "./refusals.ts";
import type { RoundRequest, ServedFlow } from "./request.ts";

/** What a request says about its call, verified. */
export interface OpenedCall {
  readonly state: CallState;
  /** Digest of a journal that is kept in the ledger. */
  readonly elsewhere: string | undefined;
  /** The state was made by another version of the flow: everything is asked again. */
  readonly startedOver: boolean;
}

/** Opens the state, or begins a call. Refuses with one answer whatever is wrong (C3); the event says what. */
export function openCall(
  flow: ServedFlow<unknown>,
  request: RoundRequest,
  binding: Binding,
  options: ResolvedOptions,
): OpenedCall {
  if (request.requestState === undefined) {
    return { state: blank(newCallId(request, binding, options), 0), elsewhere: undefined, startedOver: false };
  }
  const scope = { method: request.method, target: request.target };
  const opened = options.sealer.open(request.requestState, binding);
  const decoded = opened.ok ? decodeState(opened.payload) : undefined;
  const homeless = decoded?.elsewhere !== undefined && options.ledger === undefined;
  if (decoded === undefined || homeless) {
    options.onEvent({ type: "state_refused", ...scope, reason: opened.ok ? "unreadable" : opened.reason });
    throw stateRefused();
  }
  const { state, elsewhere } = decoded;
  if (state.version === flow.version) return { state, elsewhere, startedOver: false };
  // The call id stays: what the old version did keeps its idempotency keys.
  options.onEvent({ type: "started_over", ...scope, callId: state.callId });
  return { state: blank(state.callId, state.round), elsewhere: undefined, startedOver: true };
}

function blank(callId: string, round: number): CallState {
  return { callId, round, journal: [], pending: [] };
}

/** A client that names its call can send its first request again; the name counts for that caller and request only. */
function newCallId(request: RoundRequest, binding: Binding, options: ResolvedOptions): string {
  const named = callIdIn((request.params as { _meta?: unknown })._meta);
  if (named === undefined) return options.random(16).toString("base64url");
  return createHash("sha256").update(bindingDigest(binding)).update(named).digest().toString("base64url", 0, 16);
}
