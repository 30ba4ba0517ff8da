import { ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { Refusal } from "./answer.ts";

/** A message, or why the body is none. */
export type Parsed = { readonly message: unknown } | { readonly refusal: Refusal };

export function parseMessage(text: string, maxDepth: number): Parsed {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    const said = "Parse error: the request body is not valid JSON";
    return { refusal: { status: 400, code: ProtocolErrorCode.ParseError, message: said } };
  }
  return checkedMessage(message, maxDepth);
}

/** A message that was parsed elsewhere. */
export function checkedMessage(message: unknown, maxDepth: number): Parsed {
  if (!isDeeper(message, maxDepth)) return { message };
  const said = `Bad Request: the message is nested deeper than ${maxDepth} levels`;
  return { refusal: { status: 400, code: ProtocolErrorCode.InvalidRequest, message: said } };
}

/** What reads a message later may do so by recursion. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.some((item) => isDeeper(item, levels - 1));
  for (const key in value) {
    if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  }
  return false;
}
