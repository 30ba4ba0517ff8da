import type { Client, JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/client";
import { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import type { LazySignal } from "../internal/lazy-signal.ts";

/*
 * The one place that looks past the SDK's public calls, and only for requests the driver itself sent. It wraps the two
 * functions of the public Transport interface, because the SDK client (2.4.0)
 *  - rejects a result without `resultType` on a 2026 connection, where the revision's lenience is wanted (B1, L20);
 *  - checks a cached `outputSchema` against interim results in `callTool`, the only call that mirrors `Mcp-Param-*`;
 *  - reads a malformed `inputRequests` as none and drops a malformed `requestState` (B18 wants both to fail);
 *  - knows no result that is a task;
 *  - does not end a request whose response stream broke: it would sit there until its timeout (B24).
 */

/** Marks a leg's params. A symbol is copied along by the SDK's spreads and never written to the wire. */
const LEG = Symbol("mcp-parley leg");

/** What the driver sees of one leg beside what the SDK makes of it. */
export interface Wire {
  /** Ends the leg. */
  readonly scope: LazySignal;
  /** What the last message for this leg was; `undefined` while none has come. */
  response?: "result" | "error";
  /** The result is no object, so the SDK would take the message for none and wait on. */
  unreadable?: true;
  /** The result exactly as it came, when it is an interim one. */
  interim?: Record<string, unknown>;
  /** The result exactly as it came, when it is a task (H7). */
  task?: Record<string, unknown>;
  /** The id of the request on its way. */
  id?: RequestId;
  /** The result came without `resultType` and is taken for a complete one. */
  onUntyped: () => void;
  /** The response stream ended without a response. */
  onLost: () => void;
}

interface Seam {
  readonly inFlight: Map<RequestId, Wire>;
  /** Ours, which looks at marked requests only. */
  readonly send: Transport["send"];
  /** Somebody else had wrapped the one below it. */
  readonly watched: boolean;
}

const seams = new WeakMap<Transport, Seam>();

/** Params that carry their leg along. The caller's object is not touched. */
export function mark<T extends object>(params: T, wire: Wire): T {
  return { ...params, [LEG]: wire };
}

/**
 * Makes the legs marked with {@link mark} visible on the client's present transport, once per transport.
 * @throws ParleyError `sdk_incompatible` when the transport is not what the SDK's interface says.
 */
export function attach(client: Client): void {
  const transport = client.transport;
  if (transport === undefined || seams.has(transport)) return;
  const { send, onmessage } = transport;
  if (typeof send !== "function" || typeof onmessage !== "function") {
    throw new ParleyError("sdk_incompatible", "The client's transport has no send or onmessage to observe.");
  }
  const watched = isWatched(transport);
  const inFlight = new Map<RequestId, Wire>();
  const observed: Transport["send"] = (message, options) => {
    const wire = "params" in message ? wireOf(message.params) : undefined;
    if (wire === undefined || !("id" in message) || message.id === undefined) {
      return send.call(transport, message, options);
    }
    const { id } = message;
    // The SDK may send one leg twice: `callTool` refreshes its tool list after -32020 and tries again (G25).
    wire.id = id;
    delete wire.response;
    inFlight.set(id, wire);
    const onRequestStreamEnd = (): void => {
      options?.onRequestStreamEnd?.();
      if (inFlight.delete(id)) wire.onLost();
    };
    return send.call(transport, message, { ...options, onRequestStreamEnd });
  };
  transport.send = observed;
  transport.onmessage = (message, extra) => onmessage.call(transport, observe(inFlight, message), extra);
  seams.set(transport, { inFlight, send: observed, watched });
}

/** Whether somebody else wrapped `send`, and so wants to see every request. */
export function isWatched(transport: Transport): boolean {
  const seam = seams.get(transport);
  return seam?.send === transport.send ? seam.watched : Object.hasOwn(transport, "send");
}

/** Forgets a leg that is over, answered or not. */
export function release(client: Client, wire: Wire): void {
  if (client.transport !== undefined && wire.id !== undefined) seams.get(client.transport)?.inFlight.delete(wire.id);
}

/** The leg that params were marked with. */
export function wireOf(params: object | undefined): Wire | undefined {
  return (params as { [LEG]?: Wire } | undefined)?.[LEG];
}

function observe<T extends JSONRPCMessage>(inFlight: Map<RequestId, Wire>, message: T): T {
  if ("method" in message || !("id" in message) || message.id === undefined) return message;
  const wire = inFlight.get(message.id);
  if (wire === undefined) return message;
  inFlight.delete(message.id);
  return read(wire, message);
}

/** Notes what the response to a leg is, and hands it back in a shape that every reader of it can take. */
export function read<T extends JSONRPCMessage>(wire: Wire, message: T): T {
  if (!("result" in message)) {
    wire.response = "error";
    return message;
  }
  wire.response = "result";
  const result: unknown = message.result;
  if (!isObject(result)) {
    wire.unreadable = true;
    return { ...message, result: {} };
  }
  if (result["resultType"] === "input_required") wire.interim = result;
  if (result["resultType"] === "task") wire.task = result;
  if (result["resultType"] !== undefined) return message;
  wire.onUntyped();
  return { ...message, result: { ...result, resultType: "complete" } };
}
