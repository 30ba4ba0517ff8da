/**
 * A quick yes to the requests that clients really send.
 *
 * The SDK's schemas say what a valid message and envelope are, and take longer than serving does. What this recognises
 * they accept, too (test/property/native-envelope.test.ts); everything else is put before them.
 */
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
  RELATED_TASK_META_KEY,
} from "@modelcontextprotocol/server";
import { isObject } from "../../internal/json.ts";
import type { RequestId } from "./answer.ts";

/** The one revision that is served here. */
export const REVISION = "2026-07-28";

/** A request of this revision, its envelope checked. */
export interface ModernRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>> & { readonly _meta: Readonly<Record<string, unknown>> };
}

/** `false` proves nothing: ask the SDK. */
export function isPlainRequest(message: unknown): message is ModernRequest {
  if (!isObject(message)) return false;
  for (const key in message) {
    if (key !== "jsonrpc" && key !== "id" && key !== "method" && key !== "params") return false;
  }
  const { jsonrpc, id, method, params } = message;
  if (jsonrpc !== "2.0" || typeof method !== "string" || !isToken(id) || !isObject(params)) return false;
  const meta = params["_meta"];
  return isObject(meta) && isPlainEnvelope(meta);
}

function isPlainEnvelope(meta: Record<string, unknown>): boolean {
  if (meta[PROTOCOL_VERSION_META_KEY] !== REVISION || !isPlainCapabilities(meta[CLIENT_CAPABILITIES_META_KEY])) {
    return false;
  }
  const info = meta[CLIENT_INFO_META_KEY];
  const token = meta["progressToken"];
  return (
    (info === undefined || isPlainInfo(info)) &&
    (token === undefined || isToken(token)) &&
    meta[LOG_LEVEL_META_KEY] === undefined &&
    meta[RELATED_TASK_META_KEY] === undefined
  );
}

/** A request's id, or a progress token. */
function isToken(value: unknown): boolean {
  return typeof value === "string" || Number.isSafeInteger(value);
}

function isPlainInfo(info: unknown): boolean {
  if (!isObject(info) || typeof info["name"] !== "string" || typeof info["version"] !== "string") return false;
  for (const key in info) {
    if (typeof info[key] !== "string" || key === "icons") return false;
  }
  return true;
}

function isPlainCapabilities(capabilities: unknown): boolean {
  if (!isObject(capabilities)) return false;
  for (const name in capabilities) {
    const declared = capabilities[name];
    switch (name) {
      case "elicitation":
      case "sampling":
      case "extensions":
        if (!isObject(declared)) return false;
        for (const member in declared) {
          if (!hasOnlyFlags(declared[member])) return false;
        }
        break;
      case "roots":
        if (!hasOnlyFlags(declared)) return false;
        break;
      default:
        return false;
    }
  }
  return true;
}

/** Such as `{}` and `{ "listChanged": true }`. */
function hasOnlyFlags(value: unknown): boolean {
  if (!isObject(value)) return false;
  for (const key in value) {
    if (typeof value[key] !== "boolean") return false;
  }
  return true;
}
