// The four ledger stores, each in a place of its own that is gone afterwards.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import pg from "pg";
import { memoryLedger } from "../../dist/ledger/memory.js";
import { postgresLedger } from "../../dist/ledger/postgres.js";
import { redisLedger } from "../../dist/ledger/redis.js";
import { sqliteLedger } from "../../dist/ledger/sqlite.js";

export const REDIS_URL = process.env.PARLEY_TEST_REDIS ?? "redis://127.0.0.1:6379";
export const POSTGRES_URL = process.env.PARLEY_TEST_POSTGRES ?? "postgres://postgres@127.0.0.1:5432/test";

/** What a case needs and does not find; the case is skipped and says so. */
export class Missing extends Error {}

/** Unlike any other run's. */
export function newName() {
  return `parley_bench_${randomUUID().slice(0, 8)}`;
}

export function memoryStore() {
  return { ledger: memoryLedger({ maxRounds: 1e9 }), close: async () => {} };
}

export function sqliteStore() {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const ledger = sqliteLedger({ path: join(folder, "ledger.sqlite") });
  const close = async () => {
    await ledger.close();
    rmSync(folder, { recursive: true });
  };
  return { ledger, folder, close };
}

export async function redisStore() {
  const client = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 2_000 });
  client.on("error", () => {});
  await reach(`Redis at ${REDIS_URL}`, () => client.connect());
  const prefix = `${newName()}:`;
  const ledger = redisLedger(client, { prefix });
  const close = async () => {
    for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 })) {
      if (keys.length > 0) await client.unlink(keys);
    }
    await ledger.close();
    client.disconnect();
  };
  return { ledger, client, prefix, close };
}

export async function postgresStore() {
  const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 10, connectionTimeoutMillis: 5_000 });
  await reach(`PostgreSQL at ${POSTGRES_URL}`, () => pool.query("SELECT 1"));
  const schema = newName();
  const ledger = postgresLedger(pool, { schema });
  // The first operation makes the schema.
  await ledger.release({ call: "none", round: 0, owner: "nobody" });
  const close = async () => {
    await ledger.close();
    await pool.query(`DROP SCHEMA ${schema} CASCADE`);
    await pool.end();
  };
  return { ledger, pool, schema, close };
}

/** Opens stores, hands them to `work`, and closes them whatever happens. */
export async function withStores(makers, work) {
  const stores = {};
  try {
    for (const [name, make] of Object.entries(makers)) stores[name] = await make();
    return await work(stores);
  } finally {
    for (const store of Object.values(stores)) await store.close();
  }
}

export async function reach(what, probe) {
  try {
    await probe();
  } catch (error) {
    throw new Missing(`${what} cannot be reached (${error.message || error.code})`);
  }
}
