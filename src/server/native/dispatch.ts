/** From a message that was read to its answer. */
import { CLIENT_CAPABILITIES_META_KEY, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { isObject } from "../../internal/json.ts";
import type { TaskMethod } from "../../protocol/tasks.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import type { RoundServer } from "../serve.ts";
import type { TaskMethods } from "../tasks/methods.ts";
import { ACCEPTED, type Answer, errorAnswer, idOf, type Refusal, resultAnswer, thrownAnswer } from "./answer.ts";
import { Calls } from "./calls.ts";
import type { ModernRequest } from "./envelope.ts";
import type { Exchange } from "./exchange.ts";
import { checkParamHeaders } from "./headers.ts";
import { classify } from "./inbound.ts";
import type { ResolvedHandler } from "./options.ts";
import { Registry } from "./registry.ts";
import { ResultWriter } from "./result.ts";
import type { SdkSide } from "./sdk.ts";

/** The message is the SDK's to serve. */
export const HANDED_OVER = Symbol("handed over");

export class Dispatcher {
  readonly #sdk: SdkSide;
  readonly #registry: Registry;
  readonly #calls: Calls;
  readonly #tasks: TaskMethods | undefined;
  readonly #writer: ResultWriter;
  readonly #onError: (error: unknown) => void;
  /** Results that are the same for every request, by method: JSON. */
  readonly #fixed = new Map<string, string>();

  constructor(options: ResolvedHandler, sdk: SdkSide, rounds: RoundServer, tasks: TaskMethods | undefined) {
    this.#sdk = sdk;
    this.#registry = new Registry(options.flows, sdk.makeServer(), options.readHint);
    this.#tasks = tasks;
    this.#calls = new Calls(this.#registry, rounds);
    this.#writer = new ResultWriter(options.info);
    this.#onError = options.onError;
  }

  /** Never rejects. */
  async answer(message: unknown, exchange: Exchange): Promise<Answer | typeof HANDED_OVER> {
    try {
      const inbound = classify(message, exchange);
      switch (inbound.kind) {
        case "request":
          return await this.#serve(inbound.request, exchange);
        case "refused":
          return this.#refuse(idOf(message), inbound.refusal);
        case "notification":
          return ACCEPTED;
        case "legacy":
          return HANDED_OVER;
      }
    } catch (error) {
      // A fault of ours, or a result that JSON cannot carry.
      this.#onError(error);
      const fault = { status: 500, code: ProtocolErrorCode.InternalError, message: "Internal server error" };
      return errorAnswer(idOf(message), fault);
    }
  }

  #serve(
    request: ModernRequest,
    exchange: Exchange,
  ): Answer | typeof HANDED_OVER | Promise<Answer | typeof HANDED_OVER> {
    const { id, method, params } = request;
    if (!this.#registry.methods.has(method)) return this.#refuse(id, METHOD_NOT_FOUND);
    const wrong = malformed(method, params);
    if (wrong !== undefined) return errorAnswer(id, invalidParams(wrong));
    switch (method) {
      case "tools/call": {
        const entry = this.#registry.tools.get(params["name"] as string);
        if (entry === undefined) return errorAnswer(id, invalidParams(`Tool ${String(params["name"])} not found`));
        const refusal = checkParamHeaders(entry.headers, params["arguments"], exchange);
        if (refusal !== undefined) return this.#refuse(id, refusal);
        return this.#written(id, this.#calls.callTool(request, entry, exchange));
      }
      case "prompts/get":
        return this.#written(id, this.#calls.getPrompt(request, exchange));
      case "resources/read":
        return this.#written(id, this.#calls.readResource(request, exchange));
      case "resources/list":
        return this.#registry.listsResources ? HANDED_OVER : this.#answerFixed(request);
      case "tools/list":
      case "prompts/list":
      case "resources/templates/list":
      case "server/discover":
        return this.#answerFixed(request);
      case "tasks/get":
      case "tasks/update":
      case "tasks/cancel":
        return this.#written(id, this.#serveTask(method, request, exchange));
      default:
        return HANDED_OVER;
    }
  }

  async #serveTask(method: TaskMethod, { params }: ModernRequest, { authInfo }: Exchange) {
    const capabilities = params._meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities;
    const { inputResponses } = params;
    // Only in the methods that are answered where there are tasks.
    return (this.#tasks as TaskMethods).serve({ method, params, inputResponses, capabilities, authInfo });
  }

  #written(id: ModernRequest["id"], served: Promise<Record<string, unknown>>): Promise<Answer> {
    return served.then(
      (result) => resultAnswer(id, this.#writer.write(result)),
      (error: unknown) => thrownAnswer(id, error),
    );
  }

  /** What the SDK makes of the same definitions, made once. */
  async #answerFixed({ id, method }: ModernRequest): Promise<Answer> {
    const known = this.#fixed.get(method);
    if (known !== undefined) return resultAnswer(id, known);
    const { status, body } = await this.#sdk.ask(method);
    if (body["result"] === undefined) return { status, text: JSON.stringify({ ...body, id }) };
    const text = JSON.stringify(body["result"]);
    this.#fixed.set(method, text);
    return resultAnswer(id, text);
  }

  #refuse(id: ModernRequest["id"] | null, refusal: Refusal): Answer {
    this.#onError(new Error(`Refused a request: ${refusal.message}`));
    return errorAnswer(id, refusal);
  }
}

const METHOD_NOT_FOUND: Refusal = { status: 404, code: ProtocolErrorCode.MethodNotFound, message: "Method not found" };

/** G31: the status of an error is the envelope's affair; this one is the method's. */
function invalidParams(message: string): Refusal {
  return { status: 200, code: ProtocolErrorCode.InvalidParams, message };
}

/** What the params of a method must be, as the SDK's schemas have it; in one line. */
function malformed(method: string, params: ModernRequest["params"]): string | undefined {
  const isText = (name: string) => typeof params[name] === "string";
  const wrong = (name: string, rule: string) => `Invalid ${method} request: params.${name} must be ${rule}`;
  switch (method) {
    case "tools/call":
      if (!isText("name")) return wrong("name", "a string");
      return params["arguments"] === undefined || isObject(params["arguments"])
        ? undefined
        : wrong("arguments", "an object");
    case "prompts/get": {
      if (!isText("name")) return wrong("name", "a string");
      const args = params["arguments"];
      const ok =
        args === undefined || (isObject(args) && Object.values(args).every((value) => typeof value === "string"));
      return ok ? undefined : wrong("arguments", "an object of strings");
    }
    case "resources/read":
      return isText("uri") ? undefined : wrong("uri", "a string");
    default:
      return params["cursor"] === undefined || isText("cursor") ? undefined : wrong("cursor", "a string");
  }
}
