import canonicalize from "canonicalize";
import { ParleyError } from "../errors.ts";
import type { CallState } from "../journal/entry.ts";
import type { RunSignal } from "../replay/signal.ts";
import type { StepRecord } from "../replay/types.ts";
import type { Concluded } from "./conclude.ts";
import { type Delivery, readDelivery, writeDelivery } from "./delivery.ts";
import { digestFor } from "./digest.ts";
import { joinChunks } from "./journal-store.ts";
import type { ResolvedLedger } from "./ledger-options.ts";
import { type HeldEnd, type HeldRound, type OnceRequest, serveOnce } from "./once.ts";
import type { OpenedCall } from "./open-call.ts";
import type { ResolvedOptions } from "./options.ts";
import { serverFault, stateRefused } from "./refusals.ts";
import type { RoundRequest } from "./request.ts";
import { readRecords, writeRecord } from "./step-record.ts";
import { createVault, type Vault } from "./vault.ts";

type Attempt = (state: CallState, signal: RunSignal, record?: StepRecord) => Promise<Concluded>;

/** Rounds under a ledger: who runs, who waits, and who is given what was recorded. */
export class OnceServer {
  readonly #options: ResolvedOptions;
  readonly #ledger: ResolvedLedger;
  readonly #vault: Vault;

  constructor(options: ResolvedOptions, ledger: ResolvedLedger) {
    this.#options = options;
    this.#ledger = ledger;
    this.#vault = createVault(options.ring, options.random);
  }

  async serve(call: OpenedCall, request: RoundRequest, attempt: Attempt): Promise<Delivery> {
    const { state, elsewhere } = call;
    const { method, target } = request;
    const claim: OnceRequest = {
      call: ledgerCall(state.callId),
      round: state.round,
      answers: digestFor("answers", answersText(request.inputResponses)),
      keepMs: this.#options.keepMs,
      wantJournal: elsewhere !== undefined,
      gone: request.signal,
    };
    let live: Delivery | undefined;
    const run = async (held: HeldRound): Promise<HeldEnd> => {
      if (held.attempt > 1)
        this.#options.onEvent({
          type: "taken_over",
          method,
          target,
          callId: state.callId,
          round: state.round,
          attempt: held.attempt,
        });
      const concluded = await this.#attempt(call, held, request, attempt);
      live = concluded.delivery;
      if (concluded.unfinished) return { type: "abandoned" };
      const outcome = writeDelivery(concluded.delivery);
      const { chunk } = concluded;
      return { type: "ended", outcome, keepMs: this.#options.keepMs, ...(chunk !== undefined && { journal: chunk }) };
    };
    const newOwner = () => this.#options.random(16).toString("base64url");
    try {
      const served = await serveOnce(claim, run, this.#ledger, this.#vault, this.#options.holdClock, newOwner);
      switch (served.type) {
        case "other_answers":
          this.#options.onEvent({ type: "state_refused", method, target, reason: "other_answers" });
          throw stateRefused();
        case "abandoned":
          return live as Delivery;
        case "outcome":
          if (served.redelivered)
            this.#options.onEvent({ type: "redelivered", method, target, callId: state.callId, round: state.round });
          return readDelivery(served.outcome);
      }
    } catch (error) {
      return this.#unavailable(error, call, request, attempt);
    }
  }

  async #attempt(call: OpenedCall, held: HeldRound, request: RoundRequest, attempt: Attempt): Promise<Concluded> {
    const { state, elsewhere } = call;
    const journal = elsewhere === undefined ? state.journal : joinChunks(held.journal, elsewhere);
    if (journal === undefined) {
      const { method, target } = request;
      this.#options.onEvent({ type: "state_refused", method, target, reason: "unreadable" });
      return { delivery: { type: "fault", error: stateRefused() }, unfinished: true };
    }
    return attempt({ ...state, journal }, held.signal, this.#record(held, journal.length));
  }

  /** @param before Entries of the journal that are from earlier rounds. */
  #record(held: HeldRound, before: number): StepRecord {
    const { entries, finished } = readRecords(held.steps);
    let written = entries.length;
    return {
      entries,
      finished,
      isHeld: held.isHeld,
      write: async (journal) => {
        if (this.#ledger.record !== "steps") return;
        const record = { attempt: held.attempt, at: written, entries: journal.slice(before + written) };
        written = journal.length - before;
        await held.writeStep(writeRecord(record));
      },
    };
  }

  /** Fails closed unless the policy to run unrecorded was chosen by name. */
  async #unavailable(error: unknown, call: OpenedCall, request: RoundRequest, attempt: Attempt): Promise<Delivery> {
    if (!(error instanceof ParleyError)) throw error;
    const { method, target } = request;
    if (error.code === "ledger_unavailable")
      this.#options.onEvent({ type: "ledger_unavailable", method, target, message: error.message });
    const mayRun = this.#ledger.onUnavailable === "run-unrecorded" && call.elsewhere === undefined;
    if (error.code !== "ledger_unavailable" || !mayRun) return { type: "fault", error: serverFault(error) };
    return (await attempt(call.state, request.signal)).delivery;
  }
}

/** The name of a call in a ledger. */
export function ledgerCall(callId: string): string {
  return digestFor("call", callId);
}

function answersText(responses: unknown): string {
  if (responses === undefined || responses === null) return "{}";
  try {
    return canonicalize(responses) ?? "";
  } catch {
    // What has no canonical form (a lone surrogate) still has a text, and compares by it.
    return JSON.stringify(responses);
  }
}
