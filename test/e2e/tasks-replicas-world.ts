/** Replicas that run tasks from one store, as processes that can be killed, and a client that puts up with it. */
import { type ChildProcess, fork } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import pg from "pg";
import { POSTGRES_URL, REDIS_URL } from "../contract/servers.ts";
import { rpc } from "../helpers/http.ts";
import { EVERYTHING } from "../helpers/tasks.ts";

const REPLICA = fileURLToPath(new URL("../fixtures/task-replica.mjs", import.meta.url));

interface Replica {
  readonly child: ChildProcess;
  readonly url: string;
}

export type TaskReplicasStore = "postgres" | "redis";

/** Whatever the store, the effects of steps are counted in PostgreSQL. */
export class TaskReplicas {
  readonly schema = `parley_kill_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
  readonly pool = new pg.Pool({ connectionString: POSTGRES_URL, max: 2 });
  readonly events: Record<string, number> = {};
  readonly #keys = randomBytes(32).toString("base64url");
  readonly #replicas: Replica[] = [];
  readonly #leaseMs: number;
  readonly #redis: { readonly url: string; readonly prefix: string } | undefined;
  #next = 0;
  kills = 0;

  constructor(leaseMs: number, store: TaskReplicasStore) {
    this.#leaseMs = leaseMs;
    this.#redis = store === "redis" ? { url: REDIS_URL, prefix: `${this.schema}:` } : undefined;
  }

  async start(count: number): Promise<void> {
    await this.pool.query(`CREATE SCHEMA ${this.schema}`);
    await this.pool.query(`CREATE TABLE ${this.schema}.runs (task integer, step text)`);
    await this.pool.query(
      `CREATE TABLE ${this.schema}.effects (key text PRIMARY KEY, task integer, step text, at timestamptz DEFAULT clock_timestamp())`,
    );
    this.#replicas.push(...(await Promise.all(Array.from({ length: count }, () => this.#fork()))));
  }

  async #fork(): Promise<Replica> {
    const setting = { url: POSTGRES_URL, schema: this.schema, redis: this.#redis, leaseMs: this.#leaseMs };
    const child = fork(REPLICA, { env: { ...process.env, REPLICA: JSON.stringify(setting), PARLEY_KEYS: this.#keys } });
    const url = await new Promise<string>((resolve) => {
      child.on("message", ({ event, url: own }: { event?: string; url?: string }) => {
        if (own !== undefined) resolve(own);
        else if (event !== undefined) this.events[event] = (this.events[event] ?? 0) + 1;
      });
    });
    return { child, url };
  }

  /** The one that has lived longest dies in the middle of whatever it does; another takes its place. */
  async kill(): Promise<void> {
    const victim = this.#replicas.shift();
    if (victim === undefined) return;
    victim.child.kill("SIGKILL");
    this.kills++;
    this.#replicas.push(await this.#fork());
  }

  /** One request to whichever replica is next; again elsewhere when it dies on the way. */
  async send(method: string, params: Record<string, unknown>): Promise<Record<string, unknown>> {
    const headers = { "mcp-name": String(params["taskId"] ?? params["name"]) };
    for (let tries = 0; ; tries++) {
      const replica = this.#replicas[this.#next++ % this.#replicas.length];
      if (replica === undefined) throw new Error("there is no replica");
      try {
        const { result, error } = await rpc(replica.url, method, params, { capabilities: EVERYTHING, headers });
        if (result !== undefined) return result;
        throw new Error(JSON.stringify(error));
      } catch (error) {
        if (tries > 40 || !(error instanceof TypeError || error instanceof SyntaxError)) throw error;
        await sleep(25);
      }
    }
  }

  async end(): Promise<void> {
    for (const { child } of this.#replicas) child.kill("SIGKILL");
    await Promise.all(this.#replicas.map(({ child }) => child.exitCode ?? child.signalCode ?? once(child, "exit")));
    await this.pool.query(`DROP SCHEMA ${this.schema} CASCADE`);
    await this.pool.query(`DROP SCHEMA IF EXISTS ${this.schema}_queue CASCADE`);
    await this.pool.end();
    if (this.#redis === undefined) return;
    const client = new Redis(this.#redis.url);
    for await (const keys of client.scanStream({ match: `{${this.#redis.prefix}*`, count: 1_000 }))
      if (keys.length > 0) await client.del(...(keys as string[]));
    client.disconnect();
  }
}

/** Drives one task to its end: each question once, with an answer that only it can have. */
export async function driveTask(replicas: TaskReplicas, n: number, answeredAt: Map<string, number>): Promise<unknown> {
  // Named, so that a call whose response was lost meets the task it began.
  const _meta = { "mcp-parley/call-id": `${randomUUID()}` };
  const { taskId } = await replicas.send("tools/call", { name: "job", arguments: { n }, _meta });
  const answers: Record<string, number> = { a: 2 * n, b: 3 * n };
  const answered = new Set<string>();
  for (;;) {
    const { status, inputRequests = {}, result, error } = await replicas.send("tasks/get", { taskId });
    if (status === "completed") return JSON.parse((result as { content: { text: string }[] }).content[0]?.text ?? "");
    if (status === "failed" || status === "cancelled") throw new Error(`task ${n}: ${status} ${JSON.stringify(error)}`);
    for (const key of Object.keys(inputRequests as object)) {
      if (answered.has(key)) continue;
      answered.add(key);
      const inputResponses = { [key]: { action: "accept", content: { value: answers[key] } } };
      await replicas.send("tasks/update", { taskId, inputResponses });
      answeredAt.set(`${n} ${key === "a" ? "second" : "third"}`, Date.now());
    }
    await sleep(200);
  }
}
