import type { QuestionContext } from "../calls/responder.ts";
import type { SamplingParams, SamplingResult } from "../protocol/types.ts";

/** Runs an approved sampling request. Must honour `maxTokens` (F15) and `context.signal`. */
export type Model = (params: SamplingParams, context: QuestionContext) => Promise<SamplingResult>;
