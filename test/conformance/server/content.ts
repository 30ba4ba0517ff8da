import type { CallToolResult } from "@modelcontextprotocol/server";
import type { SamplingResult } from "../../../src/index.ts";

/** A grey PNG of one pixel. */
export const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg==";
/** A WAV of one silent sample. */
export const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

export const text = (value: string): CallToolResult => ({ content: [{ type: "text", text: value }] });

/** The text of a model's answer. */
export function textOf({ content }: SamplingResult): string {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.map((block) => (block.type === "text" ? block.text : "")).join("");
}
