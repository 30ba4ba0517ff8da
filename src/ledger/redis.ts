/**
 * A ledger in Redis 6 or later, one hash per call, through an ioredis client.
 *
 * It is as durable as the server is set up to be: Redis replicates after it has answered, so a failover can forget the
 * last claims. Use PostgreSQL where that matters. Set `maxmemory-policy noeviction`: an evicted key is a forgotten call.
 */
import { randomBytes } from "node:crypto";
import { ParleyError } from "../errors.ts";
import { asBuffer } from "../store/bytes.ts";
import { Deadlines } from "../store/deadlines.ts";
import type { Late } from "../store/operations.ts";
import { resolveTimeout, type StoreOptions } from "../store/options.ts";
import { connectRedis, type RedisArgument, type RedisClient, RedisConnection, scriptsOf } from "../store/redis.ts";
import type { Claim, Ledger } from "./contract.ts";
import { guard } from "./guard.ts";
import { SCRIPTS } from "./redis-scripts.ts";

export type { StoreOptions } from "../store/options.ts";
export type { RedisClient } from "../store/redis.ts";
export type { Claim, ClaimRequest, Hold, Ledger, RoundKey, Settlement } from "./contract.ts";

export interface RedisLedgerOptions extends StoreOptions {
  /** Comes before every key. Default `"parley:"`. */
  readonly prefix?: string;
}

const scripts = scriptsOf(SCRIPTS);

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
  const client = own ? connectRedis<RedisClient>(source.url, "redisLedger", timeoutMs) : source;
  const deadlines = new Deadlines(timeoutMs);
  const connection = new RedisConnection(client, deadlines);

  const run = <T>(
    name: keyof typeof scripts,
    call: string,
    args: RedisArgument[],
    late: Late,
    read: (reply: unknown) => T,
  ) => connection.run(scripts[name], prefix + call, args, late, read);

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
