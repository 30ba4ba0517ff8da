/** A final result as text. Every word of it is the server's, so none reaches a terminal or a page raw. */
import type { CallResults } from "../calls/call.ts";
import { isObject } from "../internal/json.ts";
import type { MrtrMethod } from "../protocol/types.ts";
import { visible } from "./text.ts";

type Part = Record<string, unknown>;

/** What JSON leaves as it is although a terminal might obey it, or a person might not see it. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}]/gu;

/** JSON on one line; hidden characters as `\u` escapes, so that it reads back the same and shows nothing false. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(HIDDEN, (char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, "0")}`).join(""),
  );
}

/** A result for a person: its texts, escaped, and a line for each part that is not text. Nothing is left out. */
export function renderResult<M extends MrtrMethod>(method: M, result: CallResults[M]): string {
  switch (method) {
    case "prompts/get": {
      const { messages } = result as CallResults["prompts/get"];
      return messages.map(({ role, content }) => `${show(role)}: ${part(content)}`).join("\n");
    }
    case "resources/read":
      return (result as CallResults["resources/read"]).contents.map((content) => resourceText(content)).join("\n");
    default:
      return toolText(result as CallResults["tools/call"]);
  }
}

function toolText({ content, structuredContent }: CallResults["tools/call"]): string {
  if (content.length === 0 && structuredContent !== undefined) return jsonText(structuredContent);
  return content.map((one) => part(one)).join("\n");
}

function part(content: Part): string {
  const { type, text, resource } = content;
  if (type === "text" && typeof text === "string") return show(text);
  if (type === "resource" && isObject(resource)) return resourceText(resource);
  if (type === "resource_link") return `[link ${show(String(content["uri"]))}]`;
  return `[${show(String(type))} ${about(content, content["data"])}]`;
}

function resourceText(resource: Part): string {
  const { text, uri, blob } = resource;
  return typeof text === "string" ? show(text) : `[${show(String(uri))} ${about(resource, blob)}]`;
}

function about({ mimeType }: Part, base64: unknown): string {
  const bytes = typeof base64 === "string" ? Buffer.byteLength(base64, "base64") : 0;
  return `${show(String(mimeType ?? "of unknown type"))}, ${bytes} bytes`;
}

function show(text: string): string {
  const { length } = text;
  return visible(text, { multiline: true, maxLength: length, maxLines: length + 1 }).text;
}
