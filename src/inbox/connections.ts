/** The servers of an inbox: connected when first needed, and again after a connection has ended. */
import type { Client, Tool } from "@modelcontextprotocol/client";
import { ParleyError } from "../errors.ts";
import { inert, inline } from "../present/text.ts";
import type { ServerItem } from "./api.ts";
import { reasonText } from "./failures.ts";
import { listTools } from "./listing.ts";
import type { InboxServer } from "./options.ts";

interface Connection {
  status: ServerItem["status"];
  problem?: string;
  client?: Promise<Client>;
  tools?: Promise<ReadonlyMap<string, Tool>>;
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

  /** What the server says of one of its tools; `undefined` when it does not list it. Read once per connection. */
  async tool(name: string, tool: string): Promise<Tool | undefined> {
    return (await this.tools(name)).get(tool);
  }

  async tools(name: string): Promise<ReadonlyMap<string, Tool>> {
    const client = await this.client(name);
    const connection = this.#connections.get(name) as Connection;
    connection.tools ??= listTools(client)
      .then((tools) => new Map(tools.map((tool) => [tool.name, tool])))
      .catch((error: unknown) => {
        delete connection.tools;
        throw error;
      });
    return connection.tools;
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
    delete connection.tools;
    this.#onChange();
  }
}
