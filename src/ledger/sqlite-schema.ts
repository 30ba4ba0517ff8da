/** Tables of the SQLite ledger, their versions, and the statements prepared once. */

import type { SqliteSchema } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";

/**
 * Rounds have row ids because a row grows by its outcome: in the tree of a key it would leave room for few others.
 * There is no index of expiries: pages are what a commit writes, and each index is one more.
 */
const migrations = [
  `
  CREATE TABLE parley_rounds (
    call TEXT NOT NULL,
    round INTEGER NOT NULL,
    answers TEXT NOT NULL,
    owner TEXT,
    lease_until INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome BLOB,
    journal BLOB,
    PRIMARY KEY (call, round)
  ) STRICT;
  CREATE TABLE parley_steps (
    call TEXT NOT NULL,
    round INTEGER NOT NULL,
    step INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (call, round, step)
  ) WITHOUT ROWID, STRICT;
  `,
];

export const SCHEMA: SqliteSchema = { store: "sqliteLedger", row: "schema", migrations };

export function prepare(database: SqliteDatabase) {
  return {
    round: database.prepare(
      `SELECT expires_at AS expiresAt, answers, owner, lease_until AS leaseUntil, attempt, outcome
       FROM parley_rounds WHERE call = @call AND round = @round`,
    ),
    /** Alone: the whole of a claim where the round is new. */
    startRound: database.prepare(
      `INSERT INTO parley_rounds (call, round, answers, owner, lease_until, expires_at, attempt)
       VALUES (?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING`,
    ),
    takeRound: database.prepare(
      `UPDATE parley_rounds SET owner = @owner, lease_until = @leaseUntil, attempt = @attempt, expires_at = @expiresAt
       WHERE call = @call AND round = @round`,
    ),
    /** Every round of the call that has not expired and would before @least. */
    keepCall: database.prepare(
      "UPDATE parley_rounds SET expires_at = @until WHERE call = @call AND expires_at > @time AND expires_at < @least",
    ),
    renew: database.prepare("UPDATE parley_rounds SET lease_until = @leaseUntil WHERE call = @call AND round = @round"),
    /** Alone: the whole of a settle where every round of the call stays long enough anyway. */
    quickSettle: database.prepare(
      `UPDATE parley_rounds SET outcome = ?, journal = ?
       WHERE call = ? AND round = ? AND owner = ? AND outcome IS NULL
         AND NOT EXISTS (SELECT 1 FROM parley_rounds WHERE call = ? AND expires_at < ?)`,
    ),
    settle: database.prepare(
      "UPDATE parley_rounds SET outcome = @outcome, journal = @journal WHERE call = @call AND round = @round",
    ),
    release: database.prepare("UPDATE parley_rounds SET owner = NULL WHERE call = @call AND round = @round"),
    addStep: database.prepare(
      `INSERT INTO parley_steps (call, round, step, entry) VALUES (@call, @round,
       (SELECT COALESCE(MAX(step), 0) + 1 FROM parley_steps WHERE call = @call AND round = @round), @entry)`,
    ),
    steps: database
      .prepare("SELECT entry FROM parley_steps WHERE call = @call AND round = @round ORDER BY step")
      .pluck(),
    journal: database
      .prepare(
        `SELECT journal FROM parley_rounds
         WHERE call = @call AND round < @round AND journal IS NOT NULL AND expires_at > @time ORDER BY round`,
      )
      .pluck(),
    /** Rounds in the order in which they came, which is about the order in which they go: where the next `count` end. */
    sweepUpTo: database
      .prepare("SELECT rowid FROM parley_rounds WHERE rowid > @after ORDER BY rowid LIMIT 1 OFFSET @count - 1")
      .pluck(),
    expired: database.prepare(
      "SELECT call, round FROM parley_rounds WHERE rowid > @after AND rowid <= @upTo AND expires_at <= @time",
    ),
    dropSteps: database.prepare("DELETE FROM parley_steps WHERE call = @call AND round = @round"),
    dropRound: database.prepare("DELETE FROM parley_rounds WHERE call = @call AND round = @round"),
  };
}
