import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type RequestId,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from "@modelcontextprotocol/client";
import { isObject } from "../internal/json.ts";
import type { ResponseHead } from "./connection.ts";

/**
 * A JSON body as the response to request `id`.
 * @throws SdkError `INVALID_RESULT`: the SDK's client would take no notice of the message, and wait on.
 */
export function readResponse(text: string, id: RequestId): JSONRPCMessage {
  const message = parse(text);
  if (!isResponse(message)) throw unreadable("is not a JSON-RPC response");
  if (message.id !== id) throw unreadable("answers another request");
  return message;
}

/** A JSON-RPC message of an event stream; `undefined` when it is none. */
export function readMessage(text: string): JSONRPCMessage | undefined {
  const message = parse(text);
  const request = isObject(message) && message["jsonrpc"] === "2.0" && typeof message["method"] === "string";
  return request || isResponse(message) ? (message as JSONRPCMessage) : undefined;
}

export function isResponse(message: unknown): message is JSONRPCMessage & { id?: RequestId } {
  return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
}

/** The JSON-RPC error that a refusal's body carries for request `id`, or for nobody it could name (G2, G31). */
export function errorIn(text: string, id: RequestId): JSONRPCErrorResponse | undefined {
  const body = parse(text);
  if (!isObject(body)) return undefined;
  const message = { ...body, id: body["id"] ?? id };
  return isJSONRPCErrorResponse(message) && message.id === id ? message : undefined;
}

const REFUSALS: Readonly<Record<number, [SdkErrorCode, string]>> = {
  401: [SdkErrorCode.ClientHttpAuthentication, "requires authorization"],
  403: [SdkErrorCode.ClientHttpForbidden, "denies access"],
};

/**
 * What an answer other than 2xx means. The message has none of the server's own words: they are in `data.text`, and what
 * a host needs to sign in is in `data.wwwAuthenticate`. A redirect is no SdkHttpError: to the SDK's version negotiation,
 * 3xx would mean an older server, and nobody would learn where to turn.
 */
export function httpError({ status, statusText, headers }: ResponseHead, url: URL, text: string): SdkError {
  if (status >= 300 && status < 400) {
    const target = redirectTarget(headers["location"], url);
    const message = `${url.host} redirects to ${target}, which is not followed: use that address if it is the server you mean`;
    return new SdkError(SdkErrorCode.ClientHttpNotImplemented, message, { status, statusText });
  }
  const challenge = headers["www-authenticate"];
  const data = { status, statusText, text, ...(challenge !== undefined && { wwwAuthenticate: challenge }) };
  const [code, what] = REFUSALS[status] ?? [SdkErrorCode.ClientHttpNotImplemented, "does not serve the request"];
  return new SdkHttpError(code, `${url.host} ${what} (HTTP ${status})`, data);
}

/** A 2xx answer to a request that is neither JSON nor an event stream. */
export function unexpectedContent(contentType: string | string[] | undefined): SdkError {
  const message = `Unexpected content type: ${contentType ?? "none"}`;
  return new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, message, { contentType });
}

/** Without user, query and fragment, which may be secrets. */
function redirectTarget(location: string | string[] | undefined, from: URL): string {
  if (typeof location !== "string" || !URL.canParse(location, from.href)) return "an address it does not name";
  const { origin, pathname } = new URL(location, from);
  return origin + pathname;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's own error quotes the text.
    return undefined;
  }
}

function unreadable(what: string): SdkError {
  return new SdkError(SdkErrorCode.InvalidResult, `The response body ${what}`);
}
