/** What every store in PostgreSQL does alike: the pool it opens, and its tables and functions, by version. */
import { loadPeer } from "./peer.ts";
import { newerSchema } from "./schema-version.ts";

/** The tables and functions of one store, in a schema it may share with others. */
export interface PostgresSchema {
  /** The function that opens the store, for messages. */
  readonly store: string;
  /** The row of `parley_meta` that holds the version. Never change it. */
  readonly row: string;
  /**
   * `migrations[n]` brings a schema of version n to n + 1; `$s.` stands for the schema's name. Never edit one that was
   * released; add one.
   */
  readonly migrations: readonly string[];
}

/** What is used of a pg client. */
export interface MigrationClient {
  query(text: string, values?: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
}

/** What is used of a pool of our own beside what a store uses of any. */
interface OwnPool {
  on(event: "error", listener: () => void): unknown;
  end(): Promise<void>;
}

/** @throws ParleyError `configuration` when `pg` is not installed */
export function openPostgres<Pool>(
  source: { readonly connectionString: string; readonly max?: number },
  store: string,
  timeoutMs: number,
): Pool & OwnPool {
  const { Pool } = loadPeer("pg", `${store}({ connectionString })`) as {
    Pool: new (options: Record<string, unknown>) => Pool & OwnPool;
  };
  const pool = new Pool({ ...source, connectionTimeoutMillis: timeoutMs });
  // An idle connection that is lost is replaced at the next operation.
  pool.on("error", () => {});
  return pool;
}

/** Any constant: migrations of all stores in a database take turns, because they share a schema and `parley_meta`. */
const MIGRATION_LOCK = 7_270_531_926;

/**
 * Creates or migrates what is missing; any number of processes may do it at once.
 * @param name The schema's name, quoted.
 * @throws ParleyError `configuration` if the schema in the database is newer
 */
export async function migratePostgres(
  client: MigrationClient,
  name: string,
  { store, row, migrations }: PostgresSchema,
): Promise<void> {
  if ((await versionOf(client, name, row)) === migrations.length) return;
  // Not the default of the database: after the wait for the lock, what another process made must be visible.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    // Asked first: "IF NOT EXISTS" demands the right to create schemas even where there is nothing to create.
    const { rows } = await client.query("SELECT to_regnamespace($1) IS NULL AS missing", [name]);
    if (rows[0]?.["missing"] === true) await client.query(`CREATE SCHEMA ${name}`);
    const version = await versionOf(client, name, row);
    if (version > migrations.length) throw newerSchema(store, version, migrations.length);
    if (version === 0)
      await client.query(
        `CREATE TABLE IF NOT EXISTS ${name}.parley_meta (name text PRIMARY KEY, value integer NOT NULL)`,
      );
    for (const step of migrations.slice(version)) await client.query(step.replaceAll("$s.", `${name}.`));
    await client.query(
      `INSERT INTO ${name}.parley_meta (name, value) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [row, migrations.length],
    );
    await client.query("COMMIT");
  } catch (error) {
    // The first error counts; a connection that is lost rolls back by itself.
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** 0 for a schema without our tables. */
async function versionOf(client: MigrationClient, name: string, row: string): Promise<number> {
  const table = `${name}.parley_meta`;
  const exists = await client.query("SELECT to_regclass($1) IS NOT NULL AS found", [table]);
  if (exists.rows[0]?.["found"] !== true) return 0;
  const { rows } = await client.query(`SELECT value FROM ${table} WHERE name = $1`, [row]);
  return Number(rows[0]?.["value"] ?? 0);
}
