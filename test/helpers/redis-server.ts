import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Redis } from "ioredis";

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** Keeps nothing on disk, so nothing of it outlives the process. */
const IN_MEMORY = ["--save", "", "--appendonly", "no"];

/** A redis-server of a test's own on loopback, once it answers. `onSpawn` sees the process before that. */
export async function startRedis(
  port: number,
  options: { readonly args?: readonly string[]; readonly onSpawn?: (server: ChildProcess) => void } = {},
): Promise<ChildProcess> {
  const { args = IN_MEMORY, onSpawn } = options;
  const server = spawn("redis-server", ["--port", String(port), "--bind", "127.0.0.1", ...args], { stdio: "ignore" });
  onSpawn?.(server);
  const probe = new Redis({ port, lazyConnect: true, retryStrategy: () => 20 });
  probe.on("error", () => {});
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`redis-server ended with ${code}`)));
    probe.once("ready", resolve);
    probe.connect().catch(() => {});
  }).finally(() => probe.disconnect());
  return server;
}

/** SIGKILL, and back when the process is gone. */
export async function killServer(server: ChildProcess): Promise<void> {
  const gone = once(server, "exit");
  server.kill("SIGKILL");
  await gone;
}
