import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { createParley } from "../../../src/index.ts";
import { memoryTasks } from "../../../src/tasks/memory.ts";
import { askFlows, diagnosticFlows } from "./ask-flows.ts";
import { type Notify, registerPlainTools } from "./plain-tools.ts";
import { registerPromptsAndResources } from "./prompts-and-resources.ts";
import { taskFlows } from "./task-flows.ts";

export interface FixtureServer {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves the suite's fixtures on a free loopback port: an ordinary `McpServer` per request, with flows on it. */
export async function startFixtureServer(): Promise<FixtureServer> {
  const parley = createParley({
    keys: [randomBytes(32)],
    callers: "anonymous",
    tasks: memoryTasks(),
    onEvent: () => {},
  });
  const build = (notify: Notify): McpServer => {
    const server = new McpServer({ name: "parley-conformance", version: "1.0.0" });
    registerPlainTools(server, notify);
    registerPromptsAndResources(server);
    parley.register(server, [...askFlows, ...diagnosticFlows, ...taskFlows]);
    return server;
  };
  const handler = createMcpHandler((): McpServer => build(handler.notify));
  const node = toNodeHandler({
    fetch: async (request, options) =>
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      handler.fetch(request, options),
  });
  const http = createServer((req, res) => void node(req as NodeIncomingMessageLike, res));
  return listen(http, async () => {
    await handler.close();
    await parley.close();
  });
}

/** The fixtures of the tasks extension, served without an `McpServer`. */
export async function startNativeTaskServer(): Promise<FixtureServer> {
  const parley = createParley({
    keys: [randomBytes(32)],
    callers: "anonymous",
    tasks: memoryTasks(),
    onEvent: () => {},
  });
  const tools = taskFlows.filter((flow) => flow.type === "tool");
  const handler = parley.handler({ name: "parley-conformance", version: "1.0.0", tools });
  return listen(createServer(handler.listener), async () => {
    await handler.close();
    await parley.close();
  });
}

async function listen(http: Server, onClose: () => Promise<void>): Promise<FixtureServer> {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await onClose();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}
