/** What one message is answered with, as text. */
import { ProtocolErrorCode } from "@modelcontextprotocol/server";

/** A JSON-RPC answer and the HTTP status it goes out with. */
export interface Answer {
  readonly status: number;
  /** JSON; empty for a notification. */
  readonly text: string;
}

/** A JSON-RPC error before it is written. */
export interface Refusal {
  readonly status: number;
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

export type RequestId = string | number;

/** A notification was taken in (G28). */
export const ACCEPTED: Answer = { status: 202, text: "" };

/** @param result JSON of the result. */
export function resultAnswer(id: RequestId, result: string): Answer {
  return { status: 200, text: `{"result":${result},"jsonrpc":"2.0","id":${idText(id)}}` };
}

/** G2: with the id of the request, or null where none could be read. */
export function errorAnswer(id: RequestId | null, { status, code, message, data }: Refusal): Answer {
  const error = data === undefined ? { code, message } : { code, message, data };
  return { status, text: `{"jsonrpc":"2.0","id":${idText(id)},"error":${JSON.stringify(error)}}` };
}

/**
 * The error of something that was thrown while a request was served, as the SDK puts it: in the body of an ordinary
 * answer, but for a missing capability, which is HTTP 400 (G31).
 */
export function thrownAnswer(id: RequestId, thrown: unknown): Answer {
  const { code, message, data } = Object(thrown) as { code?: unknown; message?: unknown; data?: unknown };
  const own = Number.isSafeInteger(code) ? (code as number) : ProtocolErrorCode.InternalError;
  return errorAnswer(id, {
    status: own === ProtocolErrorCode.MissingRequiredClientCapability ? 400 : 200,
    // The resource-not-found code of earlier revisions is never sent on this one.
    code: own === ProtocolErrorCode.ResourceNotFound ? ProtocolErrorCode.InvalidParams : own,
    message: typeof message === "string" ? message : "Internal error",
    data,
  });
}

/** The id to answer to, when what came in is a request that can be told apart. */
export function idOf(message: unknown): RequestId | null {
  if (typeof message !== "object" || message === null) return null;
  const { id, method } = message as { id?: unknown; method?: unknown };
  if (typeof method !== "string") return null;
  // JSON reads 1e400 as infinite, and cannot write it.
  return typeof id === "string" || Number.isFinite(id) ? (id as RequestId) : null;
}

function idText(id: RequestId | null): string {
  return typeof id === "string" ? JSON.stringify(id) : String(id);
}
