import type { McpServer } from "@modelcontextprotocol/server";
import type { AnyFlow } from "../flow/define.ts";
import { mount } from "./mount.ts";
import { type ParleyOptions, resolveOptions } from "./options.ts";
import { RoundServer } from "./serve.ts";
import { createTickets, type TicketOptions, type Tickets } from "./tickets.ts";

export interface Parley {
  /**
   * Adds flows to an `McpServer`. Call it wherever you register tools: under `createMcpHandler` that is once per
   * request, and it is cheap. Existing tools, prompts and resources stay as they are.
   * @throws ParleyError `configuration`, `sdk_incompatible`
   */
  register(mcpServer: McpServer, flows: readonly AnyFlow[]): void;
  /**
   * Links that only the call's own caller can complete. Needs the option `ledger`.
   * @throws ParleyError `configuration`
   */
  tickets(options: TicketOptions): Tickets;
  /** Ids of the keys in use, newest first. Ids are public. */
  readonly keyIds: readonly string[];
}

/**
 * Parley for one service: keys, limits and an observer. Make one per process and share it.
 * @throws ParleyError `configuration` for an option that is missing or wrong, with the option named.
 */
export function createParley(options: ParleyOptions = {}): Parley {
  const resolved = resolveOptions(options);
  const rounds = new RoundServer(resolved);
  const prefixes = resolved.ring.ids.map((id) => `p1.${id}.`);
  const isOurs = (state: string) => prefixes.some((prefix) => state.startsWith(prefix));
  return {
    register: (mcpServer, flows) => mount(mcpServer, flows, rounds, isOurs),
    tickets: (own) => createTickets(resolved, own),
    keyIds: resolved.ring.ids,
  };
}
