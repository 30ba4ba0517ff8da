/** Two replicas behind a proxy, and the callers who know the way in. */
import { randomBytes } from "node:crypto";
import { Client, StreamableHTTPClientTransport, type Transport } from "@modelcontextprotocol/client";
import { type Calls, createCalls } from "../calls/calls.ts";
import type { CallsOptions } from "../calls/options.ts";
import { generateKey } from "../state/index.ts";
import { startProxy } from "./proxy.ts";
import { Replica, Reports } from "./replicas.ts";

export type Caller = "alice" | "bob";

export interface Service {
  readonly replicas: readonly Replica[];
  readonly reports: Reports;
  /** A host of this caller, on a connection of its own. */
  callsOf(caller: Caller, options?: Partial<CallsOptions>): Promise<Calls>;
  stop(): Promise<void>;
}

/** Starts a service whose states are valid for `roundTtlMs`; the key is fresh and is never printed. */
export async function startService(names: readonly string[], roundTtlMs?: number): Promise<Service> {
  const { key } = generateKey(randomBytes);
  const tokens = { alice: randomBytes(16).toString("hex"), bob: randomBytes(16).toString("hex") };
  const callers = JSON.stringify(
    Object.fromEntries(
      Object.entries(tokens).map(([subject, token]) => [token, { subject, clientId: "demo", scopes: [] }]),
    ),
  );
  const reports = new Reports();
  const options = { key, callers, ...(roundTtlMs !== undefined && { roundTtlMs }) };
  const replicas = names.map((name) => new Replica({ name, ...options }, reports.add));
  const stopReplicas = () => Promise.all(replicas.map((replica) => replica.stop()));
  try {
    await Promise.all(replicas.map((replica) => replica.start()));
  } catch (error) {
    await stopReplicas();
    throw error;
  }
  const proxy = await startProxy(replicas.map(({ url }) => url));
  const clients: Client[] = [];
  return {
    replicas,
    reports,
    async callsOf(caller, callsOptions = {}) {
      const client = new Client(
        { name: "parley-demo", version: "1.0.0" },
        { versionNegotiation: { mode: { pin: "2026-07-28" } } },
      );
      clients.push(client);
      const headers = { authorization: `Bearer ${tokens[caller]}` };
      await client.connect(
        new StreamableHTTPClientTransport(new URL(proxy.url), { requestInit: { headers } }) as Transport,
      );
      return createCalls(client, { server: "demo", ...callsOptions });
    },
    async stop() {
      await Promise.all(clients.map((client) => client.close()));
      await proxy.stop();
      await stopReplicas();
    },
  };
}
