/** Tables of the SQLite task store, their versions, and the statements prepared once. */
import type { SqliteSchema } from "../store/sqlite.ts";
import type { SqliteDatabase } from "../store/sqlite-database.ts";

const migrations = [
  `
  CREATE TABLE parley_tasks (
    id TEXT NOT NULL PRIMARY KEY,
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    head BLOB NOT NULL,
    body BLOB NOT NULL,
    note BLOB,
    phase TEXT NOT NULL,
    wake_at INTEGER NOT NULL,
    holder TEXT,
    lease_until INTEGER NOT NULL DEFAULT 0,
    attempt INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    ends_at INTEGER NOT NULL,
    drop_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX parley_tasks_ready ON parley_tasks (wake_at) WHERE phase = 'ready';
  CREATE INDEX parley_tasks_owner ON parley_tasks (owner) WHERE phase <> 'ended';
  CREATE INDEX parley_tasks_drop ON parley_tasks (drop_at);
  CREATE TABLE parley_task_steps (
    id TEXT NOT NULL,
    step INTEGER NOT NULL,
    entry BLOB NOT NULL,
    PRIMARY KEY (id, step)
  ) WITHOUT ROWID, STRICT;
  CREATE TABLE parley_task_answers (
    id TEXT NOT NULL,
    key TEXT NOT NULL,
    answer BLOB NOT NULL,
    PRIMARY KEY (id, key)
  ) WITHOUT ROWID, STRICT;
  `,
  // What runs is few: a claim looks it up once, and not for every task that is ready.
  "CREATE INDEX parley_tasks_held ON parley_tasks (owner, lease_until) WHERE holder IS NOT NULL",
];

export const SCHEMA: SqliteSchema = { store: "sqliteTasks", row: "tasks", migrations };

const HELD = "holder IS NOT NULL AND lease_until > @now";

export function prepareTasks(database: SqliteDatabase) {
  return {
    drop: database.prepare("DELETE FROM parley_tasks WHERE id = @id"),
    dropSteps: database.prepare("DELETE FROM parley_task_steps WHERE id = @id"),
    dropAnswers: database.prepare("DELETE FROM parley_task_answers WHERE id = @id"),
    expired: database.prepare("SELECT id FROM parley_tasks WHERE drop_at <= @now LIMIT @count").pluck(),
    row: database.prepare(
      `SELECT id, kind, owner, head, body, note, phase, holder, lease_until AS leaseUntil, attempt, cancelled,
       ends_at AS endsAt FROM parley_tasks WHERE id = @id AND drop_at > @now`,
    ),
    open: database
      .prepare("SELECT count(*) FROM parley_tasks WHERE owner = @owner AND phase <> 'ended' AND ends_at > @now")
      .pluck(),
    create: database.prepare(
      `INSERT INTO parley_tasks (id, kind, owner, head, body, phase, wake_at, ends_at, drop_at)
       VALUES (@id, @kind, @owner, @head, @body, 'ready', @now, @endsAt, @dropAt)`,
    ),
    answers: database.prepare("SELECT key, answer FROM parley_task_answers WHERE id = @id"),
    addAnswer: database.prepare(
      "INSERT INTO parley_task_answers (id, key, answer) VALUES (@id, @key, @answer) ON CONFLICT DO NOTHING",
    ),
    dropAnswer: database.prepare("DELETE FROM parley_task_answers WHERE id = @id AND key = @key"),
    wake: database.prepare(
      "UPDATE parley_tasks SET phase = 'ready', wake_at = @now WHERE id = @id AND phase = 'waiting'",
    ),
    ask: database.prepare("UPDATE parley_tasks SET cancelled = 1 WHERE id = @id"),
    end: database.prepare(
      "UPDATE parley_tasks SET body = @body, phase = 'ended', holder = NULL, note = NULL WHERE id = @id",
    ),
    next: database
      .prepare(
        `SELECT id FROM parley_tasks WHERE phase = 'ready' AND wake_at <= @now AND ends_at > @now
         AND NOT (${HELD}) AND kind IN (SELECT value FROM json_each(@kinds))
         AND owner NOT IN (SELECT owner FROM parley_tasks WHERE ${HELD} GROUP BY owner HAVING count(*) >= @perOwner)
         ORDER BY wake_at LIMIT 1`,
      )
      .pluck(),
    take: database.prepare(
      "UPDATE parley_tasks SET holder = @holder, lease_until = @leaseUntil, attempt = attempt + 1 WHERE id = @id",
    ),
    steps: database.prepare("SELECT entry FROM parley_task_steps WHERE id = @id ORDER BY step").pluck(),
    addStep: database.prepare(
      `INSERT INTO parley_task_steps (id, step, entry) VALUES (@id,
       (SELECT COALESCE(MAX(step), 0) + 1 FROM parley_task_steps WHERE id = @id), @entry)`,
    ),
    renew: database.prepare(
      "UPDATE parley_tasks SET lease_until = @leaseUntil, note = COALESCE(@note, note) WHERE id = @id",
    ),
    settle: database.prepare(
      `UPDATE parley_tasks SET body = @body, phase = @phase, wake_at = @wakeAt, holder = NULL, note = NULL, attempt = 0
       WHERE id = @id`,
    ),
    release: database.prepare("UPDATE parley_tasks SET holder = NULL WHERE id = @id"),
    uncount: database.prepare("UPDATE parley_tasks SET attempt = attempt - 1, wake_at = @wakeAt WHERE id = @id"),
  };
}
