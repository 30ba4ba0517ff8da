/**
 * A ledger in a SQLite file, for servers on a single machine: several processes may share it.
 *
 * A commit survives the end of the process. Under `synchronous = NORMAL` the last commits may not survive a loss of
 * power; hand in a database of your own with `synchronous = FULL` where that matters.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isBusy, openSqlite, startSqlite } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";
import { resolveTimeout, type StoreOptions } from "./checks.ts";
import type { Claim, ClaimRequest, Hold, Ledger } from "./contract.ts";
import { guard, type Late, stopIfLate } from "./guard.ts";
import { type RoundRow, standing } from "./rules.ts";
import { prepare, SCHEMA } from "./sqlite-schema.ts";

export type { SqliteDatabase, SqliteStatement } from "../store/sqlite-database.ts";
export type { StoreOptions } from "./checks.ts";
export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";

export interface SqliteLedgerOptions extends StoreOptions {
  /** Clock, in ms; processes that share the file share it. Default `Date.now`. */
  readonly now?: () => number;
}

/** A call that is known, and its round if that is. */
interface Found {
  readonly expiresAt: number;
  readonly row: RoundRow | undefined;
}

/** Claims between two sweeps, and calls that one sweep drops at most. More are dropped than come. */
const SWEEP_EVERY = 64;
const SWEEP_CALLS = 256;

/**
 * @param source A better-sqlite3 database, whose settings stay its owner's; or the path of a file to open in WAL mode
 *   (`better-sqlite3` must be installed), which `close` closes.
 * @throws ParleyError `configuration`: the package is missing, the file cannot be opened, or its schema is newer
 */
export function sqliteLedger(
  source: SqliteDatabase | { readonly path: string },
  options: SqliteLedgerOptions = {},
): Ledger {
  const timeoutMs = resolveTimeout("sqliteLedger", options.timeoutMs);
  const now = options.now ?? Date.now;
  const own = "path" in source;
  const database = own ? openSqlite(source.path, "sqliteLedger", timeoutMs) : source;
  const sql = startSqlite(database, own, SCHEMA, prepare);
  let claims = 0;

  function attempt<T>(work: (time: number) => T): T {
    sql.begin.run();
    try {
      const result = work(now());
      sql.commit.run();
      return result;
    } catch (error) {
      if (database.inTransaction) sql.rollback.run();
      throw error;
    }
  }

  /** One IMMEDIATE transaction; waits for another process's without blocking the event loop. */
  async function transaction<T>(late: Late, work: (time: number) => T): Promise<T> {
    for (let pause = 1; ; pause = Math.min(2 * pause, 25)) {
      try {
        return attempt(work);
      } catch (error) {
        if (!isBusy(error)) throw error;
      }
      await sleep(pause * (0.5 + Math.random()));
      stopIfLate(late);
    }
  }

  function find({ call, round }: { call: string; round: number }): Found | undefined {
    const row = sql.round.get({ call, round }) as (RoundRow & { expiresAt: number }) | undefined;
    if (row === undefined) return undefined;
    // The join leaves nulls where the call is known and the round is not.
    return { expiresAt: row.expiresAt, row: row.attempt === null ? undefined : row };
  }

  /** Later than asked by a quarter, so that the rounds of a quick call do not all move it. */
  function keep(call: string, expiresAt: number, time: number, ms: number): void {
    if (expiresAt < time + ms) sql.keepCall.run({ call, until: extended(time, ms) });
  }

  function prolong({ call, round }: Hold, expiresAt: number, time: number, leaseMs: number): void {
    sql.renew.run({ call, round, leaseUntil: time + leaseMs });
    keep(call, expiresAt, time, leaseMs);
  }

  function held(hold: Hold, time: number): { expiresAt: number; row: RoundRow } | undefined {
    const { expiresAt, row } = find(hold) ?? { expiresAt: 0, row: undefined };
    return expiresAt > time && row?.owner === hold.owner ? { expiresAt, row } : undefined;
  }

  function drop(call: string): void {
    sql.dropSteps.run({ call });
    sql.dropRounds.run({ call });
    sql.dropCall.run({ call });
  }

  function take(request: ClaimRequest, time: number): Claim {
    const { call, round, owner, answers, leaseMs } = request;
    const keepMs = Math.max(request.keepMs, leaseMs);
    let found = find(request);
    if (found !== undefined && found.expiresAt <= time) {
      drop(call);
      found = undefined;
    }
    const stand = standing(found?.row, request, time);
    if (stand.type !== "free") return stand;
    if (found === undefined) sql.startCall.run({ call, until: extended(time, keepMs) });
    else keep(call, found.expiresAt, time, keepMs);
    const leaseUntil = time + leaseMs;
    if (found?.row === undefined) sql.startRound.run({ call, round, answers, owner, leaseUntil });
    else sql.takeRound.run({ call, round, owner, leaseUntil, attempt: stand.attempt });
    return {
      type: "won",
      attempt: stand.attempt,
      steps: found?.row === undefined ? [] : (sql.steps.all({ call, round }) as Buffer[]),
      journal: request.wantJournal ? (sql.journal.all({ call, round }) as Buffer[]) : [],
    };
  }

  /** Old calls leave with the claims of new ones. What cannot be dropped now is dropped later. */
  function sweep(): void {
    claims += 1;
    if (claims % SWEEP_EVERY !== 1) return;
    try {
      attempt((time) => {
        for (const call of sql.expired.all({ now: time, count: SWEEP_CALLS }) as string[]) drop(call);
      });
    } catch {}
  }

  return guard("sqlite", timeoutMs, {
    async claim(request, late) {
      const claim = await transaction(late, (time) => take(request, time));
      if (claim.type === "won") sweep();
      return claim;
    },
    recordStep: (hold, entry, leaseMs, late) =>
      transaction(late, (time) => {
        const found = held(hold, time);
        if (found === undefined || found.row.outcome !== null) return false;
        sql.addStep.run({ call: hold.call, round: hold.round, entry });
        prolong(hold, found.expiresAt, time, leaseMs);
        return true;
      }),
    renew: (hold, leaseMs, late) =>
      transaction(late, (time) => {
        const found = held(hold, time);
        if (found === undefined || found.row.outcome !== null) return false;
        prolong(hold, found.expiresAt, time, leaseMs);
        return true;
      }),
    settle: ({ call, round, owner }, { outcome, journal, keepMs }, late) =>
      transaction(late, (time) => {
        const found = held({ call, round, owner }, time);
        if (found === undefined) return false;
        if (found.row.outcome !== null) return true;
        sql.settle.run({ call, round, outcome, journal: journal ?? null });
        keep(call, found.expiresAt, time, keepMs);
        return true;
      }),
    release: ({ call, round, owner }, late) =>
      transaction(late, (time) => {
        const found = held({ call, round, owner }, time);
        if (found !== undefined && found.row.outcome === null) sql.release.run({ call, round });
      }),
    async close() {
      if (own) database.close();
    },
  });
}

function extended(time: number, ms: number): number {
  return time + ms + Math.ceil(ms / 4);
}
