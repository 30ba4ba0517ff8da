/** A sampling request in the words of the chat completions format. What that format cannot say fails, by name. */
import { ParleyError } from "../../errors.ts";
import type { SamplingParams } from "../../protocol/types.ts";
import type { Endpoint } from "./options.ts";
import type { ToolNames } from "./tool-names.ts";

type Message = SamplingParams["messages"][number];
type Block = Exclude<Message["content"], unknown[]>;
type Of<T extends Block["type"]> = Extract<Block, { type: T }>;
type WireMessage = Record<string, unknown> & { role: string };

/** @throws ParleyError `unanswerable`, naming the message and the kind of content. */
export function requestBody(params: SamplingParams, model: string, endpoint: Endpoint, names: ToolNames): object {
  const { messages, systemPrompt, maxTokens, temperature, stopSequences, tools, toolChoice } = params;
  return {
    model,
    messages: [
      ...(systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }]),
      ...messages.flatMap((message, index) => wireMessages(message, index, names)),
    ],
    [endpoint.tokenLimitField]: maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(stopSequences !== undefined && stopSequences.length > 0 && { stop: stopSequences }),
    ...(tools !== undefined && tools.length > 0 && { tools: tools.map((tool) => wireTool(tool, names)) }),
    ...(tools !== undefined && tools.length > 0 && toolChoice?.mode !== undefined && { tool_choice: toolChoice.mode }),
    stream: false,
  };
}

function wireTool(tool: NonNullable<SamplingParams["tools"]>[number], names: ToolNames): object {
  const { name, description, inputSchema } = tool;
  return {
    type: "function",
    function: { name: names.there(name), ...(description !== undefined && { description }), parameters: inputSchema },
  };
}

function wireMessages({ role, content }: Message, index: number, names: ToolNames): WireMessage[] {
  const blocks = Array.isArray(content) ? content : [content];
  const results = blocks.filter((block) => block.type === "tool_result");
  // F7: results stand alone, and each is a message of its own there.
  if (results.length > 0) return results.map((block) => toolMessage(block, index));
  if (role === "assistant") return [assistantMessage(blocks, index, names)];
  const parts = blocks.map((block) => userPart(block, index));
  return [{ role: "user", content: parts.every(isText) ? parts.map(({ text }) => text).join("\n") : parts }];
}

function assistantMessage(blocks: Block[], index: number, names: ToolNames): WireMessage {
  const texts: string[] = [];
  const calls: object[] = [];
  for (const block of blocks) {
    if (block.type === "text") texts.push(block.text);
    else if (block.type === "tool_use") {
      const { id, name, input } = block;
      calls.push({ id, type: "function", function: { name: names.there(name), arguments: JSON.stringify(input) } });
    } else throw noPlace(index, `${block.type} of the assistant`);
  }
  return {
    role: "assistant",
    content: texts.length === 0 ? null : texts.join("\n"),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
}

function toolMessage(
  { toolUseId, content, structuredContent, isError }: Of<"tool_result">,
  index: number,
): WireMessage {
  const texts = (content ?? []).map((block) => {
    if (block.type === "text") return block.text;
    throw noPlace(index, `${block.type} in a tool result`);
  });
  if (texts.length === 0 && structuredContent !== undefined) texts.push(JSON.stringify(structuredContent));
  // The format has no word for a tool that failed.
  const text = `${isError === true ? "The tool failed.\n" : ""}${texts.join("\n")}`;
  return { role: "tool", tool_call_id: toolUseId, content: text };
}

interface TextPart {
  type: "text";
  text: string;
}
type Part = TextPart | { type: "image_url" | "input_audio"; [member: string]: unknown };

const isText = (part: Part): part is TextPart => part.type === "text";

function userPart(block: Block, index: number): Part {
  switch (block.type) {
    case "text":
      return { type: "text", text: block.text };
    case "image":
      if (!/^image\/[\w.+-]+$/.test(block.mimeType)) throw noPlace(index, "an image of an unknown type");
      return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
    case "audio": {
      const format = AUDIO[block.mimeType];
      if (format === undefined) throw noPlace(index, "audio that is neither WAV nor MP3");
      return { type: "input_audio", input_audio: { data: block.data, format } };
    }
    default:
      throw noPlace(index, `${block.type} of the user`);
  }
}

const AUDIO: Readonly<Record<string, string | undefined>> = {
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "audio/mpeg": "mp3",
  "audio/mp3": "mp3",
};

function noPlace(index: number, what: string): ParleyError {
  const message = `Message ${index + 1} holds ${what}, for which the chat completions format has no place`;
  return new ParleyError("unanswerable", `${message}. Nothing was sent to the model.`, {
    details: { message: index + 1 },
  });
}
