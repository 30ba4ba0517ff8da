/** How a SQLite store comes by its database: opened or handed in, migrated, and its statements prepared. */
import { ParleyError, reasonOf } from "../errors.ts";
import { loadPeer } from "./peer.ts";
import { newerSchema } from "./schema-version.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";

/** How long a statement may block the event loop for another process's lock. Beyond it, the wait is asynchronous. */
const BUSY_MS = 5;

export interface SqliteStart<S> {
  /** The function that an author called. */
  readonly who: string;
  readonly timeoutMs: number;
  /** Name of the tables' version in `parley_meta`. */
  readonly name: string;
  /** `[n]` brings the tables from version n to n + 1. */
  readonly migrations: readonly string[];
  prepare(database: SqliteDatabase): S;
}

/** @throws ParleyError `configuration`: the package is missing, the file cannot be used, or its schema is newer */
export function startSqlite<S>(
  source: SqliteDatabase | { readonly path: string },
  { who, timeoutMs, name, migrations, prepare }: SqliteStart<S>,
): { readonly database: SqliteDatabase; readonly own: boolean; readonly sql: S } {
  const cannotUse = (cause: unknown) =>
    new ParleyError("configuration", `${who}: the database cannot be used: ${reasonOf(cause)}.`, { cause });
  const own = "path" in source;
  const database = own ? open(source.path, who, timeoutMs, cannotUse) : source;
  try {
    migrate(database, name, migrations);
    if (own) database.pragma(`busy_timeout = ${BUSY_MS}`);
    return { database, own, sql: prepare(database) };
  } catch (cause) {
    if (own) database.close();
    throw cause instanceof ParleyError ? cause : cannotUse(cause);
  }
}

function open(
  path: string,
  who: string,
  timeoutMs: number,
  cannotUse: (cause: unknown) => ParleyError,
): SqliteDatabase {
  const Database = loadPeer("better-sqlite3", `${who}({ path })`) as new (
    path: string,
    options: { timeout: number },
  ) => SqliteDatabase;
  try {
    // The long timeout is for opening: the switch to WAL and the migration may meet another process doing the same.
    const database = new Database(path, { timeout: timeoutMs });
    database.pragma("journal_mode = WAL");
    database.pragma("synchronous = NORMAL");
    return database;
  } catch (cause) {
    throw cannotUse(cause);
  }
}

/** Creates or migrates the tables; two processes may do it at once. */
function migrate(database: SqliteDatabase, name: string, migrations: readonly string[]): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    database.exec(
      "CREATE TABLE IF NOT EXISTS parley_meta (name TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL) STRICT",
    );
    const row = database.prepare("SELECT value FROM parley_meta WHERE name = ?").get(name) as
      | { value: number }
      | undefined;
    const version = row?.value ?? 0;
    if (version > migrations.length) throw newerSchema("SQLite", version, migrations.length);
    for (const step of migrations.slice(version)) database.exec(step);
    database.prepare("INSERT OR REPLACE INTO parley_meta (name, value) VALUES (?, ?)").run(name, migrations.length);
    database.exec("COMMIT");
  } catch (error) {
    if (database.inTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Another process holds the lock. */
export function isBusy(error: unknown): boolean {
  const code = (error as { code?: unknown }).code;
  return typeof code === "string" && (code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED"));
}
