/**
 * The one place that reaches past the SDK's public API, and why.
 *
 * `McpServer` turns everything that a tool callback throws into an `isError` result, and hands the callback parsed
 * arguments only. Parley must answer some faults as JSON-RPC errors (a refused state C3, a missing capability A13) and
 * must bind the state to the request's params as they came (C7). So the handler that `McpServer` installed for each of
 * the three methods is wrapped where it is kept. The shape is checked when flows are registered.
 */
import type { McpServer, ServerContext } from "@modelcontextprotocol/server";
import { ParleyError } from "../errors.ts";
import type { MrtrMethod } from "../protocol/types.ts";

type Request = { readonly params?: Record<string, unknown> };
type Handler = (request: Request, ctx: ServerContext) => Promise<unknown>;
type Verify = (state: string, ctx: ServerContext) => unknown;
interface Innards {
  readonly _requestHandlers?: Map<string, Handler>;
  _requestStateVerify?: Verify | undefined;
}

/** One JSON-RPC request on its way through the SDK. The 2025 shim may run the callback several times for one. */
export interface Exchange {
  readonly params: Readonly<Record<string, unknown>>;
  /** The state the request carried, if it is one of ours: kept from the SDK's own verification. */
  readonly state: string | undefined;
  /** Set by a callback whose result must reach the wire as it is: a task, which is no result of a tool (H7). */
  answer?: unknown;
  /** Set by a callback whose fault must reach the wire as it is. */
  fault?: unknown;
}

/** Per server: who knows its states. Two Parleys on one server are rare, and each must know its own. */
const knowers = new WeakMap<object, Set<(state: string) => boolean>>();
const wrapped = new WeakSet<Handler>();
const composed = new WeakSet<Verify>();

/**
 * Exchanges in flight, by the one thing that stays the same over a request's life in the SDK: its abort signal.
 * A callback finds its request here.
 */
const exchanges = new WeakMap<AbortSignal, Exchange>();

export function exchangeOf(ctx: ServerContext): Exchange | undefined {
  return exchanges.get(ctx.mcpReq.signal);
}

/**
 * Lets faults of `method`'s callbacks through. Does nothing the second time.
 * @param isOurs whether a `requestState` was sealed by this Parley.
 * @throws ParleyError `sdk_incompatible`
 */
export function openSeam(mcpServer: McpServer, method: MrtrMethod, isOurs: (state: string) => boolean): void {
  const innards = mcpServer.server as unknown as Innards;
  const handlers = innards._requestHandlers;
  const inner = handlers instanceof Map ? handlers.get(method) : undefined;
  if (handlers === undefined || typeof inner !== "function") {
    throw new ParleyError(
      "sdk_incompatible",
      `This @modelcontextprotocol/server keeps its ${method} handler where Parley does not find it. Install 2.4.x.`,
      { details: { method } },
    );
  }
  const known = knowers.get(innards) ?? new Set();
  knowers.set(innards, known.add(isOurs));
  const isAnyOfOurs = (state: string) => [...known].some((knows) => knows(state));
  letOurStatePass(innards, isAnyOfOurs);
  if (wrapped.has(inner)) return;
  const outer: Handler = async (request, ctx) => {
    const raw: unknown = ctx.mcpReq.requestState();
    const state = typeof raw === "string" && isAnyOfOurs(raw) ? raw : undefined;
    const exchange: Exchange = { params: request.params ?? {}, state };
    exchanges.set(ctx.mcpReq.signal, exchange);
    const result = await inner(request, state === undefined ? ctx : withoutState(ctx));
    if (exchange.fault !== undefined) throw exchange.fault;
    return exchange.answer ?? result;
  };
  wrapped.add(outer);
  handlers.set(method, outer);
}

/** A tool that is not ours must not mistake our state for its own: to it, the request carries none. */
function withoutState(ctx: ServerContext): ServerContext {
  return { ...ctx, mcpReq: { ...ctx.mcpReq, requestState: () => undefined as never } };
}

/** The 2025 shim verifies each state it loops back with the server's own hook, which cannot know ours. */
function letOurStatePass(innards: Innards, isOurs: (state: string) => boolean): void {
  const verify = innards._requestStateVerify;
  if (verify === undefined || composed.has(verify)) return;
  const both: Verify = (state, ctx) => (isOurs(state) ? undefined : verify(state, ctx));
  composed.add(both);
  innards._requestStateVerify = both;
}
