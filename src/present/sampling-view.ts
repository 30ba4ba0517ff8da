/** A sampling request and its response as every surface shows them: whole, or marked as not whole (rules S1, S2). */
import type { SamplingParams, SamplingResult } from "../protocol/types.ts";
import { host, inert, type Safe, type SafeText, say, visible } from "./text.ts";

/** Code points of all texts of a request or response together; past it the view is not `complete`. */
export const MAX_SAMPLING_TEXT = 200_000;

export interface SamplingPart {
  /** What this is, in the host's words: "system prompt", "message 2, user". */
  readonly label: Safe;
  readonly text: SafeText;
}

export interface SamplingView {
  readonly parts: readonly SamplingPart[];
  /** Limits and wishes: tokens, temperature, stop sequences, model preferences. */
  readonly limits: readonly Safe[];
  /** False when something could not be shown whole; such a request must not be approved. */
  readonly complete: boolean;
  readonly warnings: readonly Safe[];
}

/** Describes what a model would be given. Throws a `TypeError` for what is no sampling request. */
export function describeSampling(params: SamplingParams): SamplingView {
  if (!Array.isArray(params.messages)) throw new TypeError("messages is not a list");
  if (!Number.isInteger(params.maxTokens)) throw new TypeError("maxTokens is not a whole number");
  const show = new Shower();
  if (params.systemPrompt !== undefined) show.text(host("system prompt"), String(params.systemPrompt));
  params.messages.forEach((message, index) => {
    for (const block of blocksOf(message?.content)) {
      show.block(say`message ${index + 1}, ${inert(String(message?.role), 20)}`, block);
    }
  });
  for (const tool of list(params.tools)) show.json(say`tool “${inert(String(nameOf(tool)))}”`, tool);
  if (params.metadata !== undefined) show.json(host("metadata for the model's provider"), params.metadata);
  return show.view(limitsOf(params));
}

/** Describes what a model answered, before it is sent to the server. */
export function describeSample(result: SamplingResult): SamplingView {
  const show = new Shower();
  for (const block of blocksOf(result.content)) show.block(host("answer"), block);
  const limits = [say`model: ${inert(String(result.model))}`];
  if (result.stopReason !== undefined) limits.push(say`stopped because: ${inert(String(result.stopReason))}`);
  return show.view(limits);
}

/** Collects parts under one budget. */
class Shower {
  readonly #parts: SamplingPart[] = [];
  readonly #warnings = new Set<Safe>();
  #left = MAX_SAMPLING_TEXT;
  #complete = true;

  text(label: Safe, source: string): void {
    const text = visible(source, {
      maxLength: this.#left,
      multiline: true,
      maxLines: Number.POSITIVE_INFINITY,
      inertLinks: true,
    });
    const length = [...source].length;
    if (length > this.#left) this.#complete = false;
    this.#left = Math.max(0, this.#left - length);
    this.#parts.push({ label, text });
    for (const warning of text.warnings) this.#warnings.add(say`the ${label} ${warning}`);
  }

  json(label: Safe, value: unknown): void {
    const source = pretty(value);
    if (source === undefined) this.#complete = false;
    this.text(label, source ?? "");
  }

  block(label: Safe, block: unknown): void {
    const fields = typeof block === "object" && block !== null ? (block as Record<string, unknown>) : {};
    const { type } = fields;
    if (type === "text" && typeof fields["text"] === "string") {
      this.text(label, fields["text"]);
    } else if ((type === "image" || type === "audio") && typeof fields["data"] === "string") {
      const { data, ...rest } = fields;
      // A picture has no text form; its size and type are what can be said about it here.
      this.json(say`${label}, ${inert(type)} of ${data.length} base64 characters, not shown`, rest);
    } else {
      this.json(say`${label}, ${inert(String(type), 20)}`, block);
    }
  }

  view(limits: readonly Safe[]): SamplingView {
    return { parts: this.#parts, limits, complete: this.#complete, warnings: [...this.#warnings] };
  }
}

function limitsOf(params: SamplingParams): Safe[] {
  const limits: Safe[] = [say`at most ${params.maxTokens} tokens`];
  const add = (label: Safe, value: unknown) => {
    if (value !== undefined) limits.push(say`${label}: ${inert(pretty(value, 0) ?? "?", 2000)}`);
  };
  add(host("temperature"), params.temperature);
  add(host("stops at"), params.stopSequences);
  add(host("model wishes"), params.modelPreferences);
  add(host("use of tools"), params.toolChoice);
  add(host("wants context of"), params.includeContext);
  return limits;
}

/** Indented JSON, or `undefined` for what cannot be written down (too deep, circular). */
export function pretty(value: unknown, indent = 2): string | undefined {
  try {
    return JSON.stringify(value, null, indent);
  } catch {
    return undefined;
  }
}

function blocksOf(content: unknown): unknown[] {
  return Array.isArray(content) ? content : [content];
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function nameOf(tool: unknown): unknown {
  return typeof tool === "object" && tool !== null ? (tool as Record<string, unknown>)["name"] : undefined;
}
