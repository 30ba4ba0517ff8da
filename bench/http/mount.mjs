import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer } from "@modelcontextprotocol/server";
import { flowsFor, parley } from "./flows.mjs";
import { INFO } from "./work.mjs";

export function listenerFor(options) {
  const flows = flowsFor(options);
  return toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer(INFO);
      parley.register(server, flows);
      return server;
    }),
  );
}
