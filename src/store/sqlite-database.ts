/** What is used of a better-sqlite3 database. */
export interface SqliteDatabase {
  readonly inTransaction: boolean;
  exec(sql: string): unknown;
  pragma(text: string): unknown;
  prepare(sql: string): SqliteStatement;
  close(): unknown;
}

export interface SqliteStatement {
  run(...values: unknown[]): { changes: number };
  get(...values: unknown[]): unknown;
  all(...values: unknown[]): unknown[];
  pluck(on?: boolean): SqliteStatement;
}
