import { within } from "../../calls/clock.ts";
import { ParleyError } from "../../errors.ts";
import { samplingBreach } from "../../protocol/sampling.ts";
import type { Model } from "../model.ts";
import { chooseModel } from "./choose.ts";
import { type OpenAiModelOptions, resolveEndpoint } from "./options.ts";
import { failed, post } from "./post.ts";
import { requestBody } from "./request.ts";
import { readCompletion } from "./response.ts";
import { ToolNames } from "./tool-names.ts";

/**
 * A {@link Model} behind any endpoint of the chat completions format. Text, images, WAV and MP3 audio, tools and tool
 * results go there; `includeContext` and `metadata` do not (F16). The answer is one message, never streamed.
 *
 * The model throws `unanswerable` for content the format has no place for, `model_failed` for an endpoint that fails or
 * answers what cannot be used, and what `context.signal` aborted with. No error holds the key, the prompt or the answer.
 *
 * @throws ParleyError `configuration`, naming the option.
 */
export function openAiModel(options: OpenAiModelOptions): Model {
  const endpoint = resolveEndpoint(options);
  return async (params, context) => {
    const breach = samplingBreach(params as Record<string, unknown>);
    if (breach !== undefined) throw new ParleyError("invalid_interim", `Not a sampling request: ${breach.reason}.`);
    const names = new ToolNames(params.tools ?? []);
    const model = chooseModel(params.modelPreferences, endpoint);
    const body = requestBody(params, model, endpoint, names);
    const { timeoutMs } = endpoint;
    const late = { ms: timeoutMs, error: () => failed(endpoint, `did not answer within ${timeoutMs} ms (timeoutMs)`) };
    const answer = await within(endpoint.clock, context.signal, [late], ({ real }) => post(endpoint, body, real));
    return readCompletion(answer, params, model, names);
  };
}
