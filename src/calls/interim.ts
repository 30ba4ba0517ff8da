import { ParleyError, reasonOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { missingCapabilities, requiredCapabilities } from "../protocol/capabilities.ts";
import { type Breach, samplingBreach } from "../protocol/sampling.ts";
import {
  type ClientCapabilities,
  type ElicitFormParams,
  type InputRequest,
  kindOf,
  type QuestionKind,
} from "../protocol/types.ts";
import { fieldsOf } from "./fields.ts";

/** One entry of `inputRequests`, checked. */
export interface Question {
  readonly key: string;
  readonly kind: QuestionKind;
  readonly request: InputRequest;
  /** The same url came back under the same key after it was accepted (E24). */
  readonly repeated: boolean;
}

export interface Interim {
  /** Empty on a round that only carries state. */
  readonly requests: ReadonlyMap<string, InputRequest>;
  /** Exactly the server's string, `""` included (L10); `undefined` if it sent none. */
  readonly requestState: string | undefined;
  readonly stateBytes: number;
}

export interface InterimRules {
  readonly server: string;
  /** What this leg declared: nothing else may be asked (A11). */
  readonly declared: ClientCapabilities;
  readonly maxRequestStateBytes: number;
  readonly maxQuestions: number;
}

/**
 * Reads an `input_required` result, or names the rule it breaks before anybody is asked anything (B18).
 * Members the revision does not know are left alone.
 *
 * @throws ParleyError `invalid_interim` with `details.rule` and `details.key`; `limit_exceeded` for an oversized state.
 */
export function readInterim(raw: Readonly<Record<string, unknown>>, rules: InterimRules): Interim {
  const { inputRequests, requestState } = raw;
  if (inputRequests !== undefined && !isObject(inputRequests)) {
    throw invalid(rules, { rule: "A8", reason: "inputRequests must be an object" });
  }
  if (requestState !== undefined && typeof requestState !== "string") {
    throw invalid(rules, { rule: "C9", reason: "requestState must be a string" });
  }
  const entries = Object.entries(inputRequests ?? {});
  if (entries.length === 0 && !requestState) {
    throw invalid(rules, { rule: "A6", reason: "it carries neither inputRequests nor requestState" });
  }
  if (entries.length > rules.maxQuestions) {
    const reason = `it asks ${entries.length} questions at once, and at most ${rules.maxQuestions} are put to people`;
    throw invalid(rules, { rule: "maxQuestions", reason });
  }
  const stateBytes = requestState === undefined ? 0 : Buffer.byteLength(requestState);
  if (stateBytes > rules.maxRequestStateBytes) {
    throw new ParleyError(
      "limit_exceeded",
      `The requestState from "${rules.server}" has ${stateBytes} bytes; maxRequestStateBytes is ${rules.maxRequestStateBytes}.`,
      { details: { server: rules.server, stateBytes, limit: rules.maxRequestStateBytes } },
    );
  }
  const requests = new Map(entries.map(([key, entry]) => [key, readRequest(entry, key, rules)]));
  return { requests, requestState, stateBytes };
}

function readRequest(entry: unknown, key: string, rules: InterimRules): InputRequest {
  const breach = requestBreach(entry);
  if (breach) throw invalid(rules, breach, key);
  const request = entry as InputRequest;
  if (kindOf(request) === "form") checkForm(request, key, rules);
  const missing = missingCapabilities(requiredCapabilities(request), rules.declared);
  if (missing) {
    throw invalid(rules, { rule: "A11", reason: `this call did not declare ${JSON.stringify(missing)}` }, key);
  }
  return request;
}

function requestBreach(entry: unknown): Breach | undefined {
  if (!isObject(entry)) return { rule: "A8", reason: "the entry is not a request object" };
  const { method, params } = entry;
  if (method === "roots/list") {
    return params === undefined || isObject(params) ? undefined : { rule: "A9", reason: "params must be an object" };
  }
  if (method !== "elicitation/create" && method !== "sampling/createMessage") {
    return { rule: "A8", reason: "the method is none of elicitation/create, sampling/createMessage, roots/list" };
  }
  if (!isObject(params)) return { rule: "A9", reason: "params are missing" };
  return method === "sampling/createMessage" ? samplingBreach(params) : elicitationBreach(params);
}

function elicitationBreach({ mode, message, url }: Record<string, unknown>): Breach | undefined {
  if (mode !== undefined && mode !== "form" && mode !== "url") return { rule: "L31", reason: "the mode is unknown" };
  if (typeof message !== "string") return { rule: "D3", reason: "message must be a string" };
  if (mode !== "url") return undefined;
  if (typeof url !== "string" || !URL.canParse(url)) return { rule: "E1", reason: "url is not a valid URL" };
  return /^https?:$/.test(new URL(url).protocol) ? undefined : { rule: "E20", reason: "url is not http or https" };
}

function checkForm(request: InputRequest, key: string, rules: InterimRules): void {
  try {
    fieldsOf(request.params as ElicitFormParams);
  } catch (error) {
    throw invalid(rules, { rule: "D4", reason: reasonOf(error) }, key, error);
  }
}

function invalid(rules: InterimRules, { rule, reason }: Breach, key?: string, cause?: unknown): ParleyError {
  const where = key === undefined ? "" : ` at ${JSON.stringify(key)}`;
  return new ParleyError("invalid_interim", `"${rules.server}" broke rule ${rule}${where}: ${reason}.`, {
    cause,
    details: { server: rules.server, rule, ...(key !== undefined && { key }) },
  });
}
