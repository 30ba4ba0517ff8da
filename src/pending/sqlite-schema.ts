/** Tables of the pending calls' SQLite store, their versions, and the statements prepared once. */
import type { SqliteSchema } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";

/** `call` is last: what lists and watchers read is before it, and a long value's pages are not touched. */
const migrations = [
  `
  CREATE TABLE parley_pending (
    id TEXT NOT NULL PRIMARY KEY,
    server TEXT NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL,
    rank INTEGER NOT NULL,
    version INTEGER NOT NULL,
    open INTEGER NOT NULL,
    round INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    answer_by INTEGER,
    due_at INTEGER,
    call BLOB NOT NULL
  ) STRICT;
  CREATE INDEX parley_pending_list ON parley_pending (rank, changed_at DESC, id);
  CREATE INDEX parley_pending_changes ON parley_pending (changed_at, id);
  CREATE INDEX parley_pending_due ON parley_pending (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX parley_pending_waiting ON parley_pending (id) WHERE state = 'waiting';
  CREATE TABLE parley_pending_muted (server TEXT NOT NULL PRIMARY KEY) STRICT;
  `,
  // Two columns more, before `call`: a new one can be added behind it only.
  `
  ALTER TABLE parley_pending RENAME TO parley_pending_1;
  DROP INDEX parley_pending_list;
  DROP INDEX parley_pending_changes;
  DROP INDEX parley_pending_due;
  DROP INDEX parley_pending_waiting;
  CREATE TABLE parley_pending (
    id TEXT NOT NULL PRIMARY KEY,
    server TEXT NOT NULL,
    method TEXT NOT NULL,
    target TEXT NOT NULL,
    state TEXT NOT NULL,
    rank INTEGER NOT NULL,
    version INTEGER NOT NULL,
    open INTEGER NOT NULL,
    round INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    answer_by INTEGER,
    due_at INTEGER,
    task TEXT,
    is_error INTEGER,
    call BLOB NOT NULL
  ) STRICT;
  INSERT INTO parley_pending
    SELECT id, server, method, target, state, rank, version, open, round, started_at, changed_at, answer_by, due_at,
      NULL, NULL, call
    FROM parley_pending_1;
  DROP TABLE parley_pending_1;
  CREATE INDEX parley_pending_list ON parley_pending (rank, changed_at DESC, id);
  CREATE INDEX parley_pending_changes ON parley_pending (changed_at, id);
  CREATE INDEX parley_pending_due ON parley_pending (due_at) WHERE due_at IS NOT NULL;
  CREATE INDEX parley_pending_waiting ON parley_pending (id) WHERE state = 'waiting';
  `,
];

export const SCHEMA: SqliteSchema = { store: "sqlitePending", row: "pending", migrations };

const SUMMARY =
  "id, server, method, target, state, version, open, round, started_at AS startedAt, changed_at AS changedAt, answer_by AS answerBy, task, is_error AS isError";

export function prepare(database: SqliteDatabase) {
  return {
    get: database.prepare("SELECT call, version, changed_at AS changedAt FROM parley_pending WHERE id = ?"),
    add: database.prepare(
      `INSERT INTO parley_pending VALUES (@id, @server, @method, @target, @state, @rank, @version, @open, @round,
       @startedAt, @changedAt, @answerBy, @dueAt, @task, @isError, @call)`,
    ),
    put: database.prepare(
      `UPDATE parley_pending SET state = @state, rank = @rank, version = @version, open = @open, round = @round,
       changed_at = @changedAt, answer_by = @answerBy, due_at = @dueAt, task = @task,
       is_error = @isError, call = @call WHERE id = @id`,
    ),
    count: database.prepare("SELECT COUNT(*) FROM parley_pending").pluck(),
    waiting: database.prepare("SELECT COUNT(*) FROM parley_pending WHERE state = 'waiting'").pluck(),
    first: database.prepare(
      `SELECT ${SUMMARY}, rank FROM parley_pending ORDER BY rank, changed_at DESC, id LIMIT @size`,
    ),
    /** What follows a place, as two ranges of the index: the rest of its rank, and the ranks after. */
    next: database.prepare(
      `SELECT * FROM (
         SELECT ${SUMMARY}, rank FROM parley_pending
         WHERE rank = @rank AND (changed_at < @changedAt OR (changed_at = @changedAt AND id > @id))
         ORDER BY rank, changed_at DESC, id LIMIT @size)
       UNION ALL SELECT * FROM (
         SELECT ${SUMMARY}, rank FROM parley_pending WHERE rank > @rank ORDER BY rank, changed_at DESC, id LIMIT @size)
       LIMIT @size`,
    ),
    due: database
      .prepare(
        `SELECT id FROM parley_pending WHERE due_at <= @now AND server IN (SELECT value FROM json_each(@servers))
         ORDER BY due_at LIMIT @limit`,
      )
      .pluck(),
    changes: database.prepare(
      `SELECT ${SUMMARY} FROM parley_pending WHERE changed_at >= @since ORDER BY changed_at, id LIMIT @limit`,
    ),
    forget: database.prepare(
      `DELETE FROM parley_pending WHERE id IN (
         SELECT id FROM parley_pending WHERE rank = 1 AND changed_at <= @before ORDER BY changed_at LIMIT @limit)`,
    ),
    muted: database.prepare("SELECT server FROM parley_pending_muted ORDER BY server").pluck(),
    mute: database.prepare("INSERT OR IGNORE INTO parley_pending_muted VALUES (?)"),
    unmute: database.prepare("DELETE FROM parley_pending_muted WHERE server = ?"),
  };
}
