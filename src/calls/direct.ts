import {
  CLIENT_INFO_META_KEY,
  Client,
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  ProtocolError,
  type RequestOptions,
  type Result,
  type Transport,
} from "@modelcontextprotocol/client";
import { type Direct, directOf } from "../transport/direct.ts";
import { readResult } from "./results.ts";
import { isWatched, read, type Wire, wireOf } from "./seam.ts";

/*
 * Legs past the SDK client's request machinery, where the transport is ours: same message, same headers, same judgement of
 * the result, at about half the cost. Everything else about a call stays the SDK's: `callTool` runs on a view of the
 * client whose `request` alone is another, so tool lists, `Mcp-Param-*` and output schemas are looked after as ever. A client or a transport
 * whose functions somebody wrapped is left alone, and so is a leg with progress, which the SDK routes.
 */

/** Far from the SDK's own ids, which count from 0; an integer, as its are. */
const FIRST_ID = 2 ** 30;

const { request: REQUEST } = Client.prototype;
const views = new WeakMap<Transport, Client>();

/** The client to send legs with: itself, where there is no way past it. */
export function directly(client: Client): Client {
  const { transport } = client;
  if (transport === undefined || client.request !== REQUEST || isWatched(transport)) return client;
  if (directOf(transport)?.clientInfo === undefined) return client;
  const view = views.get(transport) ?? viewOf(client, transport);
  views.set(transport, view);
  return view;
}

function viewOf(client: Client, transport: Transport): Client {
  let id = FIRST_ID;
  const request: unknown = (leg: Leg, ...rest: unknown[]) => {
    const wire = wireOf(leg.params);
    const direct = directOf(transport);
    if (wire === undefined || direct === undefined) return Reflect.apply(client.request, client, [leg, ...rest]);
    const options = rest.at(-1) as RequestOptions;
    return exchange(leg, { client, transport, direct, wire, id: id++, options });
  };
  return new Proxy(client, {
    get: (target, name) => (name === "request" ? request : Reflect.get(target, name)),
  });
}

interface Leg {
  readonly method: string;
  readonly params: Record<string, unknown>;
}

interface Way {
  readonly client: Client;
  readonly transport: Transport;
  readonly direct: Direct;
  readonly wire: Wire;
  readonly id: number;
  readonly options: RequestOptions;
}

async function exchange({ method, params }: Leg, way: Way): Promise<Result> {
  const { client, direct, wire, id } = way;
  const _meta = {
    [PROTOCOL_VERSION_META_KEY]: client.getNegotiatedProtocolVersion(),
    [CLIENT_INFO_META_KEY]: direct.clientInfo,
    ...(params["_meta"] as object | undefined),
  };
  wire.id = id;
  delete wire.response;
  const response = read(wire, await responseTo({ jsonrpc: "2.0", id, method, params: { ...params, _meta } }, way));
  if ("error" in response) {
    const { code, message, data } = response.error;
    throw ProtocolError.fromError(code, message, data);
  }
  // The leg has it as it came: it is not for a schema to judge.
  if (wire.interim !== undefined) return {};
  return readResult(method, (response as { result: Result }).result);
}

/** Settles as soon as the response is there, though its stream may stay open. What else comes on it is for the client. */
function responseTo(request: Leg & { jsonrpc: "2.0"; id: number }, way: Way): Promise<JSONRPCMessage> {
  const { direct, transport, wire, options } = way;
  return new Promise((resolve, reject) => {
    const onMessage = (message: JSONRPCMessage): void => {
      if (!("method" in message) && message.id === request.id) resolve(message);
      else transport.onmessage?.(message);
    };
    direct.exchange(request, { signal: wire.scope, headers: options.headers, onMessage }).catch(reject);
  });
}
