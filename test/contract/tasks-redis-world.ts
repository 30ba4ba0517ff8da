/** Redis for tests of its task store: one shared server and servers of a test's own, and what is left behind cleared away. */
import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cluster, Redis } from "ioredis";
import type { NewTask, TaskClaimRequest, TaskStore } from "../../src/tasks/contract.ts";
import { type RedisTasksClient, redisTasks } from "../../src/tasks/redis.ts";
import { freePort, startRedis } from "../helpers/redis-server.ts";
import { until } from "../helpers/until.ts";
import { REDIS_URL, whenReachable } from "./servers.ts";

export const whenRedis = await whenReachable(`Redis at ${REDIS_URL}`, async () => {
  const probe = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
  probe.on("error", () => {});
  await probe.connect();
  probe.disconnect();
});

export function claimOf(task: NewTask, more: Partial<TaskClaimRequest> = {}): TaskClaimRequest {
  return { holder: randomUUID(), kinds: [task.kind], leaseMs: 60_000, perOwner: 10, ...more };
}

export class RedisWorld {
  readonly prefix = `parley-test-${randomUUID()}:`;
  readonly #folder = mkdtempSync(join(tmpdir(), "parley-tasks-redis-"));
  readonly #servers: ChildProcess[] = [];
  readonly #closers: (() => unknown)[] = [];
  #admin: Redis | undefined;

  get admin(): Redis {
    this.#admin ??= new Redis(REDIS_URL);
    return this.#admin;
  }

  /** One more process, on a connection of its own. */
  process(source: RedisTasksClient | { url: string } = { url: REDIS_URL }, more: object = {}): TaskStore {
    const store = redisTasks(source, { prefix: this.prefix, ...more });
    this.later(() => store.close());
    return store;
  }

  /** A client that is disconnected after the test. */
  client<Client extends { disconnect(): void }>(client: Client): Client {
    this.later(() => client.disconnect());
    return client;
  }

  later(close: () => unknown): void {
    this.#closers.push(close);
  }

  async start(port: number, args?: readonly string[]): Promise<ChildProcess> {
    return startRedis(port, { ...(args && { args }), onSpawn: (server) => this.#servers.push(server) });
  }

  folder(): string {
    return mkdtempSync(join(this.#folder, "d"));
  }

  /** A cluster of one server, which has all slots. */
  async startCluster(): Promise<() => Cluster> {
    const port = await freePort();
    const args = ["--cluster-enabled", "yes", "--cluster-announce-ip", "127.0.0.1", "--dir", this.folder()];
    await this.start(port, [...args, "--save", ""]);
    const admin = new Redis(port);
    await admin.call("CLUSTER", "ADDSLOTSRANGE", "0", "16383");
    await until(async () => ((await admin.cluster("INFO")).includes("cluster_state:ok") ? true : undefined));
    admin.disconnect();
    return () => this.client(new Cluster([{ host: "127.0.0.1", port }]));
  }

  async keysUnder(prefix: string): Promise<string[]> {
    const found: string[] = [];
    for await (const batch of this.admin.scanStream({ match: `*${prefix}*`, count: 1_000 }))
      found.push(...(batch as string[]));
    return found;
  }

  /** Ends what a test opened. */
  async close(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) await close();
  }

  async end(): Promise<void> {
    await this.close();
    const left = await this.keysUnder(this.prefix);
    if (left.length > 0) await this.admin.del(...left);
    this.#admin?.disconnect();
    for (const server of this.#servers) server.kill("SIGKILL");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
