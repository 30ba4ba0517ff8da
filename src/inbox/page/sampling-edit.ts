/** The texts of a sampling request or answer that a person may change, and putting them back (S1, F13). */
import type { SamplingParams, SamplingResult } from "../../protocol/types.ts";

/** One text: the system prompt, or a text block of a message or an answer. */
export interface EditableText {
  readonly label: string;
  readonly text: string;
}

type Content = SamplingParams["messages"][number]["content"] | SamplingResult["content"];

/** The texts of a request, in the order {@link withTexts} takes them back. */
export function textsOf(params: SamplingParams): EditableText[] {
  return [
    { label: "System prompt", text: params.systemPrompt ?? "" },
    ...params.messages.flatMap(({ role, content }, index) =>
      blockTexts(content).map((text) => ({
        label: `Message ${index + 1}, ${role === "user" ? "user" : "assistant"}`,
        text,
      })),
    ),
  ];
}

/** `params` with other texts and another limit. A system prompt left empty is left out. */
export function withTexts(params: SamplingParams, texts: readonly string[], maxTokens: number): SamplingParams {
  const [systemPrompt = "", ...rest] = texts;
  const { systemPrompt: _old, ...others } = params;
  const messages = params.messages.map((message) => ({ ...message, content: withBlockTexts(message.content, rest) }));
  return { ...others, messages, maxTokens, ...(systemPrompt === "" ? {} : { systemPrompt }) } as SamplingParams;
}

export function answerTexts(result: SamplingResult): EditableText[] {
  return blockTexts(result.content).map((text) => ({ label: "Answer", text }));
}

export function withAnswerTexts(result: SamplingResult, texts: readonly string[]): SamplingResult {
  return { ...result, content: withBlockTexts(result.content, [...texts]) } as SamplingResult;
}

function blockTexts(content: Content): string[] {
  return [content].flat().flatMap((block) => (block.type === "text" ? [block.text] : []));
}

/** Takes as many of `texts` from the front as the content has text blocks. */
function withBlockTexts(content: Content, texts: string[]): Content {
  const replaced = [content]
    .flat()
    .map((block) => (block.type === "text" ? { ...block, text: texts.shift() ?? "" } : block));
  return (Array.isArray(content) ? replaced : replaced[0]) as Content;
}
