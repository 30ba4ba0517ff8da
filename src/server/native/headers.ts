/** The headers that repeat what the body says (G19 to G24, SEP-2243). */
import { PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/server";
import { isObject } from "../../internal/json.ts";
import type { Refusal } from "./answer.ts";
import type { ModernRequest } from "./envelope.ts";

/** Reads one header; names are lower-case. */
export interface Headers {
  header(name: string): string | undefined;
}

/** A property of a tool's arguments that a header repeats. */
export interface ParamHeader {
  readonly path: readonly string[];
  /** As it is declared, without the prefix. */
  readonly name: string;
  readonly type: string;
}

const HEADER_MISMATCH = -32_020;

/** The param that `Mcp-Name` repeats. */
const NAMED_BY: ReadonlyMap<string, string> = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
  ["tasks/get", "taskId"],
  ["tasks/update", "taskId"],
  ["tasks/cancel", "taskId"],
]);

/** What is wrong with the standard headers of a request, if anything is. That they agree on version and method is known. */
export function checkStandardHeaders({ method, params }: ModernRequest, headers: Headers): Refusal | undefined {
  if (headers.header("mcp-protocol-version") === undefined) {
    const claimed = String(params._meta[PROTOCOL_VERSION_META_KEY]);
    return mismatch(
      "(missing)",
      `the body envelope names protocol version ${claimed} but the required MCP-Protocol-Version header is absent`,
    );
  }
  if (headers.header("mcp-method") === undefined) {
    return mismatch("(missing)", `the body names method ${method} but the required Mcp-Method header is absent`);
  }
  const field = NAMED_BY.get(method);
  return field === undefined ? undefined : checkName(field, params[field], headers.header("mcp-name"));
}

function checkName(field: string, value: unknown, header: string | undefined): Refusal | undefined {
  const named = typeof value === "string" ? value : undefined;
  if (header === undefined) {
    return named === undefined
      ? undefined
      : mismatch("(missing)", `the body carries params.${field}="${named}" but the required Mcp-Name header is absent`);
  }
  if (header === named && !header.startsWith(SENTINEL)) return undefined;
  const decoded = decodeValue(header);
  if (decoded === undefined) return mismatch(header, "the Mcp-Name header carries an invalid Base64 sentinel value");
  return named === undefined || decoded === named
    ? undefined
    : mismatch(header, `the body carries params.${field}="${named}" but the Mcp-Name header names "${decoded}"`);
}

/** What is wrong with the `Mcp-Param-*` headers of a `tools/call`, if anything is (G21, G24). */
export function checkParamHeaders(
  declared: readonly ParamHeader[],
  args: unknown,
  headers: Headers,
): Refusal | undefined {
  for (const { path, name, type } of declared) {
    const value = at(args, path);
    const expected = textOf(value);
    if (expected === undefined) continue;
    const key = `Mcp-Param-${name}`;
    const says = `the body carries ${path.join(".")}=${JSON.stringify(value)}`;
    const header = headers.header(key.toLowerCase());
    if (header === undefined) return mismatch(key, `${says} but the ${key} header is absent`);
    const decoded = decodeValue(header);
    if (decoded === undefined) return mismatch(key, `the ${key} header carries an invalid Base64 sentinel value`);
    const asNumber = isNumeric(type) && DECIMAL.test(decoded) && typeof value === "number";
    if (asNumber ? Number(decoded) !== value : decoded !== expected) {
      return mismatch(key, `the ${key} header decodes to ${JSON.stringify(decoded)} but ${says}`);
    }
  }
  return undefined;
}

const DECIMAL = /^-?\d+(\.\d+)?$/;
const SENTINEL = "=?base64?";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The value of a header, which may be wrapped (G22); `undefined` for a wrapping that is broken. */
function decodeValue(header: string): string | undefined {
  if (!header.startsWith(SENTINEL) || !header.endsWith("?=")) return header;
  const wrapped = header.slice(SENTINEL.length, -2);
  if (!BASE64.test(wrapped)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(wrapped, "base64"));
  } catch {
    return undefined;
  }
}

function at(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const key of path) {
    if (!isObject(value)) return undefined;
    value = value[key];
  }
  return value;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return String(value);
  const writable = typeof value === "number" && (!Number.isInteger(value) || Number.isSafeInteger(value));
  return writable ? String(value) : undefined;
}

function isNumeric(type: string): boolean {
  return type === "integer" || type === "number";
}

function mismatch(header: string, body: string): Refusal {
  const message = `Bad Request: the request headers and body disagree: ${body}`;
  return { status: 400, code: HEADER_MISMATCH, message, data: { mismatch: { header, body } } };
}
