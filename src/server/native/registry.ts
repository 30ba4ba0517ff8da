/** What does not depend on a request, made once: who serves a name, its checks, its headers. */
import type { CacheHint, McpServer, StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { AnyFlow, PromptFlow, ResourceFlow, ToolFlow } from "../../flow/define.ts";
import { TASK_METHODS, TASKS_EXTENSION } from "../../protocol/tasks.ts";
import type { ParamHeader } from "./headers.ts";
import { paramHeaders } from "./param-headers.ts";

export interface ToolEntry {
  readonly flow: ToolFlow;
  readonly input: StandardSchemaWithJSON | undefined;
  readonly output: StandardSchemaWithJSON | undefined;
  readonly headers: readonly ParamHeader[];
}

export interface ResourceEntry {
  readonly flow: ResourceFlow;
  readonly hint: CacheHint;
}

export class Registry {
  readonly tools = new Map<string, ToolEntry>();
  readonly prompts = new Map<string, PromptFlow>();
  readonly #resources = new Map<string, ResourceEntry>();
  readonly #templates: ResourceEntry[] = [];
  /** Methods that are answered at all. */
  readonly methods: ReadonlySet<string>;
  /** A list that the author's own code makes, anew for every caller. */
  readonly listsResources: boolean;

  /** @param sdk A server on which the same flows are registered. */
  constructor(flows: readonly AnyFlow[], sdk: McpServer, readHint: CacheHint) {
    for (const flow of flows) this.#add(flow, sdk, readHint);
    this.methods = methodsOf(sdk);
    this.listsResources = flows.some(
      (flow) => flow.type === "resource" && typeof flow.uri !== "string" && flow.uri.listCallback !== undefined,
    );
  }

  #add(flow: AnyFlow, sdk: McpServer, readHint: CacheHint): void {
    switch (flow.type) {
      case "tool": {
        const { inputSchema, outputSchema } = flow.config;
        const headers = paramHeaders(sdk.toolInputSchemaJson(flow.name));
        this.tools.set(flow.name, { flow, input: inputSchema, output: outputSchema, headers });
        return;
      }
      case "prompt":
        this.prompts.set(flow.name, flow);
        return;
      case "resource": {
        const entry = { flow, hint: { ...readHint, ...flow.config.cacheHint } };
        if (typeof flow.uri === "string") this.#resources.set(flow.uri, entry);
        else this.#templates.push(entry);
      }
    }
  }

  /** Who serves a URI, and what the template makes of it. */
  resource(uri: string): { entry: ResourceEntry; variables: Record<string, string | string[]> } | undefined {
    const fixed = this.#resources.get(uri);
    if (fixed !== undefined) return { entry: fixed, variables: {} };
    for (const entry of this.#templates) {
      const { uri: template } = entry.flow;
      const variables = typeof template === "string" ? null : template.uriTemplate.match(uri);
      if (variables !== null) return { entry, variables };
    }
    return undefined;
  }
}

function methodsOf(sdk: McpServer): ReadonlySet<string> {
  const { tools, prompts, resources, completions, extensions } = sdk.server.getCapabilities();
  return new Set([
    "server/discover",
    "subscriptions/listen",
    ...(tools ? ["tools/list", "tools/call"] : []),
    ...(prompts ? ["prompts/list", "prompts/get"] : []),
    ...(resources ? ["resources/list", "resources/templates/list", "resources/read"] : []),
    ...(extensions !== undefined && TASKS_EXTENSION in extensions ? TASK_METHODS : []),
    ...(completions ? ["completion/complete"] : []),
  ]);
}
