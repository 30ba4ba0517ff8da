import { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { checkContent } from "../protocol/form/index.ts";
import { rootsBreach, samplingResultBreach } from "../protocol/sampling.ts";
import type {
  ElicitFormParams,
  ElicitResult,
  InputRequest,
  InputResponse,
  RootsResult,
  SamplingParams,
  SamplingResult,
} from "../protocol/types.ts";
import { fieldsOf } from "./fields.ts";

/**
 * The bare result to send for `request` (B13), or an error that names the field (D21). Nothing is filled in that
 * was not given: no default, no action (D22, B32). Content of a decline, a cancel or a url accept is left out (L30).
 *
 * @throws ParleyError `invalid_content`; neither message nor details repeat what was answered.
 */
export function checkAnswer(key: string, request: InputRequest, answer: unknown): InputResponse {
  if (!isObject(answer)) throw invalid(key, "", "the answer is not an object");
  switch (request.method) {
    case "elicitation/create":
      return request.params.mode === "url"
        ? { action: readAction(key, answer) }
        : checkFormAnswer(key, request.params, answer);
    case "sampling/createMessage":
      return checkSample(key, request.params, answer);
    case "roots/list":
      return checkRoots(key, answer);
  }
}

function readAction(key: string, { action }: Record<string, unknown>): ElicitResult["action"] {
  if (action === "accept" || action === "decline" || action === "cancel") return action;
  throw invalid(key, "action", "must be accept, decline or cancel");
}

function checkFormAnswer(key: string, params: ElicitFormParams, answer: Record<string, unknown>): ElicitResult {
  const action = readAction(key, answer);
  if (action !== "accept") return { action };
  const check = checkContent(fieldsOf(params), answer["content"]);
  if (check.ok) return { action, content: check.content };
  const [issue] = check.issues;
  throw invalid(key, issue?.field ?? "", issue?.reason ?? "does not fit the form");
}

function checkSample(key: string, params: SamplingParams, answer: Record<string, unknown>): SamplingResult {
  const breach = samplingResultBreach(params, answer);
  if (breach !== undefined) throw invalid(key, breach.field, breach.reason);
  const { role, content, model, stopReason, _meta } = answer;
  const bare = {
    role,
    content,
    model,
    ...(stopReason !== undefined && { stopReason }),
    ...(_meta !== undefined && { _meta }),
  };
  return bare as SamplingResult;
}

function checkRoots(key: string, { roots, _meta }: Record<string, unknown>): RootsResult {
  const breach = rootsBreach(roots);
  if (breach !== undefined) throw invalid(key, breach.field, breach.reason);
  return { roots, ...(isObject(_meta) && { _meta }) } as RootsResult;
}

function invalid(key: string, field: string, reason: string): ParleyError {
  const where = field === "" ? "" : `, field ${JSON.stringify(field)}`;
  return new ParleyError("invalid_content", `The answer to ${JSON.stringify(key)}${where}: ${reason}.`, {
    details: { key, field, reason },
  });
}
