import { type JSONRPCMessage, PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/client";
import { NAMED_BY, WRAPPED } from "../protocol/headers.ts";
import { isOwnHeader, type RequestHeaders } from "./options.ts";

export interface HeaderSources {
  /** The negotiated version, for messages that do not name their own. */
  readonly version: string | undefined;
  /** The host's own. */
  readonly headers: RequestHeaders;
  /** What the SDK sends along with this one message: `Mcp-Param-*`, already encoded (G21). */
  readonly extra: RequestHeaders | undefined;
}

/**
 * The headers of one POST, as a list of names and values: what the message says of itself always wins, so that header
 * and body cannot disagree (G19, G20, G24).
 */
export function headersOf(message: JSONRPCMessage, { version, headers, extra }: HeaderSources): string[] {
  const all = given(headers, extra);
  all.push("content-type", "application/json", "accept", "application/json, text/event-stream");
  const request = "method" in message && "id" in message ? message : undefined;
  const claimed = request?.params?._meta?.[PROTOCOL_VERSION_META_KEY];
  if (request === undefined || typeof claimed !== "string") {
    if (version !== undefined) all.push("mcp-protocol-version", version);
    return all;
  }
  all.push("mcp-protocol-version", claimed, "mcp-method", request.method);
  const field = NAMED_BY.get(request.method);
  const name = field === undefined ? undefined : request.params?.[field];
  if (typeof name === "string") all.push("mcp-name", encodeHeaderValue(name));
  return all;
}

/** The host's headers, and one request's in their place where both have one. None of them is the transport's own. */
function given(headers: RequestHeaders, extra: RequestHeaders | undefined): string[] {
  const all = new Map<string, string>();
  for (const name in headers) all.set(name.toLowerCase(), headers[name] as string);
  for (const name in extra) {
    const lower = name.toLowerCase();
    // Who calls, and what, is not for one request to change.
    if (lower !== "authorization" && !isOwnHeader(lower)) all.set(lower, extra[name] as string);
  }
  return all.size === 0 ? [] : [...all].flat();
}

const PLAIN = /^[\t\x20-\x7e]+$/;

/** Text as a header's value: what does not survive as it is goes as base64 of its UTF-8 between markers (G22). */
export function encodeHeaderValue(value: string): string {
  const { before, after } = WRAPPED;
  const marked = value.startsWith(before) && value.endsWith(after);
  if (PLAIN.test(value) && value.trim() === value && !marked) return value;
  return before + Buffer.from(value).toString("base64") + after;
}
