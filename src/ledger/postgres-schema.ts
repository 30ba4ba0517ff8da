/** The schema of the PostgreSQL ledger, and its versions. */
import { ParleyError } from "../errors.ts";
import type { PostgresSchema } from "../store/postgres.ts";
import { V1 } from "./postgres-sql.ts";
import { GROUPED_V1 } from "./postgres-sql-grouped.ts";

export const SCHEMA: PostgresSchema = { store: "postgresLedger", row: "schema", migrations: [V1 + GROUPED_V1] };

/** The identifier, quoted. @throws ParleyError `configuration` */
export function quoteSchema(name: unknown): string {
  if (typeof name === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(name)) return `"${name}"`;
  throw new ParleyError(
    "configuration",
    "postgresLedger: option schema must be 1 to 63 letters, digits and underscores, not starting with a digit.",
  );
}
