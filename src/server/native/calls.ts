/** The three methods that run flows: `tools/call`, `prompts/get`, `resources/read`. */
import {
  type AuthInfo,
  type CacheHint,
  CLIENT_CAPABILITIES_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
} from "@modelcontextprotocol/server";
import { messageOf } from "../../errors.ts";
import type { AnyFlow } from "../../flow/define.ts";
import type { Flow, Progress } from "../../flow/types.ts";
import { isObject } from "../../internal/json.ts";
import type { ClientCapabilities, MrtrMethod } from "../../protocol/types.ts";
import type { RunSignal } from "../../replay/signal.ts";
import { stateRefused } from "../refusals.ts";
import type { RoundRequest, ServedFlow } from "../request.ts";
import type { RoundServer } from "../serve.ts";
import type { ModernRequest } from "./envelope.ts";
import type { Exchange } from "./exchange.ts";
import type { Registry, ToolEntry } from "./registry.ts";
import { checkedToolResult, toolError, type Validated, validated } from "./result.ts";

type Result = Record<string, unknown>;

export class Calls {
  readonly #registry: Registry;
  readonly #rounds: RoundServer;

  constructor(registry: Registry, rounds: RoundServer) {
    this.#registry = registry;
    this.#rounds = rounds;
  }

  /**
   * @returns The result as the flow returned it, or `input_required`.
   * @throws what becomes a JSON-RPC error.
   */
  async callTool(request: ModernRequest, entry: ToolEntry, exchange: Exchange): Promise<Result> {
    const round = new NativeRound("tools/call", entry.flow.name, request, exchange);
    let result: Result;
    try {
      const checked = toolArguments(entry, request.params["arguments"]);
      // Awaited only where there is something to wait for: an await takes as long as most of these checks.
      const args = checked instanceof Promise ? await checked : checked;
      result = await this.#serve(entry.flow, (flow) => entry.flow.run(args, flow), round);
      if (result["resultType"] === "input_required" || result["resultType"] === "task") return result;
      if (entry.output !== undefined) await checkOutput(entry, result);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      // A tool's own failure is a result for the model to read, not an error of the protocol (A34).
      result = toolError(messageOf(error));
    }
    return checkedToolResult(result);
  }

  async getPrompt(request: ModernRequest, exchange: Exchange): Promise<Result> {
    const { name, arguments: given } = request.params;
    const flow = this.#registry.prompts.get(String(name));
    if (flow === undefined) throw invalid(`Prompt ${String(name)} not found`);
    const { argsSchema } = flow.config;
    let args: unknown = {};
    if (argsSchema !== undefined) {
      const checked = await validated(argsSchema, given ?? {});
      if ("issues" in checked) throw invalid(`Invalid arguments for prompt ${flow.name}: ${checked.issues}`);
      args = checked.value;
    }
    const round = new NativeRound("prompts/get", flow.name, request, exchange);
    return this.#serve(flow, (own) => flow.run(args, own), round);
  }

  async readResource(request: ModernRequest, exchange: Exchange): Promise<Result> {
    const target = String(request.params["uri"]);
    if (!URL.canParse(target)) {
      throw invalid(`Resource URI ${target} is invalid`, { uri: target, reason: "invalid_uri" });
    }
    const uri = new URL(target);
    const found = this.#registry.resource(uri.toString());
    if (found === undefined) throw new ResourceNotFoundError(target);
    const { flow, hint } = found.entry;
    const round = new NativeRound("resources/read", target, request, exchange);
    const result = await this.#serve(flow, (own) => flow.run(uri, found.variables, own), round);
    if (result["resultType"] === "input_required") return result;
    // What a person's answers made is nobody else's, and no cache's (J1, J4).
    return "contents" in result && round.isRetry
      ? { ...result, ttlMs: 0, cacheScope: "private" }
      : withCacheFields(result, hint);
  }

