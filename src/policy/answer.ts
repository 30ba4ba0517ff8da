/** Whether what a rule answers fits the question that was actually asked. */
import { reasonOf } from "../errors.ts";
import { inspectUrl } from "../present/index.ts";
import { checkContent, describeIssues, type Field, readForm } from "../protocol/form/index.ts";
import { samplingResultBreach } from "../protocol/sampling.ts";
import type {
  ElicitFormParams,
  ElicitUrlParams,
  InputRequest,
  InputResponse,
  SamplingParams,
} from "../protocol/types.ts";
import type { Verdict } from "./rule.ts";

export type Fit =
  | { readonly ok: true; readonly response: InputResponse }
  /** Why not, naming fields and never what was to be answered. */
  | { readonly ok: false; readonly reason: string };

type Accept = Extract<Verdict, { action: "accept" }>;

/** The kind of `verdict` is the kind of `request`. */
export function answerFor(verdict: Accept, request: InputRequest): Fit {
  switch (verdict.kind) {
    case "form":
      return fitForm(verdict, request.params as ElicitFormParams);
    case "url":
      return fitUrl(request.params as ElicitUrlParams);
    case "sample": {
      const breach = samplingResultBreach(request.params as SamplingParams, { ...verdict.response });
      return breach === undefined
        ? { ok: true, response: structuredClone(verdict.response) }
        : { ok: false, reason: `${breach.field} ${breach.reason}` };
    }
    case "roots":
      return { ok: true, response: structuredClone(verdict.response) };
  }
}

function fitForm(verdict: Extract<Accept, { kind: "form" }>, params: ElicitFormParams): Fit {
  let fields: readonly Field[];
  try {
    fields = readForm(params.requestedSchema);
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
  const secret = fields.find(
    ({ name, secret }) =>
      secret !== undefined && Object.hasOwn(verdict.content, name) && !verdict.secrets.includes(name),
  );
  if (secret !== undefined) {
    return {
      ok: false,
      reason: `${JSON.stringify(secret.name)} looks like a secret, and allowSecretFields does not name it`,
    };
  }
  const check = checkContent(fields, verdict.content);
  return check.ok
    ? { ok: true, response: { action: "accept", content: check.content } }
    : { ok: false, reason: describeIssues(check.issues) };
}

/** The host was matched already. A user name in the address is no part of what the rule agreed to. */
function fitUrl({ url }: ElicitUrlParams): Fit {
  const view = inspectUrl(url);
  if (!view.ok) return { ok: false, reason: view.reason };
  const { username, password } = new URL(view.href);
  if (username !== "" || password !== "") return { ok: false, reason: "the address carries a user name" };
  return { ok: true, response: { action: "accept" } };
}
