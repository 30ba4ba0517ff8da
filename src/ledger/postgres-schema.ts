/** The schema of the PostgreSQL ledger: made and migrated, by version. */
import { ParleyError } from "../errors.ts";
import type { PostgresClient } from "./postgres-client.ts";
import { V1 } from "./postgres-sql.ts";
import { GROUPED_V1 } from "./postgres-sql-grouped.ts";
import { newerSchema } from "./schema-version.ts";

/** Any constant: migrations of all Parley schemas in a database take turns. */
const MIGRATION_LOCK = 7_270_531_926;

/** `MIGRATIONS[n]` brings a schema of version n to n + 1. Never edit one that was released; add one. */
const MIGRATIONS = [V1 + GROUPED_V1];

/** The identifier, quoted. @throws ParleyError `configuration` */
export function quoteSchema(name: unknown): string {
  if (typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)) return `"${name}"`;
  throw new ParleyError(
    "configuration",
    "postgresLedger: option schema must be 1 to 63 letters, digits and underscores, not starting with a digit.",
  );
}

/** Creates or migrates what is missing; any number of processes may do it at once. @throws ParleyError `configuration` if newer */
export async function migrate(client: PostgresClient, schema: string): Promise<void> {
  if ((await versionOf(client, schema)) === MIGRATIONS.length) return;
  // Not the default of the database: after the wait for the lock, what another process made must be visible.
  await client.query("BEGIN ISOLATION LEVEL READ COMMITTED");
  try {
    await client.query("SELECT pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    // Asked first: "IF NOT EXISTS" demands the right to create schemas even where there is nothing to create.
    const { rows } = await client.query("SELECT to_regnamespace($1) IS NULL AS missing", [schema]);
    if (rows[0]?.["missing"] === true) await client.query(`CREATE SCHEMA ${schema}`);
    const version = await versionOf(client, schema);
    if (version > MIGRATIONS.length) throw newerSchema("PostgreSQL", version, MIGRATIONS.length);
    if (version === 0)
      await client.query(
        `CREATE TABLE IF NOT EXISTS ${schema}.parley_meta (name text PRIMARY KEY, value integer NOT NULL)`,
      );
    for (const step of MIGRATIONS.slice(version)) await client.query(step.replaceAll("$s.", `${schema}.`));
    await client.query(
      `INSERT INTO ${schema}.parley_meta (name, value) VALUES ('schema', $1)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [MIGRATIONS.length],
    );
    await client.query("COMMIT");
  } catch (error) {
    // The first error counts; a connection that is lost rolls back by itself.
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** 0 for a schema without our tables. */
async function versionOf(client: PostgresClient, schema: string): Promise<number> {
  const table = `${schema}.parley_meta`;
  const exists = await client.query("SELECT to_regclass($1) IS NOT NULL AS found", [table]);
  if (exists.rows[0]?.["found"] !== true) return 0;
  const { rows } = await client.query(`SELECT value FROM ${table} WHERE name = 'schema'`);
  return Number(rows[0]?.["value"] ?? 0);
}
