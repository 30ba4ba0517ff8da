import { MissingRequiredClientCapabilityError, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { InputCancelled, InputDeclined, type ParleyError, type ParleyErrorCode } from "../errors.ts";
import type { ClientCapabilities, MrtrMethod } from "../protocol/types.ts";
import type { Delivery } from "./delivery.ts";

/** Application codes lie outside the range that JSON-RPC reserves (G14). */
const DECLINED = -31_001;
const CANCELLED = -31_002;

/** The one answer to every state that does not verify: nothing in it tells the reasons apart (C3, C20, L13). */
export function stateRefused(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState", {
    reason: "invalid_request_state",
  });
}

/** `-32021` with exactly what is missing (A13), and in words which mode or extension that is. */
export function missingCapability(required: ClientCapabilities): ProtocolError {
  const requiredCapabilities = required as Record<string, object>;
  const names = Object.entries(requiredCapabilities).map(([name, { ...members }]) => {
    const inside = Object.keys(members).join(", ");
    return inside === "" ? name : `${name} (${inside})`;
  });
  const message = `Missing required client capabilities: ${names.join(", ")}`;
  return new MissingRequiredClientCapabilityError({ requiredCapabilities }, message);
}

export function unauthenticated(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidRequest, "This server serves authenticated callers only", {
    reason: "unauthenticated",
  });
}

export function invalidParams(error: ParleyError): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, error.message);
}

/** What callers are told of a store that fails: why it does may name hosts and users, and is for the operator. */
const AWAY: Partial<Record<ParleyErrorCode, string>> = {
  ledger_unavailable: "The server's ledger is not available; try again later.",
  tasks_unavailable: "The server's tasks are not available; try again later.",
};

/** A fault of the server's own: the author's flow broke a rule (A34), or a store is away. */
export function serverFault(error: ParleyError): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, AWAY[error.code] ?? error.message, { reason: error.code });
}

/**
 * What an uncaught "no" ends as: a plain result for a tool (L4), and an error with a code of its own for prompts and
 * resources, whose results have no way to say it.
 */
export function endedByPerson(method: MrtrMethod, error: unknown): Delivery | undefined {
  if (!(error instanceof InputDeclined) && !(error instanceof InputCancelled)) return undefined;
  if (method === "tools/call") {
    return { type: "result", value: { content: [{ type: "text", text: error.message }], isError: true } };
  }
  const code = error instanceof InputDeclined ? DECLINED : CANCELLED;
  return { type: "fault", error: new ProtocolError(code, error.message, { reason: error.code, key: error.key }) };
}