  #serve(flow: AnyFlow, run: (flow: Flow) => unknown, round: NativeRound): Promise<Result> {
    const { version, singleUse } = flow.config;
    const served: ServedFlow<Result> = { version, singleUse, run: run as (flow: Flow) => Result };
    return this.#rounds.serve(served, round) as Promise<Result>;
  }
}

/** @throws Error, or rejects with one, when they are wrong. */
export function toolArguments({ input, flow }: ToolEntry, given: unknown): unknown {
  if (input === undefined) return {};
  const take = (checked: Validated): unknown => {
    if ("value" in checked) return checked.value;
    throw new Error(`Input validation error: Invalid arguments for tool ${flow.name}: ${checked.issues}`);
  };
  const checked = validated(input, given ?? {});
  return checked instanceof Promise ? checked.then(take) : take(checked);
}

/** A30: of a complete result only, and not of an error. */
export async function checkOutput({ output, flow }: ToolEntry, result: Result): Promise<void> {
  if (output === undefined || result["isError"] === true) return;
  const { structuredContent } = result;
  if (structuredContent === undefined) {
    throw new Error(
      `Output validation error: Tool ${flow.name} has an output schema but no structured content was provided`,
    );
  }
  const checked = await validated(output, structuredContent);
  if ("issues" in checked) {
    throw new Error(`Output validation error: Invalid structured content for tool ${flow.name}: ${checked.issues}`);
  }
}

function invalid(message: string, data?: unknown): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

/** J3 */
function withCacheFields(result: Result, hint: CacheHint): Result {
  const { ttlMs, cacheScope } = result;
  return {
    ...result,
    ttlMs: Number.isSafeInteger(ttlMs) && (ttlMs as number) >= 0 ? ttlMs : (hint.ttlMs ?? 0),
    cacheScope: cacheScope === "public" || cacheScope === "private" ? cacheScope : (hint.cacheScope ?? "private"),
  };
}

/** One request for a flow. The members that few flows use are made when they are asked for. */
class NativeRound implements RoundRequest {
  readonly method: MrtrMethod;
  readonly target: string;
  readonly params: ModernRequest["params"];
  readonly inputResponses: unknown;
  readonly requestState: unknown;
  readonly checkCapabilities = true;
  readonly #exchange: Exchange;

  constructor(method: MrtrMethod, target: string, { params }: ModernRequest, exchange: Exchange) {
    const { inputResponses, requestState } = params;
    if (requestState !== undefined && typeof requestState !== "string") throw stateRefused();
    this.method = method;
    this.target = target;
    this.params = params;
    this.inputResponses = inputResponses === undefined ? undefined : wellFormed(inputResponses);
    this.requestState = requestState;
    this.#exchange = exchange;
  }

  get authInfo(): AuthInfo | undefined {
    return this.#exchange.authInfo;
  }

  get capabilities(): ClientCapabilities {
    return this.params._meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities;
  }

  get signal(): RunSignal {
    return this.#exchange.signal;
  }

  get isRetry(): boolean {
    return this.inputResponses !== undefined || this.requestState !== undefined;
  }

  readonly sendProgress = async (progress: Progress): Promise<void> => {
    const { progressToken } = this.params._meta;
    if (progressToken === undefined) return;
    const params = { ...progress, progressToken };
    await this.#exchange.notify(JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params }));
  };
}

/** Without entries that are no answers: a wrapped one, or no object. They count as missing, and are asked for again (A16, A18). */
function wellFormed(responses: unknown): Record<string, unknown> {
  if (!isObject(responses)) return {};
  for (const key in responses) {
    if (!isAnswer(responses[key])) {
      return Object.fromEntries(Object.entries(responses).filter(([, answer]) => isAnswer(answer)));
    }
  }
  return responses;
}

/** Whether it can be an answer at all: an object, and not a wrapped one (A16). */
export function isAnswer(answer: unknown): boolean {
  return isObject(answer) && !("method" in answer) && !("result" in answer);
}
