import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, it } from "vitest";
import { redisTasks } from "../../src/tasks/redis.ts";
import { REDIS_URL, whenReachable } from "./servers.ts";
import { testTasks } from "./tasks-suite.ts";

const run = await whenReachable(`Redis at ${REDIS_URL}`, async () => {
  const probe = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
  probe.on("error", () => {});
  await probe.connect();
  probe.disconnect();
});

const newPrefix = () => `parley-test-${randomUUID()}:`;

async function keysUnder(client: Redis, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of client.scanStream({ match: `*${prefix}*`, count: 1_000 }))
    found.push(...(batch as string[]));
  return found;
}

testTasks(
  "redis",
  async () => {
    const prefix = newPrefix();
    const clients: Redis[] = [];
    const connect = () => {
      const client = new Redis(REDIS_URL);
      clients.push(client);
      return client;
    };
    const admin = connect();
    return {
      open: () => redisTasks(connect(), { prefix }),
      pass: (ms) => sleep(ms),
      end: async () => {
        const left = await keysUnder(admin, prefix);
        if (left.length > 0) await admin.del(...left);
        for (const client of clients) client.disconnect();
      },
    };
  },
  run,
);
