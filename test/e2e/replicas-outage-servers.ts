/** Stores of a test's own that can be stopped and started again: everything else on the machine keeps its server. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { POSTGRES_URL, whenReachable } from "../contract/servers.ts";
import { freePort, killServer, startRedis } from "../helpers/redis-server.ts";

export interface Stoppable {
  readonly ledger: object;
  stop(): Promise<void>;
  start(): Promise<void>;
  clean(): Promise<void>;
}

export const withRedisServer = await whenReachable("the program redis-server", async () => {
  const [code] = await once(spawn("redis-server", ["--version"], { stdio: "ignore" }), "exit");
  if (code !== 0) throw new Error(`it ends with ${code}`);
});

/** A Redis server that has written down what it has answered: after SIGKILL and a restart everything is there. */
export async function ownRedis(): Promise<Stoppable> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "parley-redis-"));
  const durable = ["--dir", folder, "--save", "", "--appendonly", "yes", "--appendfsync", "always"];
  let server: ChildProcess | undefined;
  const stoppable: Stoppable = {
    ledger: { kind: "redis", url: `redis://127.0.0.1:${port}`, prefix: "outage:" },
    start: async () => {
      await startRedis(port, {
        args: durable,
        onSpawn: (started) => {
          server = started;
        },
      });
    },
    stop: async () => {
      if (server === undefined) return;
      const running = server;
      server = undefined;
      await killServer(running);
    },
    clean: async () => {
      await stoppable.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await stoppable.start();
  return stoppable;
}

/** PostgreSQL through a port of our own. To stop it is to close the port, cut what is open, and end the backends. */
export async function gatedPostgres(): Promise<Stoppable> {
  const real = new URL(POSTGRES_URL);
  const schema = `parley_outage_${randomUUID().replaceAll("-", "")}`;
  const application = `parley outage ${randomUUID()}`;
  const admin = new pg.Pool({ connectionString: POSTGRES_URL, max: 1 });
  const port = await freePort();
  const sockets = new Set<Socket>();
  const gate = createServer((from) => {
    const to = connect(Number(real.port || 5432), real.hostname);
    for (const [socket, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  const url = new URL(POSTGRES_URL);
  url.host = `127.0.0.1:${port}`;
  url.searchParams.set("application_name", application);
  const stoppable: Stoppable = {
    ledger: { kind: "postgres", url: url.href, schema },
    start: async () => {
      gate.listen(port, "127.0.0.1");
      await once(gate, "listening");
    },
    stop: async () => {
      if (!gate.listening) return;
      const closed = once(gate, "close");
      gate.close();
      await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [
        application,
      ]);
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    clean: async () => {
      await stoppable.stop();
      await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
      await admin.end();
    },
  };
  await stoppable.start();
  return stoppable;
}
