import type { IncomingMessage, ServerResponse } from "node:http";
import type { AuthInfo, ServerNotifier } from "@modelcontextprotocol/server";
import { messageOf, ParleyError } from "../../errors.ts";
import { inItsTurn } from "../../internal/turn.ts";
import type { RoundServer } from "../serve.ts";
import type { TaskMethods } from "../tasks/methods.ts";
import { PendingBytes } from "./body.ts";
import type { Core } from "./core.ts";
import { Dispatcher } from "./dispatch.ts";
import { Guard } from "./guard.ts";
import { NodeExchange } from "./node.ts";
import { type HandlerOptions, type ResolvedHandler, resolveHandler } from "./options.ts";
import { type OnSdk, SdkSide } from "./sdk.ts";
import { WebExchange } from "./web.ts";

/** Serves one MCP endpoint. Both faces share everything; mount whichever your server has. */
export interface ParleyHandler {
  /** For `node:http` and what stands on it: `createServer(handler.listener)`. Serves every path it is given. */
  readonly listener: (req: IncomingMessage, res: ServerResponse) => void;
  /**
   * For servers of `Request` and `Response`.
   * @param options `authInfo`: the caller, verified by you; without effect where the option `authenticate` is set.
   */
  readonly fetch: (request: Request, options?: { readonly authInfo?: AuthInfo }) => Promise<Response>;
  /** Tells clients that listen that a list or a resource has changed (`subscriptions/listen`). */
  readonly notify: ServerNotifier;
  /** Takes no new request, aborts those in flight, and ends subscriptions. */
  close(): Promise<void>;
}

export function createHandler(
  options: HandlerOptions,
  rounds: RoundServer,
  parley: OnSdk,
  tasks: TaskMethods | undefined,
): ParleyHandler {
  const resolved = resolveHandler(options);
  const sdk = new SdkSide(resolved, parley);
  const core: Core = {
    options: resolved,
    guard: new Guard(resolved),
    dispatcher: makeDispatcher(resolved, sdk, rounds, tasks),
    sdk,
    pending: new PendingBytes(resolved.limits.maxPendingBytes, resolved.limits.bodyTimeoutMs),
    callersRequired: rounds.callersRequired,
    open: new Set(),
    closed: false,
  };
  return {
    listener: (req, res) => inItsTurn(res, () => new NodeExchange(core, req, res).serve()),
    fetch: (request, { authInfo } = {}) => new WebExchange(core, request, authInfo).serve(),
    get notify() {
      return sdk.handler.notify;
    },
    close: async () => {
      core.closed = true;
      for (const exchange of core.open) exchange.abort();
      await sdk.close();
    },
  };
}

function makeDispatcher(
  options: ResolvedHandler,
  sdk: SdkSide,
  rounds: RoundServer,
  tasks: TaskMethods | undefined,
): Dispatcher {
  try {
    return new Dispatcher(options, sdk, rounds, tasks);
  } catch (error) {
    if (error instanceof ParleyError) throw error;
    throw new ParleyError("configuration", `handler: ${messageOf(error)}`, { cause: error });
  }
}
