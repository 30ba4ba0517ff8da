/** What every store in a SQLite file does alike: opening, migrating, and transactions beside other processes. */
import { chmodSync, closeSync, openSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ParleyError, reasonOf } from "../errors.ts";
import { loadPeer } from "./peer.ts";
import { newerSchema } from "./schema-version.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";

/** How long a statement may block the event loop for another process's lock. Beyond it, the wait is asynchronous. */
const BUSY_MS = 5;

/** The tables of one store, in a file it may share with others. */
export interface SqliteSchema {
  /** The function that opens the store, for messages. */
  readonly store: string;
  /** The row of `parley_meta` that holds the version. Never change it. */
  readonly row: string;
  /** `migrations[n]` brings a schema of version n to n + 1. Never edit one that was released; add one. */
  readonly migrations: readonly string[];
}

/** Runs `work` as one IMMEDIATE transaction; what it throws takes everything back. */
export type Transact = <T>(work: () => T) => T;

/** Opens a file in WAL mode. @throws ParleyError `configuration` */
export function openSqlite(path: string, store: string, timeoutMs: number): SqliteDatabase {
  const Database = loadPeer("better-sqlite3", `${store}({ path })`) as new (
    path: string,
    options: { timeout: number },
  ) => SqliteDatabase;
  try {
    // The long timeout is for opening: the switch to WAL and the migration may meet another process doing the same.
    const database = new Database(path, { timeout: timeoutMs });
    switchToWal(database, timeoutMs);
    database.pragma("synchronous = NORMAL");
    return database;
  } catch (cause) {
    throw cannotOpen(store, cause);
  }
}

/**
 * A file made readable for its owner alone before anything is in it; SQLite gives its other files the same mode.
 * @throws ParleyError `configuration`
 */
export function openPrivateSqlite(path: string, store: string, timeoutMs: number): SqliteDatabase {
  if (path !== ":memory:") {
    try {
      closeSync(openSync(path, "a", 0o600));
      chmodSync(path, 0o600);
    } catch (cause) {
      throw new ParleyError("configuration", `${store}: the file cannot be opened: ${reasonOf(cause)}.`, { cause });
    }
  }
  return openSqlite(path, store, timeoutMs);
}

/**
 * Migrates the tables and prepares the statements; of a database of our own, nothing stays open when that fails.
 * @throws ParleyError `configuration`
 */
export function startSqlite<T>(
  database: SqliteDatabase,
  own: boolean,
  schema: SqliteSchema,
  prepare: (database: SqliteDatabase) => T,
): { readonly sql: T; readonly transact: Transact } {
  try {
    migrate(database, schema);
    if (own) database.pragma(`busy_timeout = ${BUSY_MS}`);
    return { sql: prepare(database), transact: transactionsOf(database) };
  } catch (cause) {
    if (own) database.close();
    throw cause instanceof ParleyError ? cause : cannotOpen(schema.store, cause);
  }
}

/** Two processes that switch a new file at once are told at once that it is locked, whatever the timeout says. */
function switchToWal(database: SqliteDatabase, timeoutMs: number): void {
  for (const until = Date.now() + timeoutMs; ; Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS)) {
    try {
      database.pragma("journal_mode = WAL");
      return;
    } catch (error) {
      if (!isBusy(error) || Date.now() >= until) throw error;
    }
  }
}

function transactionsOf(database: SqliteDatabase): Transact {
  const [begin, commit, rollback] = [
    database.prepare("BEGIN IMMEDIATE"),
    database.prepare("COMMIT"),
    database.prepare("ROLLBACK"),
  ];
  return (work) => {
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      if (database.inTransaction) rollback.run();
      throw error;
    }
  };
}

/**
 * Does `work`, and does it again while another process has the lock; between two tries the event loop goes on.
 * @param stop Called with what came of it before each new try: throws when there is to be none.
 */
export function patiently<T>(work: () => T, stop: (busy: unknown) => void): T | Promise<T> {
  try {
    return work();
  } catch (error) {
    if (!isBusy(error)) throw error;
    return tryAgain(work, stop, error);
  }
}

async function tryAgain<T>(work: () => T, stop: (busy: unknown) => void, first: unknown): Promise<T> {
  let busy = first;
  for (let pause = 1; ; pause = Math.min(2 * pause, 25)) {
    await sleep(pause * (0.5 + Math.random()));
    stop(busy);
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      busy = error;
    }
  }
}

/** Another process has the lock: try again. */
function isBusy(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"));
}

/** Creates or migrates the tables; two processes may do it at once. */
function migrate(database: SqliteDatabase, { store, row, migrations }: SqliteSchema): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(
      "CREATE TABLE IF NOT EXISTS parley_meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT",
    );
    const found = database.prepare("SELECT value FROM parley_meta WHERE name = ?").get(row) as
      | { value: number }
      | undefined;
    const version = found?.value ?? 0;
    if (version > migrations.length) throw newerSchema(store, version, migrations.length);
    for (const step of migrations.slice(version)) database.exec(step);
    database.prepare("INSERT OR REPLACE INTO parley_meta (name, value) VALUES (?, ?)").run(row, migrations.length);
    database.exec("COMMIT");
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function cannotOpen(store: string, cause: unknown): ParleyError {
  return new ParleyError("configuration", `${store}: the database cannot be used: ${reasonOf(cause)}.`, { cause });
}
