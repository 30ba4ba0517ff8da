/**
 * A ledger in PostgreSQL 13 or later, through a pg Pool: as durable as the server's commits, and right for many replicas.
 * One function call per operation, so one round trip.
 */
import { createHash } from "node:crypto";
import { loadPeer } from "../store/peer.ts";
import { resolveTimeout, type StoreOptions } from "./checks.ts";
import type { Claim, Ledger } from "./contract.ts";
import { guard, type Late, stopIfLate } from "./guard.ts";
import type { PostgresClient, PostgresPool } from "./postgres-client.ts";
import { migrate, quoteSchema } from "./postgres-schema.ts";

export type { StoreOptions } from "./checks.ts";
export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";
export type { PostgresClient, PostgresPool, PostgresQuery } from "./postgres-client.ts";

export interface PostgresLedgerOptions extends StoreOptions {
  /** Schema that holds the tables and functions; created when it is missing. Default `"parley"`. */
  readonly schema?: string;
  /** Prepared statements. Set to false behind a PgBouncer older than 1.21 in transaction mode. Default true. */
  readonly prepare?: boolean;
}

/** Claims between two sweeps, and calls that one sweep drops at most. More are dropped than come. */
const SWEEP_EVERY = 64;
const SWEEP_CALLS = 256;

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
  // Two ledgers may share a pool, and a name means one text on a connection.
  const suffix = createHash("sha1").update(schema).digest("hex").slice(0, 8);
  const opened = "connect" in source ? undefined : open(source, timeoutMs);
  const pool = "connect" in source ? source : (opened as OwnPool);
  let migrated: Promise<void> | undefined;
  let sweeping: Promise<unknown> | undefined;
  let claims = 0;

  /** Lends a connection. One whose answer is overdue is cut, so that it cannot keep a place in the pool. */
  async function withClient<T>(late: Late, work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await pool.connect();
    let released = false;
    const giveBack = (destroy: boolean) => {
      if (released) return;
      released = true;
      client.off("error", ignore);
      client.release(destroy);
    };
    // A lost connection rejects the query, and is an event besides that would end the process if nobody listened.
    client.once("error", ignore);
    try {
      stopIfLate(late);
      late.onLate = () => giveBack(true);
      return await work(client);
    } finally {
      late.onLate = undefined;
      giveBack(false);
    }
  }

  /** Once per process. A failure is forgotten, so that the next operation tries again. */
  function ready(late: Late): Promise<void> | undefined {
    migrated ??= withClient(late, (client) => migrate(client, schema)).catch((error) => {
      migrated = undefined;
      throw error;
    });
    return migrated;
  }

  async function call(late: Late, name: string, values: unknown[]): Promise<Record<string, unknown>[]> {
    await ready(late);
    const marks = values.map((_, index) => `$${index + 1}`).join(", ");
    const text = `SELECT * FROM ${schema}.parley_${name}(${marks})`;
    const query = { text, values, ...(options.prepare !== false && { name: `parley_${name}_${suffix}` }) };
    return withClient(late, async (client) => (await client.query(query)).rows);
  }

  async function yes(late: Late, name: string, values: unknown[]): Promise<boolean> {
    return (await call(late, name, values))[0]?.[`parley_${name}`] === true;
  }

  /** Old calls leave with the claims of new ones. What cannot be dropped now is dropped later. */
  function sweep(): void {
    claims += 1;
    if (claims % SWEEP_EVERY !== 1 || sweeping !== undefined) return;
    sweeping = call({ now: false, onLate: undefined }, "sweep", [SWEEP_CALLS])
      .catch(ignore)
      .finally(() => {
        sweeping = undefined;
      });
  }

  return guard("postgres", timeoutMs, {
    async claim({ call: name, round, owner, answers, leaseMs, keepMs, wantJournal }, late) {
      const rows = await call(late, "claim", [name, round, owner, answers, leaseMs, keepMs, wantJournal]);
      const claim = readClaim(rows);
      if (claim.type === "won") sweep();
      return claim;
    },
    recordStep: ({ call: name, round, owner }, entry, leaseMs, late) =>
      yes(late, "step", [name, round, owner, leaseMs, asBuffer(entry)]),
    renew: ({ call: name, round, owner }, leaseMs, late) => yes(late, "renew", [name, round, owner, leaseMs]),
    settle: ({ call: name, round, owner }, { outcome, journal, keepMs }, late) =>
      yes(late, "settle", [
        name,
        round,
        owner,
        keepMs,
        asBuffer(outcome),
        journal === undefined ? null : asBuffer(journal),
      ]),
    async release({ call: name, round, owner }, late) {
      await yes(late, "release", [name, round, owner]);
    },
    async close() {
      await sweeping;
      await opened?.end();
    },
  });
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

interface OwnPool extends PostgresPool {
  on(event: "error", listener: () => void): unknown;
  end(): Promise<void>;
}

function open(source: { readonly connectionString: string; readonly max?: number }, timeoutMs: number): OwnPool {
  const { Pool } = loadPeer("pg", "postgresLedger({ connectionString })") as {
    Pool: new (options: Record<string, unknown>) => OwnPool;
  };
  const pool = new Pool({ ...source, connectionTimeoutMillis: timeoutMs });
  // An idle connection that is lost is replaced at the next operation.
  pool.on("error", ignore);
  return pool;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function ignore(): void {}
