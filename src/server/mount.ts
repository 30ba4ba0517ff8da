import type {
  CallToolResult,
  GetPromptResult,
  InputRequiredResult,
  McpServer,
  ReadResourceResult,
  ServerContext,
} from "@modelcontextprotocol/server";
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError } from "@modelcontextprotocol/server";
import { ParleyError } from "../errors.ts";
import type { AnyFlow, PromptFlow, ResourceFlow, ToolFlow } from "../flow/define.ts";
import type { Flow } from "../flow/types.ts";
import type { ClientCapabilities, MrtrMethod } from "../protocol/types.ts";
import type { RoundRequest, ServedFlow } from "./request.ts";
import { type Exchange, exchangeOf, openSeam } from "./seam.ts";
import type { RoundServer } from "./serve.ts";

type Served<R> = R | InputRequiredResult;

/** Registers flows on an ordinary `McpServer`, next to whatever is registered on it the usual way. */
export function mount(
  mcpServer: McpServer,
  flows: readonly AnyFlow[],
  rounds: RoundServer,
  isOurs: (state: string) => boolean,
): void {
  if (typeof mcpServer?.registerTool !== "function" || mcpServer.server === undefined) {
    throw new ParleyError(
      "configuration",
      "register: the first argument must be an McpServer of @modelcontextprotocol/server.",
    );
  }
  if (!Array.isArray(flows)) {
    throw new ParleyError(
      "configuration",
      "register: the second argument must be an array of flows: register(server, [flow]).",
    );
  }
  const methods = new Set<MrtrMethod>();
  for (const flow of flows) methods.add(mountOne(mcpServer, flow, rounds));
  for (const method of methods) openSeam(mcpServer, method, isOurs);
}

function mountOne(mcpServer: McpServer, flow: AnyFlow, rounds: RoundServer): MrtrMethod {
  switch (flow?.type) {
    case "tool":
      mountTool(mcpServer, flow, rounds);
      return "tools/call";
    case "prompt":
      mountPrompt(mcpServer, flow, rounds);
      return "prompts/get";
    case "resource":
      mountResource(mcpServer, flow, rounds);
      return "resources/read";
    default:
      throw new ParleyError("configuration", "register: every flow must come from tool(), prompt() or resource().");
  }
}

/** What the SDK is told of a tool. Made once: a server for each request registers every tool, and a copy takes longer. */
const toolConfigs = new WeakMap<ToolFlow, Omit<ToolFlow["config"], "version" | "singleUse" | "background">>();

function toolConfigOf(flow: ToolFlow) {
  const known = toolConfigs.get(flow);
  if (known !== undefined) return known;
  const { version: _, singleUse: __, background: ___, ...config } = flow.config;
  toolConfigs.set(flow, config);
  return config;
}

function mountTool(mcpServer: McpServer, flow: ToolFlow, rounds: RoundServer): void {
  const config = toolConfigOf(flow);
  const { inputSchema } = config;
  const serve = (args: unknown, ctx: ServerContext): Promise<Served<CallToolResult>> =>
    serveCallback(
      mcpServer,
      "tools/call",
      served(flow, (own) => flow.run(args, own)),
      rounds,
      ctx,
      {
        content: [],
        isError: true,
      },
    );
  if (inputSchema === undefined) {
    mcpServer.registerTool(flow.name, config as typeof config & { inputSchema?: undefined }, (ctx: ServerContext) =>
      serve({}, ctx),
    );
  } else mcpServer.registerTool(flow.name, config as typeof config & { inputSchema: typeof inputSchema }, serve);
}

function mountPrompt(mcpServer: McpServer, flow: PromptFlow, rounds: RoundServer): void {
  const { argsSchema, version: _, singleUse: __, ...config } = flow.config;
  const serve = (args: unknown, ctx: ServerContext): Promise<Served<GetPromptResult>> =>
    serveCallback(
      mcpServer,
      "prompts/get",
      served(flow, (own) => flow.run(args, own)),
      rounds,
      ctx,
      {
        messages: [],
      },
    );
  if (argsSchema === undefined) mcpServer.registerPrompt(flow.name, config, (ctx: ServerContext) => serve({}, ctx));
  else mcpServer.registerPrompt(flow.name, { ...config, argsSchema }, serve);
}

function mountResource(mcpServer: McpServer, flow: ResourceFlow, rounds: RoundServer): void {
  const { version: _, singleUse: __, ...config } = flow.config;
  const serve = async (
    uri: URL,
    variables: Record<string, string | string[]>,
    ctx: ServerContext,
  ): Promise<Served<ReadResourceResult>> => {
    const result = await serveCallback(
      mcpServer,
      "resources/read",
      served(flow, (own) => flow.run(uri, variables, own)),
      rounds,
      ctx,
      { contents: [] },
    );
    // What a person's answers made is nobody else's, and no cache's (J1, J4).
    return "contents" in result && isRetry(ctx, exchangeOf(ctx))
      ? { ...result, ttlMs: 0, cacheScope: "private" }
      : result;
  };
  const { uri } = flow;
  if (typeof uri === "string") mcpServer.registerResource(flow.name, uri, config, (url, ctx) => serve(url, {}, ctx));
  else mcpServer.registerResource(flow.name, uri, config, serve);
}

function served<R>(flow: AnyFlow, run: (flow: Flow) => R | Promise<R>): ServedFlow<R> {
  return { version: flow.config.version, singleUse: flow.config.singleUse, run };
}

async function serveCallback<R>(
  mcpServer: McpServer,
  method: MrtrMethod,
  flow: ServedFlow<R>,
  rounds: RoundServer,
  ctx: ServerContext,
  placeholder: R,
): Promise<Served<R>> {
  const exchange = exchangeOf(ctx);
  if (exchange === undefined) {
    throw new ParleyError("sdk_incompatible", `${method} reached a flow without passing Parley. Register flows last.`);
  }
  try {
    const result = (await rounds.serve(flow, requestOf(mcpServer, method, exchange, ctx))) as Served<R>;
    if ((result as { resultType?: unknown }).resultType !== "task") return result;
    exchange.answer = result;
    return placeholder;
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    exchange.fault = error;
    return placeholder;
  }
}

function requestOf(mcpServer: McpServer, method: MrtrMethod, exchange: Exchange, ctx: ServerContext): RoundRequest {
  const { mcpReq, http } = ctx;
  const envelope = mcpReq.envelope as Record<string, unknown> | undefined;
  const declared = envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? mcpServer.server.getClientCapabilities();
  const progressToken = mcpReq._meta?.progressToken;
  return {
    method,
    target: String(exchange.params[method === "resources/read" ? "uri" : "name"]),
    params: exchange.params,
    inputResponses: mcpReq.inputResponses,
    requestState: mcpReq.requestState() ?? exchange.state,
    authInfo: http?.authInfo,
    capabilities: declared as ClientCapabilities | undefined,
    checkCapabilities: envelope !== undefined,
    signal: mcpReq.signal,
    sendProgress: async (progress) => {
      if (progressToken === undefined) return;
      // Progress is a courtesy: a client that has gone must not make the flow fail.
      await mcpReq
        .notify({ method: "notifications/progress", params: { ...progress, progressToken } })
        .catch(() => undefined);
    },
  };
}

function isRetry({ mcpReq }: ServerContext, exchange: Exchange | undefined): boolean {
  return mcpReq.inputResponses !== undefined || mcpReq.requestState() !== undefined || exchange?.state !== undefined;
}
