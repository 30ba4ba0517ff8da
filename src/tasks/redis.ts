/**
 * Tasks in Redis 6 or later, through an ioredis client: any process runs any task, and hears at once of what is ready.
 *
 * Redis keeps what it is set up to keep. With `appendonly yes` a task survives a restart; only `appendfsync always` keeps
 * the last second too. It replicates after it has answered, so a failover can forget the last operations: use PostgreSQL
 * where a task that its client knows of must never be lost. Set `maxmemory-policy noeviction`: an evicted key is a lost task.
 *
 * All keys of one prefix carry its hash tag: a cluster keeps them in one slot, and so does not spread their load.
 */
import { randomBytes } from "node:crypto";
import { ParleyError } from "../errors.ts";
import { checkNames } from "../internal/options.ts";
import { asBuffer } from "../store/bytes.ts";
import { Deadlines } from "../store/deadlines.ts";
import { type Late, stopIfLate } from "../store/operations.ts";
import { isPlace, resolveTimeout, type StoreOptions } from "../store/options.ts";
import { connectRedis, type RedisArgument, type RedisClient, RedisConnection, scriptsOf } from "../store/redis.ts";
import type { ClaimedTask, StoredTask, TaskAnswer, TaskPhase, TaskStore } from "./contract.ts";
import { taskOperations } from "./guard.ts";
import { SCRIPTS } from "./redis-scripts.ts";
import { type RedisSubscriber, RedisWatch } from "./redis-watch.ts";

export type { StoreOptions } from "../store/options.ts";
export type { RedisClient } from "../store/redis.ts";
export type * from "./contract.ts";
export type { RedisSubscriber } from "./redis-watch.ts";

/** What is used of an ioredis `Redis` or `Cluster`; `duplicate` makes the connection that listens. */
export interface RedisTasksClient extends RedisClient {
  duplicate(): RedisSubscriber;
}

export interface RedisTasksOptions extends StoreOptions {
  /** Comes before every key, inside the hash tag. Default `"parley:"`. */
  readonly prefix?: string;
}

const scripts = scriptsOf(SCRIPTS);
const NAMES: Record<keyof RedisTasksOptions, true> = { timeoutMs: true, prefix: true };
const SOURCE = { where: "url", method: "callBuffer", client: "an ioredis client" };

/**
 * @param source An ioredis 5 or 6 client, `Redis` or `Cluster`; or the URL of a server to connect to (`ioredis` must be
 *   installed), which `close` disconnects.
 * @throws ParleyError `configuration`
 */
