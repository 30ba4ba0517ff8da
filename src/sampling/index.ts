/** Models that answer sampling requests, and the bounds on them. */
export {
  type SamplingLimits,
  type SamplingLimitsOptions,
  type SamplingPermit,
  samplingLimits,
} from "./limits.ts";
export { type Model, type ModelUsage, reportUsage } from "./model.ts";
export { openAiModel } from "./openai/openai.ts";
export type { OpenAiModelOptions, RatedModel } from "./openai/options.ts";
