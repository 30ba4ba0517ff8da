import type { McpServer } from "@modelcontextprotocol/server";
import type { AnyFlow } from "../flow/define.ts";
import { mount } from "./mount.ts";
import { createHandler, type ParleyHandler } from "./native/handler.ts";
import type { HandlerOptions } from "./native/options.ts";
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
   * Serves flows over HTTP without an `McpServer`, several times as fast. Clients of earlier revisions and subscriptions
   * are handed to the SDK, on the same definitions.
   * @throws ParleyError `configuration`, `sdk_incompatible`
   */
  handler(options: HandlerOptions): ParleyHandler;
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
  const register = (mcpServer: McpServer, flows: readonly AnyFlow[]) => mount(mcpServer, flows, rounds, isOurs);
  return {
    register,
    handler: (own) => createHandler(own, rounds, register),
    tickets: (own) => createTickets(resolved, own),
    keyIds: resolved.ring.ids,
  };
}