export function redisTasks(
  source: RedisTasksClient | { readonly url: string },
  options: RedisTasksOptions = {},
): TaskStore {
  checkNames("redisTasks", options, NAMES);
  const timeoutMs = resolveTimeout("redisTasks", options.timeoutMs);
  const prefix = options.prefix ?? "parley:";
  if (typeof prefix !== "string") throw new ParleyError("configuration", "redisTasks: option prefix must be text.");
  const own = isPlace<{ readonly url: string }>("redisTasks", source, SOURCE);
  const client = own ? connectRedis<RedisTasksClient>(source.url, "redisTasks", timeoutMs) : source;
  const deadlines = new Deadlines(timeoutMs);
  const connection = new RedisConnection(client, deadlines);
  const operations = taskOperations("redis", deadlines);
  const base = `{${prefix}tasks}`;
  const watches = new Set<RedisWatch>();

  const send = (name: keyof typeof scripts, args: readonly RedisArgument[], late: Late) =>
    connection.run(scripts[name], base, [base, ...args], late, (reply) => reply);
  const run = <T>(name: keyof typeof scripts, args: readonly RedisArgument[], read: (reply: unknown) => T) =>
    operations.run(name, async (late) => read(await send(name, args, late)));

  return {
    create: ({ id, kind, owner, head, body, lifeMs, keepMs, maxOpen }) =>
      run("create", [id, kind, owner, asBuffer(head), asBuffer(body), lifeMs, keepMs, maxOpen], textOf) as Promise<
        "created" | "exists" | "full"
      >,
    read: (id) => run("read", [id], readStored),
    answer: (id, answers) =>
      run("answer", [id, ...answers.flatMap(({ key, answer }) => [key, asBuffer(answer)])], () => undefined),
    cancel: (id, body) => run("cancel", [id, asBuffer(body)], textOf) as Promise<"ended" | "asked" | "nothing">,
    async claim({ holder, kinds, leaseMs, perOwner }) {
      let inMs = -1;
      let claimed: ClaimedTask | undefined;
      try {
        claimed = await operations.run("claim", async (late) => {
          for (;;) {
            const reply = await send("claim", [holder, leaseMs, perOwner, ...kinds], late);
            if (typeof reply !== "number") return readClaimed(reply as unknown[]);
            inMs = reply;
            if (reply !== 0) return undefined;
            stopIfLate(late);
          }
        });
        return claimed;
      } finally {
        for (const watch of watches) watch.claimed(claimed !== undefined, inMs);
      }
    },
    record: ({ id, holder }, entry, leaseMs) =>
      run("record", [id, holder, leaseMs, asBuffer(entry), randomBytes(9).toString("base64url")], isOne),
    renew: ({ id, holder }, leaseMs, note) =>
      run("renew", [id, holder, leaseMs, ...(note === undefined ? [] : [asBuffer(note)])], textOf) as Promise<
        "held" | "cancelled" | "lost"
      >,
    settle: ({ id, holder }, { body, phase, wakeMs = 0, open }) =>
      run("settle", [id, holder, asBuffer(body), phase, wakeMs, ...open], isOne),
    release: ({ id, holder }, wakeMs) =>
      run("release", [id, holder, ...(wakeMs === undefined ? [] : [wakeMs])], () => undefined),
    watch(take, slots) {
      const watch = new RedisWatch(client.duplicate(), base, take, slots);
      watches.add(watch);
      return () => {
        watches.delete(watch);
        return watch.stop();
      };
    },
    close: () =>
      operations.close(async () => {
        connection.close();
        for (const watch of watches) void watch.stop();
        if (own) client.disconnect();
      }),
  };
}

const textOf = (reply: unknown): string => String(reply);
const isOne = (reply: unknown): boolean => reply === 1;

function readStored(reply: unknown): StoredTask | undefined {
  if (reply === null) return undefined;
  const [owner, head, body, note, phase, cancelled, lifeLeftMs, ...answers] = reply as unknown[];
  return {
    owner: String(owner),
    head: head as Buffer,
    body: body as Buffer,
    note: (note ?? undefined) as Buffer | undefined,
    phase: String(phase) as TaskPhase,
    cancelled: String(cancelled) === "1",
    answers: readAnswers(answers),
    lifeLeftMs: lifeLeftMs as number,
  };
}

function readClaimed(reply: readonly unknown[]): ClaimedTask {
  const [id, kind, head, body, attempt, cancelled, lifeLeftMs, count, ...rest] = reply;
  return {
    id: String(id),
    kind: String(kind),
    head: head as Buffer,
    body: body as Buffer,
    steps: readSteps(rest.slice(0, count as number) as Buffer[]),
    answers: readAnswers(rest.slice(count as number)),
    attempt: attempt as number,
    cancelled: cancelled === 1,
    lifeLeftMs: lifeLeftMs as number,
  };
}

/** In the order of their numbers, which come before them. */
function readSteps(numbered: readonly Buffer[]): Buffer[] {
  const steps = numbered.map((step) => {
    const colon = step.indexOf(":");
    return { number: Number(step.toString("latin1", 0, colon)), entry: step.subarray(colon + 1) };
  });
  return steps.sort((a, b) => a.number - b.number).map(({ entry }) => entry);
}

function readAnswers(parts: readonly unknown[]): TaskAnswer[] {
  const answers: TaskAnswer[] = [];
  for (let at = 0; at < parts.length; at += 2)
    answers.push({ key: String(parts[at]), answer: parts[at + 1] as Buffer });
  return answers;
}
