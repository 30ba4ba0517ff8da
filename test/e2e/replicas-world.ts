/** Replicas as processes, and the store they share. */
import { fork } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import pg from "pg";
import { expect, onTestFinished } from "vitest";
import { POSTGRES_URL, REDIS_URL, whenReachable } from "../contract/servers.ts";

/** One time that a step did what it does. */
export interface Effect {
  readonly call: string;
  readonly step: string;
  readonly key: string;
  /** Name of the replica. */
  readonly by: string;
}

/** What replicas share, and a look at it from outside. */
export interface Shared {
  readonly ledger: object | undefined;
  readonly effects: object;
  /** Every effect so far, in order. */
  seen(): Promise<Effect[]>;
  clean(): Promise<void>;
}

export const inRedis = async (): Promise<Shared> => {
  const prefix = `parley-replicas-${randomUUID()}:`;
  const client = new Redis(REDIS_URL);
  const place = { kind: "redis", url: REDIS_URL, prefix };
  return {
    ledger: place,
    effects: place,
    seen: async () => (await client.lrange(`${prefix}effects`, 0, -1)).map((text) => JSON.parse(text)),
    clean: async () => {
      for await (const keys of client.scanStream({ match: `${prefix}*`, count: 1_000 }))
        if ((keys as string[]).length > 0) await client.unlink(...(keys as string[]));
      client.disconnect();
    },
  };
};

export const inPostgres = async (): Promise<Shared> => {
  const schema = `parley_replicas_${randomUUID().replaceAll("-", "")}`;
  const pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 1 });
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query(`CREATE TABLE ${schema}.effects (id bigserial PRIMARY KEY, effect json NOT NULL)`);
  const place = { kind: "postgres", url: POSTGRES_URL, schema };
  return {
    ledger: place,
    effects: place,
    seen: async () => {
      const { rows } = await pool.query(`SELECT effect FROM ${schema}.effects ORDER BY id`);
      return rows.map((row) => row.effect as Effect);
    },
    clean: async () => {
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
};

/** Effects in a file; `ledger` may be a store elsewhere, or none. By default it is SQLite beside them. */
export const inFiles = async (ledger?: { readonly of: object | undefined }): Promise<Shared> => {
  const folder = mkdtempSync(join(tmpdir(), "parley-replicas-"));
  const path = join(folder, "effects");
  return {
    ledger: ledger === undefined ? { kind: "sqlite", path: join(folder, "ledger.sqlite") } : ledger.of,
    effects: { kind: "file", path },
    seen: async () =>
      existsSync(path)
        ? readFileSync(path, "utf8")
            .split("\n")
            .filter((line) => line !== "")
            .map((line) => JSON.parse(line))
        : [],
    clean: async () => rmSync(folder, { recursive: true, force: true }),
  };
};

/** `describe`, or a skip that says why, per store. */
export const withRedis = await whenReachable(`Redis at ${REDIS_URL}`, async () => {
  const probe = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
  probe.on("error", () => {});
  await probe.connect();
  probe.disconnect();
});
export const withPostgres = await whenReachable(`PostgreSQL at ${POSTGRES_URL}`, async () => {
  const client = new pg.Client({ connectionString: POSTGRES_URL, connectionTimeoutMillis: 1_000 });
  await client.connect();
  await client.end();
});

export interface ReplicaOptions {
  readonly record?: "steps" | "rounds";
  readonly leaseMs?: number;
  readonly waitMs?: number;
  /** The step that never ends in this replica. */
  readonly hangs?: string;
  /** `PARLEY_KEYS`, newest first. */
  readonly keys?: readonly string[];
}

export interface Counts {
  readonly claims: Partial<Record<"won" | "running" | "settled" | "other_answers", number>>;
  readonly events: Record<string, number>;
  readonly requests: number;
}

export interface Replica {
  readonly name: string;
  readonly url: string;
  /** Resolves when a step hangs. */
  readonly hanging: Promise<void>;
  counts(): Promise<Counts>;
  kill(): Promise<void>;
}

const PROGRAM = fileURLToPath(new URL("../fixtures/replica.mjs", import.meta.url));
export const newKey = () => randomBytes(32).toString("base64url");
const ONE_KEY = newKey();
const alive = new Set<() => Promise<void>>();

/** Starts a replica as a process of its own. {@link sharing} ends it, whatever happens. */
export async function replica(name: string, shared: Shared, options: ReplicaOptions = {}): Promise<Replica> {
  expect(existsSync(fileURLToPath(new URL("../../dist/ledger/redis.js", import.meta.url))), "npm run build first").toBe(
    true,
  );
  const { ledger, effects } = shared;
  const { keys = [ONE_KEY], ...rest } = options;
  const settings = { record: "steps", leaseMs: 10_000, waitMs: 20_000, ...rest, name, ledger, effects };
  const child = fork(PROGRAM, {
    env: { ...process.env, NODE_ENV: "production", REPLICA: JSON.stringify(settings), PARLEY_KEYS: keys.join(",") },
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let complaints = "";
  child.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const told = <T>(what: string) =>
    new Promise<T>((resolve, reject) => {
      const onMessage = (message: object) => {
        if (!(what in message)) return;
        child.off("message", onMessage);
        resolve((message as Record<string, T>)[what] as T);
      };
      child.on("message", onMessage);
      child.once("exit", () => reject(new Error(`replica ${name} ended.\n${complaints}`)));
    });
  const hanging = told<string>("hangs").then(() => undefined);
  hanging.catch(() => undefined);
  const url = told<string>("url");
  const kill = async () => {
    alive.delete(kill);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, "exit");
    process.kill(child.pid as number, "SIGKILL");
    await gone;
  };
  alive.add(kill);
  return {
    name,
    url: await url,
    hanging,
    counts: () => {
      const counts = told<Counts>("counts");
      child.send("counts");
      return counts;
    },
    kill,
  };
}

export function replicas(count: number, shared: Shared, options: ReplicaOptions = {}): Promise<Replica[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => replica(`r${index + 1}`, shared, options)));
}

async function stopAll(): Promise<void> {
  for (const kill of [...alive]) await kill();
}

/** What the replicas of this test share. When the test is over, or its time is, both are gone. */
export async function sharing<T>(make: () => Promise<Shared>, work: (shared: Shared) => Promise<T>): Promise<T> {
  const shared = await make();
  onTestFinished(async () => {
    await stopAll();
    await shared.clean();
  });
  return work(shared);
}
