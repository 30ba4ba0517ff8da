/** The revision's rules for sampling (section F) and roots, for whoever asks and whoever answers. */
import { isObject } from "../internal/json.ts";
import type { SamplingParams } from "./types.ts";

/** What is wrong, and the rule's number in our requirements. */
export interface Breach {
  rule: string;
  reason: string;
}

interface Message {
  role: "user" | "assistant";
  blocks: readonly Record<string, unknown>[];
}

/** The first rule of F5 to F9 that sampling params break, or `undefined`. */
export function samplingBreach(params: Record<string, unknown>): Breach | undefined {
  const { messages, maxTokens, tools, toolChoice } = params;
  if (!Number.isSafeInteger(maxTokens) || (maxTokens as number) < 1) {
    return { rule: "F5", reason: "maxTokens must be a positive integer" };
  }
  if (!Array.isArray(messages)) return { rule: "F5", reason: "messages must be a list" };
  if (tools !== undefined && !Array.isArray(tools)) return { rule: "F5", reason: "tools must be a list" };
  if (toolChoice !== undefined && !isObject(toolChoice)) return { rule: "F5", reason: "toolChoice must be an object" };
  const read = messages.map(readMessage);
  if (!read.every((message) => message !== undefined)) {
    return { rule: "F6", reason: "a message needs a role (user or assistant) and content blocks" };
  }
  return conversationBreach(read);
}

/** Content as a list of blocks; `undefined` unless each is an object with a type (F6, F18). */
export function readBlocks(content: unknown): readonly Record<string, unknown>[] | undefined {
  const blocks: readonly unknown[] = Array.isArray(content) ? content : [content];
  return blocks.every((block): block is Record<string, unknown> => isObject(block) && typeof block["type"] === "string")
    ? blocks
    : undefined;
}

function readMessage(value: unknown): Message | undefined {
  if (!isObject(value)) return undefined;
  const { role } = value;
  const blocks = readBlocks(value["content"]);
  return (role === "user" || role === "assistant") && blocks ? { role, blocks } : undefined;
}

function conversationBreach(messages: readonly Message[]): Breach | undefined {
  let open: ReadonlySet<unknown> = new Set();
  for (const { role, blocks } of messages) {
    const results = blocks.filter((block) => block["type"] === "tool_result");
    if (results.length > 0 && (role !== "user" || results.length !== blocks.length)) {
      return { rule: "F7", reason: "tool results stand alone in a user message" };
    }
    const answered = new Set(results.map((block) => block["toolUseId"]));
    for (const id of answered) {
      if (!open.has(id)) return { rule: "F9", reason: "a tool result answers no tool use of the message before it" };
    }
    if (answered.size < open.size) return { rule: "F8", reason: "a tool use is not followed by its result" };
    const uses = blocks.filter((block) => block["type"] === "tool_use");
    if (uses.length > 0 && role !== "assistant") return { rule: "F8", reason: "only the assistant uses tools" };
    open = new Set(uses.map((block) => block["id"]));
  }
  return open.size > 0 ? { rule: "F8", reason: "a tool use is not followed by its result" } : undefined;
}

/** What is wrong with an answer, and in which field. */
export interface AnswerBreach {
  readonly field: string;
  readonly reason: string;
}

/** The first rule that a sampling result breaks: its shape (F18), and the tool choice it was given (F19). */
export function samplingResultBreach(
  params: SamplingParams,
  result: Record<string, unknown>,
): AnswerBreach | undefined {
  const { role, content, model, stopReason, _meta } = result;
  if (role !== "assistant" && role !== "user") return { field: "role", reason: "must be assistant or user" };
  if (typeof model !== "string") return { field: "model", reason: "must be a string" };
  if (stopReason !== undefined && typeof stopReason !== "string")
    return { field: "stopReason", reason: "must be a string" };
  if (_meta !== undefined && !isObject(_meta)) return { field: "_meta", reason: "must be an object" };
  const blocks = readBlocks(content);
  if (blocks === undefined || blocks.length === 0 || !blocks.every(isWhole)) {
    return { field: "content", reason: "must be content blocks, each whole and of a known type" };
  }
  const uses = blocks.some((block) => block["type"] === "tool_use");
  const mode = params.toolChoice?.mode;
  if (uses && (params.tools === undefined || mode === "none"))
    return { field: "content", reason: "may not use tools (F19)" };
  if (!uses && mode === "required") return { field: "content", reason: "must use a tool (F19)" };
  return undefined;
}

/** The first rule that a list of roots breaks: every root is a `file://` URI (F23). */
export function rootsBreach(roots: unknown): AnswerBreach | undefined {
  if (!Array.isArray(roots)) return { field: "roots", reason: "must be a list" };
  for (const [index, root] of roots.entries()) {
    const field = `roots[${index}]`;
    if (!isObject(root) || typeof root["uri"] !== "string") return { field, reason: "needs a uri" };
    if (!URL.canParse(root["uri"]) || new URL(root["uri"]).protocol !== "file:") {
      return { field: `${field}.uri`, reason: "must be a file:// URI (F23)" };
    }
    if (root["name"] !== undefined && typeof root["name"] !== "string") {
      return { field: `${field}.name`, reason: "must be a string" };
    }
  }
  return undefined;
}

function isWhole(block: Record<string, unknown>): boolean {
  const has = (...names: string[]) => names.every((name) => typeof block[name] === "string");
  switch (block["type"]) {
    case "text":
      return has("text");
    case "image":
    case "audio":
      return has("data", "mimeType");
    case "tool_use":
      return has("id", "name") && isObject(block["input"]);
    case "tool_result":
      return has("toolUseId");
    default:
      return false;
  }
}
