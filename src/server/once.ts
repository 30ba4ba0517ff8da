import { ParleyError } from "../errors.ts";
import type { Claim, Hold, RoundKey } from "../ledger/contract.ts";
import type { RunSignal } from "../replay/signal.ts";
import type { ResolvedLedger } from "./ledger-options.ts";
import type { Vault } from "./vault.ts";

/** Time for holds and waits; injected, so that a simulated world can own it. */
export interface HoldClock {
  /** In ms; only differences count. */
  now(): number;
  sleep(ms: number): Promise<void>;
  /** Calls back every `ms` until the returned function is called. */
  every(ms: number, callback: () => void): () => void;
}

/** A round that this delivery holds. */
export interface HeldRound {
  /** 1, or more after a take-over. */
  readonly attempt: number;
  /** Steps that earlier attempts finished, as they were written. */
  readonly steps: readonly string[];
  /** Journal chunks of earlier rounds, oldest first; empty unless asked for. */
  readonly journal: readonly string[];
  /** Fires when another delivery has taken the round over, or the client has gone. */
  readonly signal: AbortSignal;
  /** Whether the lease can still be ours. */
  isHeld(): boolean;
  /** @throws ParleyError `hold_lost`, `ledger_unavailable` */
  writeStep(text: string): Promise<void>;
}

/** How a held round ended: to be recorded, or given back unfinished (the client went away). */
export type HeldEnd =
  | { readonly type: "ended"; readonly outcome: string; readonly journal?: string; readonly keepMs: number }
  | { readonly type: "abandoned" };

/** What `serveOnce` found: the outcome, made now or recorded before. */
export type OnceResult =
  | { readonly type: "outcome"; readonly outcome: string; readonly redelivered: boolean }
  | { readonly type: "other_answers" }
  | { readonly type: "abandoned" };

export interface OnceRequest extends RoundKey {
  readonly answers: string;
  readonly keepMs: number;
  readonly wantJournal: boolean;
  /** Fires when the client has gone. */
  readonly gone: RunSignal;
}

const FIRST_LOOK_MS = 10;
const LAST_LOOK_MS = 250;

/**
 * Makes a round count once: claims it, runs it if it is ours, gives back what was recorded if it is not, and waits
 * while another delivery runs it.
 * @throws ParleyError `ledger_unavailable` (fail closed: whether the round was ours is not known), `round_running`.
 */
export async function serveOnce(
  request: OnceRequest,
  run: (held: HeldRound) => Promise<HeldEnd>,
  ledger: ResolvedLedger,
  vault: Vault,
  clock: HoldClock,
  newOwner: () => string,
): Promise<OnceResult> {
  const { call, round, answers, keepMs, wantJournal } = request;
  const { leaseMs } = ledger;
  const givesUpAt = clock.now() + ledger.waitMs;
  for (let lookMs = FIRST_LOOK_MS; ; lookMs = Math.min(2 * lookMs, LAST_LOOK_MS)) {
    const hold: Hold = { call, round, owner: newOwner() };
    const claimedAt = clock.now();
    // Written out, because spread objects cost as much as the rest of a claim.
    const claim = await ledger.store.claim({ call, round, owner: hold.owner, answers, leaseMs, keepMs, wantJournal });
    switch (claim.type) {
      case "settled":
        return { type: "outcome", outcome: vault.open(claim.outcome, hold, "outcome"), redelivered: true };
      case "other_answers":
        return { type: "other_answers" };
      case "running": {
        const left = givesUpAt - clock.now();
        if (left <= 0) throw stillRunning();
        await clock.sleep(Math.min(lookMs, left, Math.max(1, claim.leaseLeftMs)));
        break;
      }
      case "won": {
        const ended = await runHeld(hold, claim, claimedAt, run, request.gone, ledger, vault, clock);
        if (ended !== "lost") return ended;
        // Lost again past the time: a store slower than the lease must not keep us here.
        if (claimedAt >= givesUpAt) throw stillRunning();
      }
    }
  }
}

/** Runs a round under its lease. `"lost"`: somebody else has it now, and what we did here does not count. */
async function runHeld(
  hold: Hold,
  claim: Claim & { type: "won" },
  claimedAt: number,
  run: (held: HeldRound) => Promise<HeldEnd>,
  gone: RunSignal,
  { store, leaseMs }: ResolvedLedger,
  vault: Vault,
  clock: HoldClock,
): Promise<OnceResult | "lost"> {
  const stop = new AbortController();
  const leave = () => stop.abort(gone.reason);
  let lost: ParleyError | undefined;
  let leaseEndsAt = claimedAt + leaseMs;
  let ranOut = false;
  const prolong = async (keep: () => Promise<boolean>) => {
    const askedAt = clock.now();
    if (await keep()) leaseEndsAt = askedAt + leaseMs;
    else {
      lost ??= holdLost();
      stop.abort(lost);
    }
  };
  const stopRenewing = clock.every(leaseMs / 3, () => {
    // A renewal that fails is tried again; when none succeeds, the lease simply ends.
    prolong(() => store.renew(hold, leaseMs)).catch(() => undefined);
  });
  if (gone.aborted) leave();
  else gone.addEventListener("abort", leave, { once: true });
  try {
    const end = await run({
      attempt: claim.attempt,
      steps: claim.steps.map((step) => vault.open(step, hold, "step")),
      journal: claim.journal.map((chunk) => vault.open(chunk, ofCall(hold), "journal")),
      signal: stop.signal,
      isHeld: () => {
        ranOut ||= clock.now() >= leaseEndsAt;
        return lost === undefined && !ranOut;
      },
      writeStep: async (text) => {
        await prolong(() => store.recordStep(hold, vault.seal(text, hold, "step"), leaseMs));
        if (lost !== undefined) throw lost;
      },
    });
    if (lost !== undefined) return "lost";
    if (end.type === "abandoned") {
      await store.release(hold);
      // A lease that ran out while we slept is no answer to a client: the round is claimed anew.
      return ranOut ? "lost" : end;
    }
    const settled = await store.settle(hold, {
      outcome: vault.seal(end.outcome, hold, "outcome"),
      ...(end.journal !== undefined && { journal: vault.seal(end.journal, ofCall(hold), "journal") }),
      keepMs: end.keepMs,
    });
    return settled ? { type: "outcome", outcome: end.outcome, redelivered: false } : "lost";
  } finally {
    stopRenewing();
    gone.removeEventListener("abort", leave);
  }
}

/** Chunks are bound to their call; their order is proven by the journal's digest in the state. */
function ofCall({ call }: Hold): RoundKey {
  return { call, round: 0 };
}

function holdLost(): ParleyError {
  return new ParleyError("hold_lost", "Another delivery has taken this round over.");
}

function stillRunning(): ParleyError {
  return new ParleyError(
    "round_running",
    "Another delivery of this round is still running. Send the same request again later.",
  );
}
