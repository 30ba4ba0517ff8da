/**
 * A ledger in a SQLite file, for servers on a single machine: several processes may share it.
 *
 * A commit survives the end of the process. Under `synchronous = NORMAL` the last commits may not survive a loss of
 * power; hand in a database of your own with `synchronous = FULL` where that matters.
 */
import { Deadlines } from "../store/deadlines.ts";
import { type Late, stopIfLate } from "../store/operations.ts";
import { resolveTimeout, type StoreOptions } from "../store/options.ts";
import { openSqlite, patiently, startSqlite } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";
import type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";
import { guard } from "./guard.ts";
import { type RoundRow, standing } from "./rules.ts";
import { prepare, SCHEMA } from "./sqlite-schema.ts";

export type { StoreOptions } from "../store/options.ts";
export type { SqliteDatabase, SqliteStatement } from "../store/sqlite-database.ts";
export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";

export interface SqliteLedgerOptions extends StoreOptions {
  /** Clock, in ms; processes that share the file share it. Default `Date.now`. */
  readonly now?: () => number;
}

type Row = RoundRow & { readonly expiresAt: number };

/** Claims between two sweeps, and rounds that one sweep looks at. It looks at more than come. */
const SWEEP_EVERY = 64;
const SWEEP_ROUNDS = 512;

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
  const { sql, transact } = startSqlite(database, own, SCHEMA, prepare);
  let claims = 0;
  /** Sweeps go through all rounds, again and again. */
  let sweptUpTo = 0;

  const transaction = <T>(work: (time: number) => T): T => transact(() => work(now()));
  const patient = <T>(late: Late, work: () => T) => patiently(work, () => stopIfLate(late));

  /** Every round of the call: a quarter longer than asked, so that those of a quick call do not all move. */
  function keep(call: string, time: number, ms: number): void {
    sql.keepCall.run({ call, time, least: time + ms, until: extended(time, ms) });
  }

  function prolong({ call, round }: Hold, time: number, leaseMs: number): void {
    sql.renew.run({ call, round, leaseUntil: time + leaseMs });
    keep(call, time, leaseMs);
  }

  /** The row of a round that `owner` still holds, ended or not. */
  function held({ call, round, owner }: Hold, time: number): Row | undefined {
    const row = sql.round.get({ call, round }) as Row | undefined;
    return row !== undefined && row.expiresAt > time && row.owner === owner ? row : undefined;
  }

  function drop({ call, round }: RoundKey): void {
    sql.dropSteps.run({ call, round });
    sql.dropRound.run({ call, round });
  }

  /** `false`: the round is known already. */
  function isNew({ call, round, owner, answers, leaseMs, keepMs }: ClaimRequest, time: number): boolean {
    const until = extended(time, Math.max(keepMs, leaseMs));
    return sql.startRound.run(call, round, answers, owner, time + leaseMs, until).changes === 1;
  }

  function take(request: ClaimRequest, time: number): Claim {
    const { call, round, owner, leaseMs } = request;
    let row = sql.round.get({ call, round }) as Row | undefined;
    if (row !== undefined && row.expiresAt <= time) {
      drop(request);
      row = undefined;
    }
    const stand = standing(row, request, time);
    if (stand.type !== "free") return stand;
    if (row === undefined) isNew(request, time);
    else {
      const keepMs = Math.max(request.keepMs, leaseMs);
      const expiresAt = row.expiresAt < time + keepMs ? extended(time, keepMs) : row.expiresAt;
      sql.takeRound.run({ call, round, owner, leaseUntil: time + leaseMs, attempt: stand.attempt, expiresAt });
    }
    const steps = row === undefined ? [] : (sql.steps.all({ call, round }) as Buffer[]);
    return { type: "won", attempt: stand.attempt, steps, journal: journalBefore(request, time) };
  }

  function journalBefore({ call, round, wantJournal }: ClaimRequest, time: number): Buffer[] {
    return wantJournal ? (sql.journal.all({ call, round, time }) as Buffer[]) : [];
  }

  /** Old rounds leave with the claims of new ones. What cannot be dropped now is dropped later. */
  function sweep(): void {
    claims += 1;
    if (claims % SWEEP_EVERY !== 1) return;
    try {
      transaction((time) => {
        const end = sql.sweepUpTo.get({ after: sweptUpTo, count: SWEEP_ROUNDS }) as number | undefined;
        const upTo = end ?? Number.MAX_SAFE_INTEGER;
        for (const round of sql.expired.all({ after: sweptUpTo, upTo, time })) drop(round as RoundKey);
        sweptUpTo = end ?? 0;
      });
    } catch {}
  }

  function claim(request: ClaimRequest): Claim {
    const time = now();
    // One statement is a transaction of its own, and a round that nobody has claimed needs no more.
    const claimed: Claim = isNew(request, time)
      ? { type: "won", attempt: 1, steps: [], journal: journalBefore(request, time) }
      : transaction((later) => take(request, later));
    if (claimed.type === "won") sweep();
    return claimed;
  }

  function settle({ call, round, owner }: Hold, settlement: Settlement): boolean {
    const { outcome, keepMs } = settlement;
    const journal = settlement.journal ?? null;
    if (sql.quickSettle.run(outcome, journal, call, round, owner, call, now() + keepMs).changes === 1) return true;
    return transaction((time) => {
      const row = held({ call, round, owner }, time);
      if (row === undefined) return false;
      if (row.outcome !== null) return true;
      sql.settle.run({ call, round, outcome, journal });
      keep(call, time, keepMs);
      return true;
    });
  }

  /** Does something to a round that is running and held, in a transaction; `false` when it is not. */
  function whileHeld(hold: Hold, late: Late, work: (time: number) => void): boolean | Promise<boolean> {
    return patient(late, () =>
      transaction((time) => {
        if (held(hold, time)?.outcome !== null) return false;
        work(time);
        return true;
      }),
    );
  }

  return guard("sqlite", new Deadlines(timeoutMs), {
    claim: (request, late) => patient(late, () => claim(request)),
    recordStep: (hold, entry, leaseMs, late) =>
      whileHeld(hold, late, (time) => {
        sql.addStep.run({ call: hold.call, round: hold.round, entry });
        prolong(hold, time, leaseMs);
      }),
    renew: (hold, leaseMs, late) => whileHeld(hold, late, (time) => prolong(hold, time, leaseMs)),
    settle: (hold, settlement, late) => patient(late, () => settle(hold, settlement)),
    async release(hold, late) {
      await whileHeld(hold, late, () => sql.release.run({ call: hold.call, round: hold.round }));
    },
    async close() {
      if (own) database.close();
    },
  });
}

function extended(time: number, ms: number): number {
  return time + ms + Math.ceil(ms / 4);
}
