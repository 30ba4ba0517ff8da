import type { JSONRPCMessage, JSONRPCRequest, Transport } from "@modelcontextprotocol/client";
import type { Signal } from "../internal/lazy-signal.ts";
import type { RequestHeaders } from "./options.ts";

/** What only our own transports have: a way for the driver's legs past the SDK's client, which costs more than the wire. */
export const DIRECT = Symbol("mcp-parley direct");

export interface Direct {
  /** The client as it introduces itself (G5): its own requests show it. `undefined` before the first. */
  readonly clientInfo: unknown;
  /** As `send` does; but what comes back goes to `onMessage`. */
  exchange(request: JSONRPCRequest, options: ExchangeOptions): Promise<void>;
}

export interface ExchangeOptions {
  readonly signal: Signal;
  /** `Mcp-Param-*`, already encoded (G21). */
  readonly headers: RequestHeaders | undefined;
  readonly onMessage: (message: JSONRPCMessage) => void;
}

export function directOf(transport: Transport): Direct | undefined {
  return (transport as { [DIRECT]?: Direct })[DIRECT];
}
