/**
 * A ledger in PostgreSQL 13 or later, through a pg Pool: as durable as the server's commits, and right for many replicas.
 * A fresh round is claimed, stepped and settled by one plain statement each, or with others in one transaction; only where
 * that finds something else, a second trip calls a function that decides.
 */

import { asBuffer } from "../store/bytes.ts";
import { Deadlines } from "../store/deadlines.ts";
import { type Late, stopIfLate } from "../store/operations.ts";
import { resolveTimeout, type StoreOptions } from "../store/options.ts";
import { migratePostgres, openPostgres } from "../store/postgres.ts";
import type { Claim, Ledger } from "./contract.ts";
import { Grouping } from "./grouping.ts";
import { guard } from "./guard.ts";
import type { PostgresClient, PostgresPool, PostgresResult } from "./postgres-client.ts";
import { quoteSchema, SCHEMA } from "./postgres-schema.ts";
import { type Statement, statements } from "./postgres-statements.ts";

export type { StoreOptions } from "../store/options.ts";
export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";
export type { PostgresClient, PostgresPool, PostgresQuery, PostgresResult } from "./postgres-client.ts";

export interface PostgresLedgerOptions extends StoreOptions {
  /** Schema that holds the tables and functions; created when it is missing. Default `"parley"`. */
  readonly schema?: string;
  /** Prepared statements. Set to false behind a PgBouncer older than 1.21 in transaction mode. Default true. */
  readonly prepare?: boolean;
}

/** Claims between two sweeps, and rounds that one sweep drops at most. More are dropped than come. */
const SWEEP_EVERY = 64;
const SWEEP_ROUNDS = 256;
/** Longest step that is kept in its round's row. */
const QUICK_STEP_BYTES = 1_000;
/** Groups of one kind that are under way at once, and operations in one. */
const GROUPS = { atOnce: 2, most: 64 };
/** Longest outcome, and chunk of a journal, that waits for others. */
const GROUPED_BYTES = 8_192;

/** An operation by a quick statement: its parameters begin with call and round. */
interface Quick {
  readonly values: readonly unknown[];
  readonly late: Late;
}

/**
 * @param source A pg `Pool`; or how to make one (`pg` must be installed), which `close` ends.
 * @throws ParleyError `configuration`; the first operation rejects with it when the schema in the database is newer
 */
