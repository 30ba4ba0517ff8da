/** Which messages are served here, which the SDK gets, and which nobody serves. */
import {
  classifyInboundRequest,
  type InboundHttpRequest,
  ProtocolErrorCode,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/server";
import type { Refusal } from "./answer.ts";
import { isPlainRequest, type ModernRequest, REVISION } from "./envelope.ts";
import { checkStandardHeaders, type Headers } from "./headers.ts";

export type Inbound =
  | { readonly kind: "request"; readonly request: ModernRequest }
  | { readonly kind: "notification" }
  /** A message of an earlier revision. */
  | { readonly kind: "legacy" }
  | { readonly kind: "refused"; readonly refusal: Refusal };

/** Checks message, envelope and headers (section G), in the SDK's order. */
export function classify(message: unknown, headers: Headers): Inbound {
  const plain =
    isPlainRequest(message) &&
    headers.header("mcp-protocol-version") === REVISION &&
    headers.header("mcp-method") === message.method;
  if (!plain) {
    const other = classifyClosely(message, headers);
    if (other !== undefined) return other;
  }
  const request = message as ModernRequest;
  const refusal = checkStandardHeaders(request, headers);
  return refusal === undefined ? { kind: "request", request } : { kind: "refused", refusal };
}

/** `undefined`: a request of this revision, after all. */
function classifyClosely(message: unknown, headers: Headers): Inbound | undefined {
  const inbound: InboundHttpRequest = { httpMethod: "POST", body: message };
  const [version, method] = [headers.header("mcp-protocol-version"), headers.header("mcp-method")];
  if (version !== undefined) inbound.protocolVersionHeader = version;
  if (method !== undefined) inbound.mcpMethodHeader = method;
  const found = classifyInboundRequest(inbound);
  if (found.kind === "legacy") return { kind: "legacy" };
  if (found.kind === "reject") {
    const { httpStatus: status, code, data } = found;
    return { kind: "refused", refusal: { status, code, message: found.message, data } };
  }
  const { revision } = found.classification;
  if (revision !== REVISION) return { kind: "refused", refusal: unsupported(revision ?? "unknown") };
  return found.messageKind === "notification" ? { kind: "notification" } : undefined;
}

/** G10 */
function unsupported(requested: string): Refusal {
  const { message, data } = new UnsupportedProtocolVersionError({ supported: [REVISION], requested });
  return { status: 400, code: ProtocolErrorCode.UnsupportedProtocolVersion, message, data };
}
