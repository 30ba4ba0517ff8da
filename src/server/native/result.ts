/** What a flow returned, as it goes out. */

import type { Implementation, StandardSchemaV1 } from "@modelcontextprotocol/server";
import { ProtocolError, ProtocolErrorCode, SERVER_INFO_META_KEY, specTypeSchemas } from "@modelcontextprotocol/server";
import { isObject } from "../../internal/json.ts";

/** Writes results with what every one must say of itself: its type (A5) and its server (A29). */
export class ResultWriter {
  readonly #info: Implementation;
  /** What closes an object that lacks both members, and one that lacks the second. */
  readonly #tail: string;
  readonly #metaTail: string;

  constructor(info: Implementation) {
    this.#info = info;
    this.#metaTail = JSON.stringify({ _meta: { [SERVER_INFO_META_KEY]: info } }).slice(1);
    this.#tail = `"resultType":"complete",${this.#metaTail}`;
  }

  write(result: Readonly<Record<string, unknown>>): string {
    const given = result["resultType"];
    if (result["_meta"] === undefined && (given === undefined || typeof given === "string")) {
      const tail = given === undefined ? this.#tail : this.#metaTail;
      const text = JSON.stringify(result);
      return text === "{}" ? `{${tail}` : `${text.slice(0, -1)},${tail}`;
    }
    const { resultType = "complete", _meta = {} } = result;
    const named = isObject(_meta) && _meta[SERVER_INFO_META_KEY] === undefined;
    const meta = named ? { ..._meta, [SERVER_INFO_META_KEY]: this.#info } : _meta;
    return JSON.stringify({ ...result, resultType, _meta: meta });
  }
}

export function toolError(message: string): Record<string, unknown> {
  return { content: [{ type: "text", text: message }], isError: true };
}

export type Validated = { readonly value: unknown } | { readonly issues: string };

/** What a schema makes of a value, or all it has against it, in the SDK's words. */
export function validated(schema: StandardSchemaV1, value: unknown): Validated | Promise<Validated> {
  const result = schema["~standard"].validate(value);
  return result instanceof Promise ? result.then(validation) : validation(result);
}

function validation(result: StandardSchemaV1.Result<unknown>): Validated {
  if (result.issues === undefined || result.issues.length === 0) return { value: (result as { value: unknown }).value };
  return { issues: result.issues.map(issueText).join(", ") };
}

function issueText({ path, message }: StandardSchemaV1.Issue): string {
  if (path === undefined || path.length === 0) return message;
  return `${path.map((part) => String(typeof part === "object" ? part.key : part)).join(".")}: ${message}`;
}

/** @throws ProtocolError for a result that is none. */
export function checkedToolResult(result: Record<string, unknown>): Record<string, unknown> {
  const full = withTextFallback(withContent(result));
  if (isPlainToolResult(full)) return full;
  // The SDK's neutral schema asks for an object here, this revision does not.
  const { structuredContent, ...rest } = full;
  const checked = specTypeSchemas.CallToolResult["~standard"].validate(rest);
  if (checked.issues !== undefined) {
    const message = `Invalid tools/call result: ${checked.issues.map(issueText).join(", ")}`;
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, message);
  }
  return structuredContent === undefined ? checked.value : { ...checked.value, structuredContent };
}

/** Text and nothing else, as most results are: nothing to check and nothing to strip. */
function isPlainToolResult(result: Record<string, unknown>): boolean {
  for (const key in result) {
    if (key !== "content" && key !== "isError" && key !== "structuredContent") return false;
  }
  const { content, isError } = result;
  return (
    Array.isArray(content) && content.every(isPlainText) && (isError === undefined || typeof isError === "boolean")
  );
}

function isPlainText(block: unknown): boolean {
  if (!isObject(block) || block["type"] !== "text" || typeof block["text"] !== "string") return false;
  for (const key in block) if (key !== "type" && key !== "text") return false;
  return true;
}

function withContent(result: Record<string, unknown>): Record<string, unknown> {
  if (result["content"] !== undefined || "task" in result || "inputRequests" in result || "requestState" in result) {
    return result;
  }
  return { ...result, content: [] };
}

/** Structured content that is not an object also goes out as text, for clients that read text only. */
function withTextFallback(result: Record<string, unknown>): Record<string, unknown> {
  const { structuredContent, content } = result;
  if (structuredContent === undefined || isObject(structuredContent) || !Array.isArray(content)) return result;
  if (content.some((block) => isObject(block) && block["type"] === "text")) return result;
  return { ...result, content: [...content, { type: "text", text: JSON.stringify(structuredContent) }] };
}