export function postgresLedger(
  source: PostgresPool | { readonly connectionString: string; readonly max?: number },
  options: PostgresLedgerOptions = {},
): Ledger {
  const timeoutMs = resolveTimeout("postgresLedger", options.timeoutMs);
  const schema = quoteSchema(options.schema ?? "parley");
  const sql = statements(schema);
  const opened = "connect" in source ? undefined : openPostgres<PostgresPool>(source, "postgresLedger", timeoutMs);
  const pool = opened ?? (source as PostgresPool);
  const prepared = options.prepare !== false;
  let migrating: Promise<void> | undefined;
  let migrated = false;
  let sweeping: Promise<unknown> | undefined;
  let claims = 0;

  /** Lends a connection. One whose answer is overdue is cut, so that it cannot keep a place in the pool. */
  function withClient<T>(
    late: Late,
    work: (client: PostgresClient, done: (error: unknown, result?: T) => void) => void,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      pool.connect((error, client, release) => {
        if (client === undefined) {
          reject(error);
          return;
        }
        let released = false;
        const giveBack = (destroy: boolean) => {
          if (released) return;
          released = true;
          late.onLate = undefined;
          client.off("error", ignore);
          release(destroy);
        };
        const done = (error: unknown, result?: T) => {
          giveBack(false);
          if (error) reject(error);
          else resolve(result as T);
        };
        // A lost connection fails the query, and is an event besides that would end the process if nobody listened.
        client.once("error", ignore);
        try {
          stopIfLate(late);
          late.onLate = () => giveBack(true);
          work(client, done);
        } catch (thrown) {
          done(thrown);
        }
      });
    });
  }

  /** Once per process. A failure is forgotten, so that the next operation tries again. */
  function ready(late: Late): Promise<void> {
    migrating ??= withClient<void>(late, (client, done) => {
      migratePostgres(client, schema, SCHEMA).then(() => done(undefined), done);
    }).then(
      () => {
        migrated = true;
      },
      (error) => {
        migrating = undefined;
        throw error;
      },
    );
    return migrating;
  }

  async function run(late: Late, { text, name }: Statement, values: unknown[]): Promise<PostgresResult> {
    if (!migrated) await ready(late);
    return withClient(late, (client, done) => client.query(prepared ? { text, values, name } : { text, values }, done));
  }

  async function wrote(late: Late, statement: Statement, values: unknown[]): Promise<boolean> {
    return (await run(late, statement, values)).rowCount === 1;
  }

  /** Whether each was done. All are one transaction, so when that fails none was. What is late by now is not sent. */
  async function wroteAll(one: Statement, many: Statement, ops: readonly Quick[]): Promise<readonly boolean[]> {
    const sent = ops.filter((op) => !op.late.now).sort(byRound);
    const [first] = sent;
    const done = new Set<Quick>();
    if (first !== undefined && sent.length === 1) {
      if (await wrote(first.late, one, [...first.values])) done.add(first);
    } else if (first !== undefined) {
      const late: Late = { now: false, onLate: undefined };
      for (const op of sent) {
        op.late.onLate = () => {
          late.now = true;
          late.onLate?.();
        };
      }
      const columns = first.values.map((_, column) => sent.map(({ values }) => values[column]));
      const { rows } = await run(late, many, columns);
      const marks = String(Object.values(rows[0] ?? {})[0]);
      for (const [at, op] of sent.entries()) if (marks[at] === "1") done.add(op);
    }
    return ops.map((op) => done.has(op));
  }

  const quick = (one: Statement, many: Statement) => {
    const grouping = new Grouping<Quick, boolean>(GROUPS, (ops) => wroteAll(one, many, ops));
    return (late: Late, values: readonly unknown[]) => grouping.do({ values, late });
  };
  const quickClaim = quick(sql.quickClaim, sql.quickClaims);
  const quickStep = quick(sql.quickStep, sql.quickSteps);
  const quickSettle = quick(sql.quickSettle, sql.quickSettles);

  async function saysYes(late: Late, name: "step" | "renew" | "settle" | "release", values: unknown[]) {
    return (await run(late, sql[name], values)).rows[0]?.[`parley_${name}`] === true;
  }

  /** Old rounds leave with the claims of new ones. What cannot be dropped now is dropped later. */
  function sweep(): void {
    claims += 1;
    if (claims % SWEEP_EVERY !== 1 || sweeping !== undefined) return;
    sweeping = run({ now: false, onLate: undefined }, sql.sweep, [SWEEP_ROUNDS])
      .catch(ignore)
      .finally(() => {
        sweeping = undefined;
      });
  }

  return guard("postgres", new Deadlines(timeoutMs), {
    async claim({ call, round, owner, answers, leaseMs, keepMs, wantJournal }, late) {
      const values = [call, round, answers, owner, leaseMs];
      // A quarter longer than asked, so that the rounds of a quick call need not be prolonged.
      const stayMs = Math.ceil(1.25 * Math.max(keepMs, leaseMs));
      const isNew = !wantJournal && (await quickClaim(late, [...values, stayMs]));
      const claim: Claim = isNew
        ? { type: "won", attempt: 1, steps: [], journal: [] }
        : readClaim((await run(late, sql.claim, [...values, keepMs, wantJournal])).rows);
      if (claim.type === "won") sweep();
      return claim;
    },
    async recordStep({ call, round, owner }, entry, leaseMs, late) {
      const values = [call, round, owner, leaseMs, asBuffer(entry)];
      if (entry.length <= QUICK_STEP_BYTES && (await quickStep(late, values))) return true;
      return saysYes(late, "step", values);
    },
    renew: ({ call, round, owner }, leaseMs, late) => saysYes(late, "renew", [call, round, owner, leaseMs]),
    async settle({ call, round, owner }, { outcome, journal, keepMs }, late) {
      const chunk = journal === undefined ? null : asBuffer(journal);
      const values = [call, round, owner, keepMs, asBuffer(outcome), chunk];
      const short = outcome.length + (journal?.length ?? 0) <= GROUPED_BYTES;
      const settled = short ? await quickSettle(late, values) : await wrote(late, sql.quickSettle, values);
      return settled || saysYes(late, "settle", values);
    },
    async release({ call, round, owner }, late) {
      await saysYes(late, "release", [call, round, owner]);
    },
    async close() {
      await sweeping;
      await opened?.end();
    },
  });
}

/** The order in which everything here locks rounds. */
function byRound({ values: [callA, roundA] }: Quick, { values: [callB, roundB] }: Quick): number {
  if (callA !== callB) return (callA as string) < (callB as string) ? -1 : 1;
  return (roundA as number) - (roundB as number);
}

function readClaim([first, ...rest]: Record<string, unknown>[]): Claim {
  const number = Number(first?.["number"]);
  switch (first?.["kind"]) {
    case "won":
      return { type: "won", attempt: number, steps: bytesOf(rest, "step"), journal: bytesOf(rest, "journal") };
    case "running":
      return { type: "running", leaseLeftMs: Math.max(1, Math.ceil(number)) };
    case "settled":
      return { type: "settled", outcome: Buffer.from(first["bytes"] as string, "base64") };
    case "other":
      return { type: "other_answers" };
    default:
      throw new Error("the claim function answered what this release does not know");
  }
}

function bytesOf(rows: Record<string, unknown>[], kind: string): Buffer[] {
  return rows.filter((row) => row["kind"] === kind).map((row) => Buffer.from(row["bytes"] as string, "base64"));
}

function ignore(): void {}
