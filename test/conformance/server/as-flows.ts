import type { CallToolResult, GetPromptResult, McpServer, ReadResourceResult } from "@modelcontextprotocol/server";
import { type AnyFlow, prompt, resource, tool } from "../../../src/index.ts";

type Handler<R> = (...args: unknown[]) => R | Promise<R>;

/**
 * Takes registrations meant for an `McpServer` and makes flows of them, so that one list of fixtures serves both mounts.
 * Its handlers get no SDK context but a log that goes nowhere: flows do not log.
 */
export function collectFlows(register: (to: McpServer) => void): AnyFlow[] {
  const flows: AnyFlow[] = [];
  const context = { mcpReq: { log: async () => undefined } };
  const collector = {
    registerTool: (name: string, config: Parameters<typeof tool>[1], run: Handler<CallToolResult>) => {
      const takesArguments = config.inputSchema !== undefined;
      flows.push(tool(name, config, (args) => (takesArguments ? run(args, context) : run(context))));
    },
    registerPrompt: (name: string, config: Parameters<typeof prompt>[1], run: Handler<GetPromptResult>) => {
      const takesArguments = config.argsSchema !== undefined;
      flows.push(prompt(name, config, (args) => (takesArguments ? run(args, context) : run(context))));
    },
    registerResource: (
      name: string,
      uri: Parameters<typeof resource>[1],
      config: Parameters<typeof resource>[2],
      run: Handler<ReadResourceResult>,
    ) => {
      flows.push(resource(name, uri, config, (url, variables) => run(url, variables, context)));
    },
  };
  register(collector as unknown as McpServer);
  return flows;
}
