/** A model for sampling, from the command line: the address and the name by flag, the key by environment only. */
import { ParleyError } from "../../errors.ts";
import type { Model } from "../../sampling/model.ts";
import { openAiModel } from "../../sampling/openai/openai.ts";
import { usageError } from "../exit.ts";

export interface ModelFlags {
  readonly modelUrl?: string;
  readonly model?: string;
  readonly answers?: string;
}

/** Never a flag: a command line is in the shell's history and in the list of processes. */
export const MODEL_KEY = "PARLEY_MODEL_KEY";

/** @throws ParleyError `usage`, naming the flag. */
export function readModel({ modelUrl, model, answers }: ModelFlags, env: NodeJS.ProcessEnv): Model | undefined {
  if (modelUrl === undefined && model === undefined) return undefined;
  if (modelUrl === undefined)
    throw usageError("--model needs --model-url", "give the model's address with --model-url");
  if (model === undefined) throw usageError("--model-url needs --model", "name the model with --model");
  if (answers !== undefined) {
    const remedy = "leave one of them out: a model's answers are approved at the terminal";
    throw usageError("--model-url does not go with --answers", remedy);
  }
  const apiKey = env[MODEL_KEY];
  try {
    return openAiModel({ baseUrl: modelUrl, model, ...(apiKey !== undefined && apiKey !== "" && { apiKey }) });
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== "configuration") throw error;
    const option = String(error.details["option"]);
    const flag = { baseUrl: "--model-url", model: "--model", apiKey: MODEL_KEY }[option] ?? option;
    throw usageError(error.message.replace(`openAiModel: ${option}`, flag), `mend ${flag}`, error);
  }
}
