import { messageOf, ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { largestEntries } from "../journal/codec.ts";
import type { CallState } from "../journal/entry.ts";
import type { MrtrMethod } from "../protocol/types.ts";
import type { RoundOutcome } from "../replay/round.ts";
import type { RunSignal } from "../replay/signal.ts";
import type { Binding } from "../state/index.ts";
import type { Delivery } from "./delivery.ts";
import { placeJournal } from "./journal-store.ts";
import type { OpenedCall } from "./open-call.ts";
import type { ResolvedOptions } from "./options.ts";
import { endedByPerson, missingCapability, serverFault } from "./refusals.ts";

export interface RoundScope {
  readonly method: MrtrMethod;
  readonly target: string;
  readonly binding: Binding;
  readonly version: string | undefined;
  readonly signal: RunSignal;
}

/** How a round ended. `chunk` is what of the journal goes into the ledger; `unfinished`: nothing may be recorded. */
export interface Concluded {
  readonly delivery: Delivery;
  readonly chunk?: string;
  readonly unfinished?: true;
}

/** Turns the engine's outcome into what the request is answered with, and reports it. */
export function conclude<R>(
  outcome: Exclude<RoundOutcome<R>, { kind: "background" }>,
  call: OpenedCall,
  scope: RoundScope,
  options: ResolvedOptions,
): Concluded {
  const { method, target } = scope;
  const { callId, round } = call.state;
  const report = (ended: "asking" | "complete", questions: string[] = [], stateBytes = 0) =>
    options.onEvent({ type: "round", method, target, callId, round, outcome: ended, questions, stateBytes });
  const fail = (error: unknown) => {
    const message = messageOf(error);
    const told = error instanceof ParleyError ? { code: error.code, message } : { message };
    const none = { questions: [], stateBytes: 0 };
    options.onEvent({ type: "round", method, target, callId, round, outcome: "error", ...none, error: told });
  };
  const fault = (error: ParleyError): Concluded => {
    fail(error);
    return failed(error);
  };
  switch (outcome.kind) {
    case "returned":
      if (!isObject(outcome.value)) {
        return fault(returnedNothing(target));
      }
      if (outcome.value["resultType"] === "input_required") {
        return fault(handMade());
      }
      report("complete");
      return { delivery: { type: "result", value: outcome.value } };
    case "asking":
      return ask(outcome, call, scope, options, report, fault);
    case "threw": {
      const ended = endedByPerson(method, outcome.error);
      if (ended === undefined) fail(outcome.error);
      else report("complete");
      return { delivery: ended ?? { type: "threw", error: outcome.error } };
    }
    case "missing_capability": {
      const error = missingCapability(outcome.required);
      fail(error);
      return { delivery: { type: "fault", error }, unfinished: true };
    }
    case "failed":
      return fault(outcome.error);
    case "aborted":
      return { delivery: { type: "threw", error: scope.signal.reason }, unfinished: true };
  }
}

function ask(
  outcome: RoundOutcome<unknown> & { kind: "asking" },
  { state: before, elsewhere }: OpenedCall,
  { binding, version }: RoundScope,
  options: ResolvedOptions,
  report: (ended: "asking", questions: string[], stateBytes: number) => void,
  fault: (error: ParleyError) => Concluded,
): Concluded {
  const { requests: inputRequests, journal, pending } = outcome;
  const questions = Object.keys(inputRequests);
  // Waiting is not asking, and a call that has asked as often as it may can still be answered.
  if (questions.length > 0 && before.round - (before.polls ?? 0) >= options.rounds) {
    return fault(tooManyRounds(options.rounds));
  }
  const polls = (before.polls ?? 0) + (questions.length === 0 ? 1 : 0);
  const state: CallState = {
    callId: before.callId,
    round: before.round + 1,
    ...(polls > 0 && { polls }),
    ...(version !== undefined && { version }),
    journal,
    pending,
  };
  const placed = placeJournal(state, { journal: before.journal, inLedger: elsewhere !== undefined }, options.ledger);
  const sealed = seal(placed.payload, state, binding, options);
  if (typeof sealed !== "string") return fault(sealed);
  report("asking", questions, sealed.length);
  const asked = questions.length > 0 ? { inputRequests } : {};
  return {
    delivery: { type: "interim", value: { resultType: "input_required", ...asked, requestState: sealed } },
    ...(placed.chunk !== undefined && { chunk: placed.chunk }),
  };
}

export function returnedNothing(target: string): ParleyError {
  const message = `"${target}" returned no result object. A tool returns { content: [...] }, a prompt { messages }, a resource { contents }.`;
  return new ParleyError("invalid_result", message, { details: { target } });
}

function handMade(): ParleyError {
  const message =
    "A flow returned an input_required result of its own making. Ask through flow: its state is sealed and checked.";
  return new ParleyError("invalid_question", message);
}

export function tooManyRounds(limit: number): ParleyError {
  const message = `This call has asked ${limit} times; the limit is ${limit} (limits.rounds). Ask more at once, or raise it.`;
  return new ParleyError("limit_exceeded", message, { details: { limit } });
}

/** What another attempt may put right must not be recorded as the round's end. */
function failed(error: ParleyError): Concluded {
  const transient = error.code === "ledger_unavailable" || error.code === "hold_lost";
  return { delivery: { type: "fault", error: serverFault(error) }, ...(transient && { unfinished: true }) };
}

function seal(payload: string, state: CallState, binding: Binding, options: ResolvedOptions): string | ParleyError {
  try {
    return options.sealer.seal(payload, binding);
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "limit_exceeded") throw error;
    const [largest] = largestEntries(state);
    const hint = largest === undefined ? "" : ` The largest entry is "${largest.key}" with ${largest.bytes} bytes.`;
    const message = `${error.message}${hint} Keep less in steps, or raise limits.stateBytes.`;
    return new ParleyError("limit_exceeded", message, { details: { ...error.details, largest } });
  }
}
