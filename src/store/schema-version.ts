/** The refusal that all SQL stores share. */
import { ParleyError } from "../errors.ts";

export function newerSchema(store: string, found: number, known: number): ParleyError {
  return new ParleyError(
    "configuration",
    `${store}: the schema has version ${found}; this release of mcp-parley knows ${known}. Upgrade it.`,
    { details: { found, known } },
  );
}
