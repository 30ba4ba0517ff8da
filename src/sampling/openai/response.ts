/** A chat completion as a sampling result (F18). The endpoint is trusted with prompts, not with shapes. */
import { ParleyError } from "../../errors.ts";
import { isObject } from "../../internal/json.ts";
import type { SamplingParams, SamplingResult } from "../../protocol/types.ts";
import { reportUsage } from "../model.ts";
import type { ToolNames } from "./tool-names.ts";

type Content = Extract<SamplingResult["content"], unknown[]>;

/** @throws ParleyError `model_failed`, naming the member; it quotes nothing of the answer. */
export function readCompletion(body: unknown, params: SamplingParams, model: string, names: ToolNames): SamplingResult {
  const choice = isObject(body) && Array.isArray(body["choices"]) ? body["choices"][0] : undefined;
  const message = isObject(choice) ? choice["message"] : undefined;
  if (!isObject(body) || !isObject(choice) || !isObject(message)) throw unreadable("choices[0].message is missing");
  const usage = readUsage(body["usage"]);
  if (usage !== undefined && usage.outputTokens > params.maxTokens) {
    throw unreadable(`the answer has ${usage.outputTokens} tokens where ${params.maxTokens} were allowed (F15)`);
  }
  const content: Content = [...texts(message), ...toolUses(message["tool_calls"], params, names)];
  if (content.length === 0) throw unreadable("there is neither text nor a use of tools");
  const [only] = content;
  const result = {
    role: "assistant",
    content: content.length === 1 ? only : content,
    model: typeof body["model"] === "string" && body["model"] !== "" ? body["model"] : model,
    ...stopReason(choice, message, params),
  } as SamplingResult;
  return usage === undefined ? result : reportUsage(result, usage);
}

function texts({ content, refusal }: Record<string, unknown>): Content {
  // What a model says when it refuses is its answer, not ours to make up or leave out.
  if (typeof refusal === "string" && refusal !== "") return [{ type: "text", text: refusal }];
  if (content === null || content === undefined) return [];
  if (typeof content !== "string") throw unreadable("message.content is not text");
  return [{ type: "text", text: content }];
}

function toolUses(calls: unknown, params: SamplingParams, names: ToolNames): Content {
  if (calls === null || calls === undefined) return [];
  if (!Array.isArray(calls)) throw unreadable("message.tool_calls is not a list");
  const offered = new Set(params.tools?.map(({ name }) => name));
  return calls.map((call: unknown, index) => {
    const called = isObject(call) && isObject(call["function"]) ? call["function"] : {};
    const name = typeof called["name"] === "string" ? names.here(called["name"]) : undefined;
    if (name === undefined || !offered.has(name))
      throw unreadable(`tool_calls[${index}] is of no tool that was offered`);
    const id = isObject(call) && typeof call["id"] === "string" ? call["id"] : "";
    if (id === "") throw unreadable(`tool_calls[${index}].id is missing`);
    return { type: "tool_use" as const, id, name, input: readInput(called["arguments"], index) };
  });
}

function readInput(text: unknown, index: number): Record<string, unknown> {
  if (text === undefined || text === "") return {};
  try {
    const input: unknown = JSON.parse(String(text));
    if (isObject(input)) return input;
  } catch {
    // Said below: the parser's own message quotes the text.
  }
  throw unreadable(`tool_calls[${index}].function.arguments is no JSON object`);
}

const STOP_REASONS: Readonly<Record<string, string | undefined>> = {
  stop: "endTurn",
  length: "maxTokens",
  tool_calls: "toolUse",
  function_call: "toolUse",
};

/**
 * The format says `stop` both for an end and for a stop sequence. Endpoints that tell which sequence it was (as vLLM
 * and its kin do, in `stop_reason`) are believed; of others an end is what is known.
 */
function stopReason(
  choice: Record<string, unknown>,
  message: Record<string, unknown>,
  { stopSequences = [] }: SamplingParams,
): { stopReason?: string } {
  const reason = choice["finish_reason"];
  if (typeof message["refusal"] === "string" && message["refusal"] !== "") return { stopReason: "refusal" };
  if (typeof reason !== "string") return {};
  const calls = message["tool_calls"];
  // Some endpoints say "stop" when they mean the tools.
  if (reason === "stop" && Array.isArray(calls) && calls.length > 0) return { stopReason: "toolUse" };
  const sequence = choice["stop_reason"];
  if (reason === "stop" && typeof sequence === "string" && stopSequences.includes(sequence)) {
    return { stopReason: "stopSequence" };
  }
  return { stopReason: STOP_REASONS[reason] ?? reason };
}

function readUsage(usage: unknown): { inputTokens: number; outputTokens: number } | undefined {
  if (!isObject(usage)) return undefined;
  const { prompt_tokens: inputTokens = 0, completion_tokens: outputTokens } = usage;
  const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
  return isCount(inputTokens) && isCount(outputTokens) ? { inputTokens, outputTokens } : undefined;
}

function unreadable(reason: string): ParleyError {
  return new ParleyError("model_failed", `The model's answer cannot be used: ${reason}.`);
}
