/** What the PostgreSQL ledger sends: for each operation one statement that does it or does nothing, and one that does all of it. */
import { createHash } from "node:crypto";

export interface Statement {
  readonly text: string;
  /** Under which it is prepared, once on each connection. */
  readonly name: string;
}

/**
 * The `quick` statements do what nearly every claim, step and settle is, in one plain statement, which costs a third of
 * a function call; what they find otherwise they leave as it is, and the functions in `postgres-sql.ts` decide.
 * @param schema quoted
 */
export function statements(schema: string) {
  // Two ledgers may share a pool, and a name means one text on a connection.
  const suffix = createHash("sha1").update(schema).digest("hex").slice(0, 8);
  const named = (name: string, text: string): Statement => ({ name: `parley_${name}_${suffix}`, text });
  const rounds = `${schema}.parley_rounds`;
  const call = (name: string, count: number) => {
    const marks = Array.from({ length: count }, (_, index) => `$${index + 1}`).join(", ");
    return named(name, `SELECT * FROM ${schema}.parley_${name}(${marks})`);
  };
  const ms = (mark: string) => `now() + ${mark} * interval '1 millisecond'`;
  /** The owner's own running round, of a call of which every round stays that long anyway. */
  const mineAndStays = (mark: string) => `call = $1 AND round = $2 AND owner = $3 AND outcome IS NULL
    AND NOT EXISTS (SELECT FROM ${rounds} o WHERE o.call = $1 AND o.expires_at < ${ms(mark)})`;
  return {
    /** call, round, answers, owner, lease in ms, stay in ms */
    quickClaim: named(
      "quick_claim",
      `INSERT INTO ${rounds} (call, round, answers, owner, lease_until, expires_at)
       VALUES ($1, $2, $3, $4, ${ms("$5")}, ${ms("$6")}) ON CONFLICT DO NOTHING`,
    ),
    /** call, round, owner, lease in ms, entry */
    quickStep: named(
      "quick_step",
      `UPDATE ${rounds} SET steps = array_append(steps, $5), lease_until = ${ms("$4")}
       WHERE ${mineAndStays("$4")} AND more_steps = 0 AND (steps IS NULL OR pg_column_size(steps) < 1000)`,
    ),
    /** call, round, owner, keep in ms, outcome, journal or null */
    quickSettle: named("quick_settle", `UPDATE ${rounds} SET outcome = $5, journal = $6 WHERE ${mineAndStays("$4")}`),
    /** The same for many: each parameter is an array. */
    quickClaims: call("claims", 6),
    quickSteps: call("steps", 5),
    quickSettles: call("settles", 6),
    claim: call("claim", 7),
    step: call("step", 5),
    renew: call("renew", 4),
    settle: call("settle", 6),
    release: call("release", 3),
    sweep: call("sweep", 1),
  };
}
