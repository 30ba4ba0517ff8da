/**
 * A ledger in Redis 6 or later, one hash per call, through an ioredis client.
 *
 * It is as durable as the server is set up to be: Redis replicates after it has answered, so a failover can forget the
 * last claims. Use PostgreSQL where that matters. Set `maxmemory-policy noeviction`: an evicted key is a forgotten call.
 */
import { createHash, randomBytes } from "node:crypto";
import { ParleyError } from "../errors.ts";
import { Deadlines } from "../store/deadlines.ts";
import { type Late, stopIfLate } from "../store/operations.ts";
import { resolveTimeout, type StoreOptions } from "../store/options.ts";
import { loadPeer } from "../store/peer.ts";
import type { Claim, Ledger } from "./contract.ts";
import { guard } from "./guard.ts";
import { SCRIPTS, type ScriptName } from "./redis-scripts.ts";

export type { StoreOptions } from "../store/options.ts";
export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";

/** What is used of an ioredis `Redis` or `Cluster`. */
export interface RedisClient {
  readonly status: string;
  callBuffer(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  connect(): Promise<unknown>;
  disconnect(): void;
  on(event: string, listener: () => void): unknown;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

export interface RedisLedgerOptions extends StoreOptions {
  /** Comes before every key. Default `"parley:"`. */
  readonly prefix?: string;
}

type Argument = string | number | Buffer;

const SHA1 = Object.fromEntries(
  Object.entries(SCRIPTS).map(([name, script]) => [name, createHash("sha1").update(script).digest("hex")]),
) as Record<ScriptName, string>;

/**
 * @param source An ioredis 5 or 6 client, `Redis` or `Cluster`; or the URL of a server to connect to (`ioredis` must be
 *   installed), which `close` disconnects.
 * @throws ParleyError `configuration`
 */
export function redisLedger(source: RedisClient | { readonly url: string }, options: RedisLedgerOptions = {}): Ledger {
  const timeoutMs = resolveTimeout("redisLedger", options.timeoutMs);
  const prefix = options.prefix ?? "parley:";
  if (typeof prefix !== "string") throw new ParleyError("configuration", "redisLedger: option prefix must be text.");
  const own = "url" in source;
  const client = own ? connect(source.url, timeoutMs) : source;
  const deadlines = new Deadlines(timeoutMs);
  const connection = watch(client, deadlines);

  function run<T>(
    name: ScriptName,
    call: string,
    args: Argument[],
    late: Late,
    read: (reply: unknown) => T,
  ): Promise<T> {
    const rest = [1, prefix + call, ...args];
    const send = () =>
      client.callBuffer("evalsha", [SHA1[name], ...rest]).then(read, (error: unknown) => {
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        stopIfLate(late);
        return client.callBuffer("eval", [SCRIPTS[name], ...rest]).then(read);
      });
    return client.status === "ready" ? send() : connection.ready(late).then(send);
  }

  return guard("redis", deadlines, {
    claim({ call, round, owner, answers, leaseMs, keepMs, wantJournal }, late) {
      const args = [round, `r${owner}\0${answers}\0`, leaseMs, Math.max(keepMs, leaseMs)];
      return run("claim", call, wantJournal ? [...args, 1] : args, late, readClaim);
    },
    recordStep({ call, round, owner }, entry, leaseMs, late) {
      const id = randomBytes(9).toString("base64url");
      return run("recordStep", call, [round, owner, leaseMs, asBuffer(entry), id], late, isOne);
    },
    renew: ({ call, round, owner }, leaseMs, late) => run("renew", call, [round, owner, leaseMs], late, isOne),
    settle({ call, round, owner }, { outcome, journal, keepMs }, late) {
      const args = [round, owner, keepMs, asBuffer(outcome)];
      return run("settle", call, journal === undefined ? args : [...args, asBuffer(journal)], late, isOne);
    },
    release: ({ call, round, owner }, late) => run("release", call, [round, owner], late, () => undefined),
    async close() {
      connection.close();
      if (own) client.disconnect();
    },
  });
}

function isOne(reply: unknown): boolean {
  return reply === 1;
}

function readClaim(reply: unknown): Claim {
  if (reply === 1) return { type: "won", attempt: 1, steps: [], journal: [] };
  const [kind, first, second, ...rest] = reply as unknown[];
  if (kind === 1) return { type: "running", leaseLeftMs: first as number };
  if (kind === 2) return { type: "settled", outcome: first as Buffer };
  if (kind === 3) return { type: "other_answers" };
  const [attempt, steps, bytes] = [first as number, second as number, rest as Buffer[]];
  return { type: "won", attempt, steps: bytes.slice(0, steps), journal: bytes.slice(steps) };
}

/**
 * ioredis keeps commands for a server that is away and sends them when it is back. A claim sent so late would hold a
 * round for a call that has long failed, so here nothing is sent unless the connection is ready, and nothing waits for
 * an answer whose connection is lost.
 */
function watch(client: RedisClient, deadlines: Deadlines) {
  let becoming: Promise<void> | undefined;
  const onLost = () => {
    becoming = undefined;
    deadlines.failAll(new Error("the connection was lost"));
  };
  client.on("close", onLost);
  client.on("end", onLost);

  return {
    async ready(late: Late): Promise<void> {
      if (client.status === "reconnecting" || client.status === "end" || client.status === "close")
        throw new Error(`not connected (${client.status})`);
      if (client.status === "wait") client.connect().catch(() => {});
      becoming ??= new Promise<void>((resolve) => client.once("ready", resolve)).then(() => {
        becoming = undefined;
      });
      await becoming;
      stopIfLate(late);
    },
    close(): void {
      client.off("close", onLost);
      client.off("end", onLost);
    },
  };
}

function connect(url: string, timeoutMs: number): RedisClient {
  const { Redis } = loadPeer("ioredis", "redisLedger({ url })") as {
    Redis: new (url: string, options: Record<string, unknown>) => RedisClient;
  };
  const client = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    connectTimeout: timeoutMs,
  });
  // Failures reach the operations; without a listener ioredis prints them.
  client.on("error", () => {});
  return client;
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
