/** The methods of tasks on an `McpServer`: requests that its own API takes in, so nothing is reached past. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
  type StandardSchemaV1,
} from "@modelcontextprotocol/server";
import { TASK_METHODS, TASKS_EXTENSION } from "../../protocol/tasks.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import type { TaskMethods } from "./methods.ts";

const mounted = new WeakSet<McpServer>();

/** Does nothing the second time. */
export function mountTasks(mcpServer: McpServer, methods: TaskMethods): void {
  if (mounted.has(mcpServer)) return;
  mounted.add(mcpServer);
  mcpServer.server.registerCapabilities({ extensions: { [TASKS_EXTENSION]: {} } });
  for (const method of TASK_METHODS) {
    mcpServer.server.setRequestHandler(method, { params: asIs }, (params, ctx) => {
      if (hasDropped(ctx))
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, "An inputResponses entry is no answer");
      const envelope = ctx.mcpReq.envelope as Record<string, unknown> | undefined;
      const capabilities = envelope?.[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities | undefined;
      const { inputResponses } = ctx.mcpReq;
      return methods.serve({ method, params, inputResponses, capabilities, authInfo: ctx.http?.authInfo });
    });
  }
}

/** The SDK takes out entries that are no answers, and says which. */
function hasDropped(ctx: ServerContext): boolean {
  return ((ctx.mcpReq as { droppedInputResponseKeys?: readonly string[] }).droppedInputResponseKeys ?? []).length > 0;
}

/** What the params must be is said in one place for both mounts (`methods.ts`). */
const asIs: StandardSchemaV1<Record<string, unknown>, Record<string, unknown>> = {
  "~standard": {
    version: 1,
    vendor: "mcp-parley",
    validate: (value) => ({ value: (value ?? {}) as Record<string, unknown> }),
  },
};
