import type { ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Redis } from "ioredis";
import { afterAll, expect, it } from "vitest";
import { redisLedger } from "../../src/ledger/redis.ts";
import { freePort, killServer, startRedis } from "../helpers/redis-server.ts";
import { bytes, fresh, other, testLedger } from "./ledger-suite.ts";
import { REDIS_URL, whenReachable } from "./servers.ts";

const run = await whenReachable(`Redis at ${REDIS_URL}`, async () => {
  const probe = new Redis(REDIS_URL, { lazyConnect: true, retryStrategy: () => null, connectTimeout: 1_000 });
  probe.on("error", () => {});
  await probe.connect();
  probe.disconnect();
});

const prefix = `parley-test-${randomUUID()}:`;

async function keys(client: Redis): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of client.scanStream({ match: `${prefix}*`, count: 1_000 }))
    found.push(...(batch as string[]));
  return found;
}

testLedger(
  "redis",
  async () => {
    const clients: Redis[] = [];
    const connect = () => {
      const client = new Redis(REDIS_URL);
      clients.push(client);
      return client;
    };
    const admin = connect();
    return {
      open: () => redisLedger(connect(), { prefix }),
      calls: async () => (await keys(admin)).length,
      end: async () => {
        const left = await keys(admin);
        for (let at = 0; at < left.length; at += 500) await admin.del(...left.slice(at, at + 500));
        for (const client of clients) client.disconnect();
      },
    };
  },
  run,
);

run("redis ledger", () => {
  it("keeps one key for a call, with an expiry, under the prefix and ioredis's own", async () => {
    const client = new Redis(REDIS_URL, { keyPrefix: prefix });
    const ledger = redisLedger(client, { prefix: "p:" });
    const request = fresh({ keepMs: 30_000, leaseMs: 1_000 });
    await ledger.claim(request);
    await ledger.claim(other(request, { round: 1 }));
    expect(await client.exists(`p:${request.call}`)).toBe(1);
    const left = await client.pttl(`p:${request.call}`);
    expect(left).toBeGreaterThan(25_000);
    expect(left).toBeLessThanOrEqual(37_500);
    await client.del(`p:${request.call}`);
    client.disconnect();
  });

  it("a step sent twice by a client that reconnected is recorded once", async () => {
    const client = new Redis(REDIS_URL);
    const twice = {
      status: "ready",
      connect: () => client.connect(),
      disconnect: () => {},
      on: () => client,
      once: () => client,
      off: () => client,
      callBuffer: async (command: string, args: (string | Buffer | number)[]) => {
        await client.callBuffer(command, args);
        return client.callBuffer(command, args);
      },
    };
    const request = fresh();
    const ledger = redisLedger(client, { prefix });
    await ledger.claim(request);
    const doubling = redisLedger(twice, { prefix });
    expect(await doubling.recordStep(request, bytes("once"), 60_000)).toBe(true);
    expect(await ledger.claim(request)).toMatchObject({ attempt: 1, steps: [Buffer.from("once")] });
    client.disconnect();
  });

  it("names a bad option", () => {
    expect(() => redisLedger({ url: REDIS_URL }, { timeoutMs: -1 })).toThrow(/timeoutMs/);
  });
});

run("redis ledger faults", () => {
  const servers: ChildProcess[] = [];
  afterAll(() => {
    for (const server of servers) server.kill("SIGKILL");
  });

  const startServer = (port: number) => startRedis(port, { onSpawn: (server) => servers.push(server) });

  async function worksAgain(claim: () => Promise<{ type: string }>): Promise<string> {
    for (const until = performance.now() + 8_000; ; await sleep(50)) {
      try {
        return (await claim()).type;
      } catch (error) {
        if (performance.now() > until) throw error;
      }
    }
  }

  it.each(["its own client", "a client handed in"])(
    "%s: killed, fails closed quickly; back, works again",
    async (whose) => {
      const port = await freePort();
      let server = await startServer(port);
      const url = `redis://127.0.0.1:${port}`;
      const client = new Redis(url);
      client.on("error", () => {});
      const ledger = redisLedger(whose === "its own client" ? { url } : client);
      const request = fresh();
      expect((await ledger.claim(request)).type).toBe("won");
      await killServer(server);
      for (let count = 0; count < 3; count++) {
        const begun = performance.now();
        const failure = await ledger.settle(request, { outcome: bytes("x"), keepMs: 60_000 }).catch((error) => error);
        expect(failure).toMatchObject({ code: "ledger_unavailable", details: { store: "redis", operation: "settle" } });
        expect(performance.now() - begun).toBeLessThan(2_000);
      }
      server = await startServer(port);
      // The server came back empty: nothing that was asked for while it was away has been sent since.
      const late = new Redis(url);
      expect(await worksAgain(() => ledger.claim(fresh({ call: "after" })))).toBe("won");
      expect(await late.dbsize()).toBe(1);
      late.disconnect();
      client.disconnect();
      await ledger.close();
      await killServer(server);
    },
  );

  it("an answer that comes too late is a failure and never a win; the lease frees the round", async () => {
    const port = await freePort();
    const server = await startServer(port);
    const client = new Redis(port);
    const slow = redisLedger(client, { timeoutMs: 200 });
    await slow.claim(fresh());
    server.kill("SIGSTOP");
    const request = fresh({ leaseMs: 300 });
    const begun = performance.now();
    await expect(slow.claim(request)).rejects.toMatchObject({ code: "ledger_unavailable" });
    expect(performance.now() - begun).toBeLessThan(1_500);
    server.kill("SIGCONT");
    await sleep(50);
    const second = other(request);
    expect((await slow.claim(second)).type).toBe("running");
    await sleep(400);
    expect(await slow.claim(second)).toMatchObject({ type: "won", attempt: 2 });
    client.disconnect();
    await killServer(server);
  });

  it("a lost connection ends what is in flight at once, not after the timeout", async () => {
    const port = await freePort();
    const server = await startServer(port);
    const client = new Redis(port);
    client.on("error", () => {});
    const ledger = redisLedger(client, { timeoutMs: 20_000 });
    await ledger.claim(fresh());
    server.kill("SIGSTOP");
    const claim = ledger.claim(fresh()).catch((error) => error);
    await sleep(50);
    const begun = performance.now();
    await killServer(server);
    expect(await claim).toMatchObject({ code: "ledger_unavailable" });
    expect(performance.now() - begun).toBeLessThan(3_000);
    client.disconnect();
  });

  it("nobody listens: ledger_unavailable with the cause, from the first operation", async () => {
    const ledger = redisLedger({ url: `redis://127.0.0.1:${await freePort()}` });
    const begun = performance.now();
    await expect(ledger.claim(fresh())).rejects.toMatchObject({ code: "ledger_unavailable", cause: expect.any(Error) });
    expect(performance.now() - begun).toBeLessThan(3_000);
    await ledger.close();
  });
});
