import { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { isLoopback } from "../internal/net.ts";
import { type PreparedForm, prepareForm } from "../protocol/form/index.ts";
import { type AnswerBreach, rootsBreach, samplingBreach, samplingResultBreach } from "../protocol/sampling.ts";
import type { FormSchema, InputRequest, Json, QuestionKind, SamplingParams } from "../protocol/types.ts";
import type { Parsed, Question, Verdict } from "../replay/question.ts";
import type { AskOptions, ConfirmOptions, FormQuestion, FormSchemaInput, UntilOptions, UrlQuestion } from "./types.ts";

/** Longest key, in characters: it travels in every state. */
const MAX_KEY_LENGTH = 200;

export function checkKey(key: unknown): asserts key is string {
  const problem =
    typeof key !== "string" || key === ""
      ? "must be a non-empty string"
      : key.length > MAX_KEY_LENGTH
        ? `must have at most ${MAX_KEY_LENGTH} characters`
        : key === "__proto__"
          ? 'must not be "__proto__"'
          : undefined;
  if (problem !== undefined) throw invalid(typeof key === "string" ? key.slice(0, 40) : "", "key", problem);
}

export function formQuestion(key: string, question: FormQuestion<FormSchemaInput>): Question {
  checkText(key, "message", question.message);
  const form = prepared(key, question);
  return elicitation(key, "form", question, {
    request: {
      method: "elicitation/create",
      params: { mode: "form", message: question.message, requestedSchema: form.wire },
    },
    fields: Object.keys(form.wire.properties),
    check: (content) => form.validate(content),
  });
}

/** The form's own complaint, with the question it belongs to. */
function prepared(key: string, { schema, allowSecretLooking }: FormQuestion<FormSchemaInput>): PreparedForm {
  try {
    return prepareForm(schema, allowSecretLooking === undefined ? undefined : { allowSecretLooking }, key);
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    const details = { ...error.details, key };
    throw new ParleyError(error.code, `Question "${key}": ${error.message}`, { cause: error, details });
  }
}

export function confirmQuestion(key: string, message: string, options: ConfirmOptions): Question {
  checkText(key, "message", message);
  const requestedSchema: FormSchema = {
    type: "object",
    properties: { confirm: { type: "boolean", title: options.label ?? "Yes" } },
    required: ["confirm"],
  };
  const request: InputRequest = { method: "elicitation/create", params: { mode: "form", message, requestedSchema } };
  return elicitation(key, "form", options, {
    request,
    fields: ["confirm"],
    check: (content) => {
      const confirm = isObject(content) && Object.hasOwn(content, "confirm") ? content["confirm"] : undefined;
      return typeof confirm === "boolean"
        ? { ok: true, value: confirm }
        : { ok: false, reason: "confirm must be answered with yes or no" };
    },
  });
}

export function urlQuestion(key: string, question: UrlQuestion): Question {
  checkText(key, "message", question.message);
  checkUrl(key, question.url);
  checkDurations(key, question);
  return elicitation(key, "url", question, {
    request: { method: "elicitation/create", params: { mode: "url", message: question.message, url: question.url } },
    fields: [],
    check: () => ({ ok: true, value: undefined }),
  });
}

export function sampleQuestion(key: string, params: SamplingParams, options: AskOptions): Question {
  const breach = samplingBreach(params as unknown as Record<string, unknown>);
  if (breach !== undefined) throw invalid(key, "params", `${breach.reason} (${breach.rule})`);
  return {
    key,
    kind: "sample",
    unsolicited: options.unsolicited === "accept",
    // A copy: what is sent at the end of the round is what was judged now.
    request: { method: "sampling/createMessage", params: structuredClone(params) },
    parse: (response) =>
      isObject(response) && Object.hasOwn(response, "role")
        ? { action: "accept", content: response as Json }
        : malformed("not a sampling result"),
    check: (content) => verdictOn(samplingResultBreach(params, content as Record<string, unknown>), content),
  };
}

export function rootsQuestion(key: string, options: AskOptions): Question {
  return {
    key,
    kind: "roots",
    unsolicited: options.unsolicited === "accept",
    request: { method: "roots/list" },
    parse: (response) =>
      isObject(response) && Array.isArray(response["roots"])
        ? { action: "accept", content: response["roots"] as Json[] }
        : malformed("not a list of roots"),
    check: (content) => verdictOn(rootsBreach(content), content),
  };
}

/** The part that forms, confirmations and links share: an `ElicitResult` with one of three actions (D25). */
function elicitation(
  key: string,
  kind: QuestionKind,
  options: AskOptions,
  { request, check, fields }: Pick<Question, "request" | "check"> & { readonly fields: readonly string[] },
): Question {
  return {
    key,
    kind,
    unsolicited: options.unsolicited === "accept",
    request,
    check,
    parse(response): Parsed {
      const action = isObject(response) ? response["action"] : undefined;
      if (action === "decline" || action === "cancel") return { action };
      if (action !== "accept") return malformed("not an elicitation result");
      // A link has no content; a form that is accepted without any was accepted empty (B23).
      if (kind === "url") return { action: "accept" };
      const content = (response as { content?: unknown }).content ?? {};
      return { action: "accept", content: isObject(content) ? only(fields, content) : (content as Json) };
    },
  };
}

/** The form's own fields: what else was sent is ignored (A18), and must not be carried in every state from now on. */
function only(fields: readonly string[], content: Record<string, unknown>): Json {
  return Object.fromEntries(
    fields.filter((field) => Object.hasOwn(content, field)).map((field) => [field, content[field] as Json]),
  );
}

function verdictOn(breach: AnswerBreach | undefined, content: Json | undefined): Verdict {
  return breach === undefined
    ? { ok: true, value: content }
    : { ok: false, reason: `${breach.field} ${breach.reason}` };
}

export function checkDurations(key: string, given: UntilOptions): void {
  for (const field of ["waitMs", "pollMs", "everyMs"] as const) {
    const ms = given[field];
    if (ms !== undefined && !(ms >= 0)) throw invalid(key, field, "must be a duration in ms");
  }
}

function checkUrl(key: string, url: unknown): void {
  const parsed = typeof url === "string" && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined) throw invalid(key, "url", "must be an absolute URL (E1)");
  if (parsed.protocol !== "https:" && !(parsed.protocol === "http:" && isLoopback(parsed.hostname))) {
    throw invalid(key, "url", "must be https:, or http: on loopback (E4)");
  }
  if (parsed.username !== "" || parsed.password !== "") throw invalid(key, "url", "must not carry credentials (E2)");
}

function checkText(key: string, field: string, text: unknown): void {
  if (typeof text !== "string" || text.trim() === "") throw invalid(key, field, "must say why you ask (D3)");
}

function malformed(reason: string): Parsed {
  return { action: "malformed", reason };
}

function invalid(key: string, field: string, rule: string): ParleyError {
  return new ParleyError("invalid_question", `Question "${key}": ${field} ${rule}.`, { details: { key, field, rule } });
}
