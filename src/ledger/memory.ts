/** A ledger in this process's memory: for tests and for servers of one process that may forget on restart. */
import { ParleyError } from "../errors.ts";
import { createExpiryQueue } from "../store/expiry-queue.ts";
import type { Claim, ClaimRequest, Hold, Ledger } from "./contract.ts";
import { guard, unavailable } from "./guard.ts";
import { type RoundRow, standing } from "./rules.ts";

export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";

export interface MemoryLedgerOptions {
  /** Clock, in ms. Default `Date.now`. */
  readonly now?: () => number;
  /** Rounds remembered at once. A claim past it is refused: nothing unexpired is ever forgotten (B45). Default 100,000. */
  readonly maxRounds?: number;
}

/** Expired calls dropped per operation at most, so that no operation pays for all of them. */
const DROPS = 16;

interface Row extends RoundRow {
  owner: string | null;
  leaseUntil: number;
  attempt: number;
  outcome: Uint8Array | null;
  journal: Uint8Array | null;
  readonly steps: Uint8Array[];
}

interface Call {
  expiresAt: number;
  readonly rounds: Map<number, Row>;
}

/**
 * A call is remembered until the longest `keepMs` any of its rounds asked for is over.
 * @throws ParleyError `configuration` for a bad option; operations reject with it for a malformed key or duration
 */
export function memoryLedger(options: MemoryLedgerOptions = {}): Ledger {
  const now = options.now ?? Date.now;
  const maxRounds = options.maxRounds ?? 100_000;
  if (!Number.isSafeInteger(maxRounds) || maxRounds < 1)
    throw new ParleyError("configuration", "memoryLedger: option maxRounds must be a whole number, 1 or more.");
  const calls = new Map<string, Call>();
  const expiries = createExpiryQueue();
  let rounds = 0;

  /** The time of one operation, after dropping a few calls whose time is over. */
  function begin(): number {
    const time = now();
    for (let count = 0; count < DROPS; count++) {
      const name = expiries.takeDue(time);
      if (name === undefined) break;
      const call = calls.get(name);
      if (call === undefined) continue;
      if (call.expiresAt > time) {
        expiries.add(name, call.expiresAt);
        continue;
      }
      rounds -= call.rounds.size;
      calls.delete(name);
    }
    return time;
  }

  function liveCall(name: string, time: number): Call | undefined {
    const call = calls.get(name);
    if (call === undefined || call.expiresAt > time) return call;
    rounds -= call.rounds.size;
    call.rounds.clear();
    return call;
  }

  /** The row that `hold` still holds, ended or not. */
  function held({ call: name, round, owner }: Hold, time: number): { call: Call; row: Row } | undefined {
    const call = liveCall(name, time);
    const row = call?.rounds.get(round);
    return call !== undefined && row !== undefined && row.owner === owner ? { call, row } : undefined;
  }

  function running(hold: Hold, time: number): { call: Call; row: Row } | undefined {
    const found = held(hold, time);
    return found?.row.outcome === null ? found : undefined;
  }

  function keep(call: Call, until: number): void {
    call.expiresAt = Math.max(call.expiresAt, until);
  }

  function prolong({ call, row }: { call: Call; row: Row }, until: number): void {
    row.leaseUntil = until;
    keep(call, until);
  }

  function startRound(request: ClaimRequest, call: Call | undefined, time: number): Row {
    if (rounds >= maxRounds) throw unavailable("memory", "claim", `it is full (maxRounds ${maxRounds})`);
    const { answers, owner } = request;
    const row: Row = { answers, owner, leaseUntil: time, attempt: 1, outcome: null, journal: null, steps: [] };
    const home = call ?? { expiresAt: time + request.keepMs, rounds: new Map<number, Row>() };
    home.rounds.set(request.round, row);
    rounds += 1;
    if (call === undefined) {
      calls.set(request.call, home);
      expiries.add(request.call, home.expiresAt);
    }
    return row;
  }

  return guard("memory", undefined, {
    claim(request): Claim {
      const time = begin();
      const known = liveCall(request.call, time);
      const stand = standing(known?.rounds.get(request.round), request, time);
      if (stand.type === "settled") return { type: "settled", outcome: copy(stand.outcome) };
      if (stand.type !== "free") return stand;
      const row = known?.rounds.get(request.round) ?? startRound(request, known, time);
      const call = calls.get(request.call) as Call;
      row.owner = request.owner;
      row.attempt = stand.attempt;
      prolong({ call, row }, time + request.leaseMs);
      keep(call, time + request.keepMs);
      const journal = request.wantJournal ? journalBefore(call, request.round) : [];
      return { type: "won", attempt: row.attempt, steps: row.steps.map(copy), journal };
    },
    recordStep(hold, entry, leaseMs) {
      const time = begin();
      const found = running(hold, time);
      if (found === undefined) return false;
      found.row.steps.push(copy(entry));
      prolong(found, time + leaseMs);
      return true;
    },
    renew(hold, leaseMs) {
      const time = begin();
      const found = running(hold, time);
      if (found === undefined) return false;
      prolong(found, time + leaseMs);
      return true;
    },
    settle(hold, { outcome, journal, keepMs }) {
      const time = begin();
      const found = held(hold, time);
      if (found === undefined) return false;
      const { call, row } = found;
      if (row.outcome !== null) return true;
      row.outcome = copy(outcome);
      row.journal = journal === undefined ? null : copy(journal);
      keep(call, time + keepMs);
      return true;
    },
    release(hold) {
      const found = running(hold, begin());
      if (found !== undefined) found.row.owner = null;
    },
    async close() {
      calls.clear();
    },
  });
}

function journalBefore(call: Call, round: number): Uint8Array[] {
  return [...call.rounds]
    .filter(([number, row]) => number < round && row.journal !== null)
    .sort(([a], [b]) => a - b)
    .map(([, row]) => copy(row.journal as Uint8Array));
}

/** What was stored is the ledger's own: nobody who holds the bytes can change them afterwards. */
function copy(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}
