import type { QuestionContext } from "../calls/responder.ts";
import type { SamplingParams, SamplingResult } from "../protocol/types.ts";

/** Runs an approved sampling request. Must honour `maxTokens` (F15) and `context.signal`. */
export type Model = (params: SamplingParams, context: QuestionContext) => Promise<SamplingResult>;

/** What one request cost. */
export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** Beside the result, not in it: what a model costs is nothing the server is told. */
const usages = new WeakMap<SamplingResult, ModelUsage>();

/** For a {@link Model} that knows what `result` cost; limits then count that instead of the most it may have been. */
export function reportUsage(result: SamplingResult, usage: ModelUsage): SamplingResult {
  usages.set(result, usage);
  return result;
}

/** What the model reported for `result`, if it did. */
export function usageOf(result: SamplingResult): ModelUsage | undefined {
  return usages.get(result);
}
