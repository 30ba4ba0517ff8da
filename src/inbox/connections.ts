/** The servers of an inbox: connected when first needed, and again after a connection has ended. */
import type { Client } from "@modelcontextprotocol/client";
import { ParleyError } from "../errors.ts";
import { toolHarm } from "../policy/harm.ts";
import { inert, inline } from "../present/text.ts";
import type { ServerItem } from "./api.ts";
import { reasonText } from "./failures.ts";
import type { InboxServer } from "./options.ts";

interface Connection {
  status: ServerItem["status"];
  problem?: string;
  client?: Promise<Client>;
  harm?: ReturnType<typeof toolHarm>;
}

export class Connections {
  readonly #servers: Readonly<Record<string, InboxServer>>;
  readonly #connections = new Map<string, Connection>();
  readonly #end = new AbortController();
  readonly #onChange: () => void;

  constructor(servers: Readonly<Record<string, InboxServer>>, onChange: () => void) {
    this.#servers = servers;
    this.#onChange = onChange;
    for (const name of this.names) this.#connections.set(name, { status: "connecting" });
  }

  get names(): readonly string[] {
    return Object.keys(this.#servers);
  }

  has(name: string): boolean {
    return this.#connections.has(name);
  }

  item(name: string, muted: boolean): ServerItem {
    const { status, problem } = this.#connections.get(name) as Connection;
    return {
      id: name,
      name: inline(name, 100),
      status,
      ...(problem !== undefined && { problem: inert(problem, 500) }),
      muted,
    };
  }

  /** The server's client. @throws what `connect` throws; the next call tries again. */
  client(name: string): Promise<Client> {
    const connection = this.#connections.get(name);
    if (connection === undefined) {
      const message = `There is no server ${JSON.stringify(name)} here.`;
      return Promise.reject(new ParleyError("configuration", message));
    }
    connection.client ??= this.#connect(name, connection);
    return connection.client;
  }

  /** Whether a tool may do harm, as far as is known. The server's list is read once per connection. */
  async mayHarm(name: string, tool: string): Promise<boolean> {
    const connection = this.#connections.get(name) as Connection;
    connection.harm ??= toolHarm(await this.client(name));
    return connection.harm(tool);
  }

  async close(): Promise<void> {
    this.#end.abort(new ParleyError("aborted", "The inbox was closed."));
    const clients = [...this.#connections.values()].map(({ client }) => client);
    await Promise.allSettled(clients.map(async (client) => (await client)?.close()));
  }

  async #connect(name: string, connection: Connection): Promise<Client> {
    try {
      const client = await (this.#servers[name] as InboxServer).connect(this.#end.signal);
      const { onclose } = client;
      client.onclose = () => {
        onclose?.();
        this.#lost(connection);
      };
      connection.status = "ready";
      delete connection.problem;
      this.#onChange();
      return client;
    } catch (error) {
      connection.status = "unreachable";
      connection.problem = reasonText(name, error);
      delete connection.client;
      this.#onChange();
      throw error;
    }
  }

  #lost(connection: Connection): void {
    connection.status = "connecting";
    delete connection.client;
    delete connection.harm;
    this.#onChange();
  }
}
