/** What every store in Redis does alike: the client, its connection, and scripts run by their digests. */
import { createHash } from "node:crypto";
import type { Deadlines } from "./deadlines.ts";
import { type Late, stopIfLate } from "./operations.ts";
import { loadPeer } from "./peer.ts";

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

export type RedisArgument = string | number | Buffer;

export interface Script {
  readonly text: string;
  readonly sha1: string;
}

export function scriptsOf<Name extends string>(texts: Readonly<Record<Name, string>>): Readonly<Record<Name, Script>> {
  const scripts = Object.entries<string>(texts).map(([name, text]) => [
    name,
    { text, sha1: createHash("sha1").update(text).digest("hex") },
  ]);
  return Object.fromEntries(scripts) as Record<Name, Script>;
}

/**
 * ioredis keeps commands for a server that is away and sends them when it is back. A claim sent so late would hold what it
 * claimed for somebody who has long failed, so here nothing is sent unless the connection is ready, and nothing waits for
 * an answer whose connection is lost.
 */
export class RedisConnection {
  readonly #client: RedisClient;
  readonly #onLost: () => void;
  #becoming: Promise<void> | undefined;

  constructor(client: RedisClient, deadlines: Deadlines) {
    this.#client = client;
    this.#onLost = () => {
      this.#becoming = undefined;
      deadlines.failAll(new Error("the connection was lost"));
    };
    client.on("close", this.#onLost);
    client.on("end", this.#onLost);
  }

  /** Runs a script on one key, in one round trip where the server knows it already. */
  run<T>(
    { sha1, text }: Script,
    key: string,
    args: readonly RedisArgument[],
    late: Late,
    read: (reply: unknown) => T,
  ): Promise<T> {
    const client = this.#client;
    const rest = [1, key, ...args];
    const send = () =>
      client.callBuffer("evalsha", [sha1, ...rest]).then(read, (error: unknown) => {
        if (!(error instanceof Error) || !error.message.startsWith("NOSCRIPT")) throw error;
        stopIfLate(late);
        return client.callBuffer("eval", [text, ...rest]).then(read);
      });
    return client.status === "ready" ? send() : this.#ready(late).then(send);
  }

  async #ready(late: Late): Promise<void> {
    const { status } = this.#client;
    if (status === "reconnecting" || status === "end" || status === "close")
      throw new Error(`not connected (${status})`);
    if (status === "wait") this.#client.connect().catch(() => {});
    this.#becoming ??= new Promise<void>((resolve) => this.#client.once("ready", resolve)).then(() => {
      this.#becoming = undefined;
    });
    await this.#becoming;
    stopIfLate(late);
  }

  /** Watches the connection no more. */
  close(): void {
    this.#client.off("close", this.#onLost);
    this.#client.off("end", this.#onLost);
  }
}

/** A client of our own, which connects at its first command. @throws ParleyError `configuration` */
export function connectRedis<Client extends RedisClient>(url: string, store: string, timeoutMs: number): Client {
  const { Redis } = loadPeer("ioredis", `${store}({ url })`) as {
    Redis: new (url: string, options: Record<string, unknown>) => Client;
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
