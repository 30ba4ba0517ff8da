import type {
  CacheHint,
  CallToolResult,
  GetPromptResult,
  ReadResourceResult,
  ResourceTemplate,
  StandardSchemaWithJSON,
  Tool,
} from "@modelcontextprotocol/server";
import { ParleyError } from "../errors.ts";
import { checkNames } from "../internal/options.ts";
import { checkBackground } from "../replay/background.ts";
import type { BackgroundOptions } from "../replay/types.ts";
import type { Flow } from "./types.ts";

type MaybePromise<T> = T | Promise<T>;
type Input<S> = S extends StandardSchemaWithJSON ? StandardSchemaWithJSON.InferOutput<S> : Record<string, never>;

/** What every kind of flow may say about itself. */
export interface FlowConfig {
  readonly title?: string;
  readonly description?: string;
  /**
   * Raise it when a change makes old journals unusable (a renamed key, another order). A state of another version
   * starts the call over: the questions are asked again, and nothing of the old journal is used.
   */
  readonly version?: string;
  /** With a ledger: `false` leaves this flow out of it. Default: the server's `singleUse`. */
  readonly singleUse?: boolean;
}

export interface ToolConfig<I extends StandardSchemaWithJSON | undefined> extends FlowConfig {
  readonly inputSchema?: I;
  readonly outputSchema?: StandardSchemaWithJSON;
  /** Start as a task: as if the handler began with `await flow.background(options)`. */
  readonly background?: BackgroundOptions;
  readonly annotations?: NonNullable<Tool["annotations"]>;
  readonly icons?: NonNullable<Tool["icons"]>;
  readonly _meta?: Record<string, unknown>;
}

export interface PromptConfig<I extends StandardSchemaWithJSON | undefined> extends FlowConfig {
  readonly argsSchema?: I;
  readonly _meta?: Record<string, unknown>;
}

export interface ResourceConfig extends FlowConfig {
  readonly mimeType?: string;
  readonly cacheHint?: CacheHint;
  readonly _meta?: Record<string, unknown>;
}

/** Ours, and what the SDK takes besides. */
const TOOL_NAMES: Record<keyof ToolConfig<undefined> | "scopeChallenge", true> = {
  title: true,
  description: true,
  version: true,
  singleUse: true,
  inputSchema: true,
  outputSchema: true,
  background: true,
  annotations: true,
  icons: true,
  _meta: true,
  scopeChallenge: true,
};

/** A tool whose handler is a flow. Made by {@link tool}. */
export interface ToolFlow {
  readonly type: "tool";
  readonly name: string;
  readonly config: ToolConfig<StandardSchemaWithJSON | undefined>;
  run(args: unknown, flow: Flow): MaybePromise<CallToolResult>;
}
export interface PromptFlow {
  readonly type: "prompt";
  readonly name: string;
  readonly config: PromptConfig<StandardSchemaWithJSON | undefined>;
  run(args: unknown, flow: Flow): MaybePromise<GetPromptResult>;
}
export interface ResourceFlow {
  readonly type: "resource";
  readonly name: string;
  readonly uri: string | ResourceTemplate;
  readonly config: ResourceConfig;
  run(uri: URL, variables: Record<string, string | string[]>, flow: Flow): MaybePromise<ReadResourceResult>;
}
/** Anything `register` takes. */
export type AnyFlow = ToolFlow | PromptFlow | ResourceFlow;

/**
 * A tool that may ask in the middle. `handler` is an ordinary async function that runs from the top in every round.
 * @throws ParleyError `configuration` for a missing name or handler, and for an option that is wrong or unknown.
 */
export function tool<I extends StandardSchemaWithJSON | undefined = undefined>(
  name: string,
  config: ToolConfig<I>,
  handler: (args: Input<I>, flow: Flow) => MaybePromise<CallToolResult>,
): ToolFlow {
  check("tool", name, config, handler);
  checkNames(`tool "${name}"`, config, TOOL_NAMES);
  checkSchema(`tool "${name}": inputSchema`, config.inputSchema);
  checkSchema(`tool "${name}": outputSchema`, config.outputSchema);
  if (config.background !== undefined) checkBackground(config.background, `tool "${name}"`, "background");
  return Object.freeze({
    type: "tool",
    name,
    config: Object.freeze({ ...config }),
    run:
      config.background === undefined
        ? (args: unknown, flow: Flow) => handler(args as Input<I>, flow)
        : async (args: unknown, flow: Flow) => {
            await flow.background(config.background);
            return handler(args as Input<I>, flow);
          },
  });
}

/** A prompt that may ask. See {@link tool}. */
export function prompt<I extends StandardSchemaWithJSON | undefined = undefined>(
  name: string,
  config: PromptConfig<I>,
  handler: (args: Input<I>, flow: Flow) => MaybePromise<GetPromptResult>,
): PromptFlow {
  check("prompt", name, config, handler);
  checkSchema(`prompt "${name}": argsSchema`, config.argsSchema);
  return Object.freeze({
    type: "prompt",
    name,
    config: Object.freeze({ ...config }),
    run: (args: unknown, flow: Flow) => handler(args as Input<I>, flow),
  });
}

/** A resource, or a template of resources, that may ask. `variables` is empty for a fixed URI. */
export function resource(
  name: string,
  uri: string | ResourceTemplate,
  config: ResourceConfig,
  handler: (uri: URL, variables: Record<string, string | string[]>, flow: Flow) => MaybePromise<ReadResourceResult>,
): ResourceFlow {
  check("resource", name, config, handler);
  if (config.cacheHint?.cacheScope === "public") {
    throw new ParleyError(
      "configuration",
      `resource "${name}": what may ask depends on the caller, so cacheHint.cacheScope cannot be "public" (J9).`,
    );
  }
  return Object.freeze({ type: "resource", name, uri, config: Object.freeze({ ...config }), run: handler });
}

/** The SDK also takes a bare record of zod fields; a flow needs the schema that record stands for. */
function checkSchema(what: string, schema: unknown): void {
  if (schema === undefined || (typeof schema === "object" && schema !== null && "~standard" in schema)) return;
  if (typeof schema === "function" && "~standard" in schema) return;
  throw new ParleyError("configuration", `${what} must be a Standard Schema: wrap the fields in z.object({ ... }).`);
}

function check(type: string, name: unknown, config: FlowConfig, handler: unknown): void {
  if (typeof name !== "string" || name === "") {
    throw new ParleyError("configuration", `A ${type} needs a name: ${type}("name", config, handler).`);
  }
  if (config?.version !== undefined && typeof config.version !== "string") {
    throw new ParleyError("configuration", `${type} "${name}": version must be a string, such as "2".`);
  }
  if (typeof handler !== "function") {
    throw new ParleyError("configuration", `${type} "${name}" needs a handler: ${type}("${name}", config, handler).`);
  }
}
