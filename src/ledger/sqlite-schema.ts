/** Tables of the SQLite ledger, their versions, and the statements prepared once. */

import type { SqliteSchema } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";

/** Tables are without row ids because a claim then touches one page, and pages are what a commit writes. */
const migrations = [
  `
  CREATE TABLE parley_calls (
    call TEXT NOT NULL PRIMARY KEY,
    expires_at INTEGER NOT NULL
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX parley_calls_expiry ON parley_calls (expires_at);
  CREATE TABLE parley_rounds (
    call TEXT NOT NULL,
    round INTEGER NOT NULL,
    answers TEXT NOT NULL,
    owner TEXT,
    lease_until INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    outcome BLOB,
    journal BLOB,
    PRIMARY KEY (call, round)
  ) WITHOUT ROWID, STRICT;
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
    begin: database.prepare("BEGIN IMMEDIATE"),
    commit: database.prepare("COMMIT"),
    rollback: database.prepare("ROLLBACK"),
    round: database.prepare(
      `SELECT c.expires_at AS expiresAt, r.answers, r.owner, r.lease_until AS leaseUntil, r.attempt, r.outcome
       FROM parley_calls c LEFT JOIN parley_rounds r ON r.call = c.call AND r.round = @round WHERE c.call = @call`,
    ),
    startCall: database.prepare(
      "INSERT INTO parley_calls (call, expires_at) VALUES (@call, @until) ON CONFLICT DO NOTHING",
    ),
    keepCall: database.prepare("UPDATE parley_calls SET expires_at = @until WHERE call = @call"),
    startRound: database.prepare(
      `INSERT INTO parley_rounds (call, round, answers, owner, lease_until, attempt)
       VALUES (@call, @round, @answers, @owner, @leaseUntil, 1)`,
    ),
    takeRound: database.prepare(
      `UPDATE parley_rounds SET owner = @owner, lease_until = @leaseUntil, attempt = @attempt
       WHERE call = @call AND round = @round`,
    ),
    renew: database.prepare("UPDATE parley_rounds SET lease_until = @leaseUntil WHERE call = @call AND round = @round"),
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
         WHERE call = @call AND round < @round AND journal IS NOT NULL ORDER BY round`,
      )
      .pluck(),
    expired: database
      .prepare("SELECT call FROM parley_calls WHERE expires_at <= @now ORDER BY expires_at LIMIT @count")
      .pluck(),
    dropSteps: database.prepare("DELETE FROM parley_steps WHERE call = @call"),
    dropRounds: database.prepare("DELETE FROM parley_rounds WHERE call = @call"),
    dropCall: database.prepare("DELETE FROM parley_calls WHERE call = @call"),
  };
}
