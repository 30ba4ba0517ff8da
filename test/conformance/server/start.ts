import { randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
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
import { createParley, type ParleyHandler } from "../../../src/index.ts";
import { byKind } from "../../../src/server/native/options.ts";
import { memoryTasks } from "../../../src/tasks/memory.ts";
import { collectFlows } from "./as-flows.ts";
import { askFlows, diagnosticFlows } from "./ask-flows.ts";
import { type Notify, registerPlainTools } from "./plain-tools.ts";
import { registerPromptsAndResources } from "./prompts-and-resources.ts";
import { taskFlows } from "./task-flows.ts";

export interface FixtureServer {
  readonly url: string;
  close(): Promise<void>;
}

/** The two ways to serve flows, each with all of the suite's fixtures. */
export const MOUNTS = { sdk: startOnSdk, native: startNative } as const;

const parley = () =>
  createParley({ keys: [randomBytes(32)], callers: "anonymous", tasks: memoryTasks(), onEvent: () => {} });

/** An ordinary `McpServer` per request, with flows on it. */
async function startOnSdk(): Promise<FixtureServer> {
  const flows = parley();
  const build = (notify: Notify): McpServer => {
    const server = new McpServer({ name: "parley-conformance", version: "1.0.0" });
    registerPlainTools(server, notify);
    registerPromptsAndResources(server);
    flows.register(server, [...askFlows, ...diagnosticFlows, ...taskFlows]);
    return server;
  };
  const handler = flows.taskSubscriptions(createMcpHandler((): McpServer => build(handler.notify)));
  const node = toNodeHandler({
    fetch: async (request, options) =>
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
      originValidationResponse(request, localhostAllowedOrigins()) ??
      handler.fetch(request, options),
  });
  return listening(
    (req, res) => void node(req as NodeIncomingMessageLike, res),
    async () => {
      await handler.close();
      await flows.close();
    },
  );
}

/** `parley.handler`, which checks Host and Origin itself. */
async function startNative(): Promise<FixtureServer> {
  const notify: Notify = {
    toolsChanged: () => handler.notify.toolsChanged(),
    promptsChanged: () => handler.notify.promptsChanged(),
  };
  const plain = collectFlows((to) => {
    registerPlainTools(to, notify);
    registerPromptsAndResources(to);
  });
  const server = parley();
  const handler: ParleyHandler = server.handler({
    name: "parley-conformance",
    version: "1.0.0",
    ...byKind([...plain, ...askFlows, ...diagnosticFlows, ...taskFlows]),
  });
  return listening(handler.listener, async () => {
    await handler.close();
    await server.close();
  });
}

async function listening(listener: RequestListener, closeHandler: () => Promise<void>): Promise<FixtureServer> {
  const http = createServer(listener);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await closeHandler();
      http.closeAllConnections();
      await new Promise<void>((resolve) => http.close(() => resolve()));
    },
  };
}
