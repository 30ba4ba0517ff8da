/**
 * The ledger: the optional server-side record that makes a round count once (C8, L14).
 *
 * A store keeps rows by (call, round) and nothing readable: outcomes, steps and journals arrive sealed. It decides by
 * its own clock, so replicas' clocks do not matter. `test/contract/ledger-suite.ts` is the suite every store passes.
 */

/** Which round of which call. `call` is a digest over call id, caller and request, so two callers' ids never meet. */
export interface RoundKey {
  readonly call: string;
  /** 0 for the first request of a call. */
  readonly round: number;
}

/** One delivery's hold on a round. `owner` is unguessable and made anew for every delivery. */
export interface Hold extends RoundKey {
  readonly owner: string;
}

export interface ClaimRequest extends Hold {
  /** Digest of the answers this delivery brings. */
  readonly answers: string;
  /** How long the hold lasts without a word from its owner, in ms. */
  readonly leaseMs: number;
  /** How long the round is remembered from now on, in ms; a settle may prolong it. */
  readonly keepMs: number;
  /** Also return the journal chunks of the rounds before this one. */
  readonly wantJournal: boolean;
}

export type Claim =
  /** The round is this delivery's. `attempt` is 1 for the first; `steps` are what earlier attempts recorded, in order. */
  | {
      readonly type: "won";
      readonly attempt: number;
      readonly steps: readonly Uint8Array[];
      /** With `wantJournal`: chunks of earlier rounds, oldest first. Empty otherwise. */
      readonly journal: readonly Uint8Array[];
    }
  /** Another delivery with the same answers holds it. */
  | { readonly type: "running"; readonly leaseLeftMs: number }
  /** It has ended; `outcome` is what the settling delivery recorded, byte for byte. */
  | { readonly type: "settled"; readonly outcome: Uint8Array }
  /** The round was claimed with other answers: refused, whatever became of it. */
  | { readonly type: "other_answers" };

export interface Settlement {
  readonly outcome: Uint8Array;
  /** This round's part of the journal, when the call keeps its journal here. */
  readonly journal?: Uint8Array;
  /** Remember every round of this call at least this long from now on, in ms. */
  readonly keepMs: number;
}

/**
 * Each method is atomic, and nearly always one round trip. A method that cannot reach its store rejects, and then nothing is known:
 * the caller must treat the hold as lost, never as won.
 */
export interface Ledger {
  /**
   * First claim wins. A round that is held by nobody (lease over, or released) goes to whoever claims it next with the
   * same answers. Claiming again as the current owner (its answer was lost) wins again, and is no new attempt.
   */
  claim(request: ClaimRequest): Promise<Claim>;
  /** Appends a finished step and prolongs the lease. `false`: the hold is lost and nothing was written. */
  recordStep(hold: Hold, entry: Uint8Array, leaseMs: number): Promise<boolean>;
  /** Prolongs the lease. `false`: the hold is lost. */
  renew(hold: Hold, leaseMs: number): Promise<boolean>;
  /** Ends the round. `false`: the hold is lost and nothing was written. Settling again as the owner is `true`, unchanged. */
  settle(hold: Hold, settlement: Settlement): Promise<boolean>;
  /** Gives the round back unfinished; recorded steps stay. Does nothing when the hold is lost or the round has ended. */
  release(hold: Hold): Promise<void>;
  /** Ends what the store opened itself (not a client that was handed to it). */
  close(): Promise<void>;
}
