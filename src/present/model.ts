/**
 * One question as every surface draws it: labelled, escaped, bounded pieces (requirements D17, D20, D23, E15, F13;
 * presentation rules I1 to I4). A surface prints what is here and nothing else of the server's.
 */
import type { QuestionContext } from "../calls/responder.ts";
import { messageOf, ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { readForm } from "../protocol/form/index.ts";
import type { ElicitFormParams, ElicitUrlParams, InputRequest, SamplingParams } from "../protocol/types.ts";
import { describeField, type FieldView } from "./field-view.ts";
import { CLAIMED_NAME, labelled } from "./names.ts";
import { describeSampling, pretty, type SamplingView } from "./sampling-view.ts";
import { host, inert, inline, type Safe, type SafeText, say, visible } from "./text.ts";
import { inspectUrl, type UrlView } from "./url.ts";

/** Fields and options of one form that are shown; a form with more is refused whole (F4, F6). */
export const MAX_FIELDS = 100;
export const MAX_OPTIONS = 500;

export interface DescribeOptions {
  /** Names of secret-looking fields the person's own host lets a form ask for (F1). Default none. */
  allowSecretFields?: readonly string[];
}

interface QuestionBase {
  /** `id` is the host's own name for the server; `claimed` is what the server calls itself, to be shown quoted. */
  readonly server: { readonly id: Safe; readonly claimed?: Safe };
  /** What will run once this is answered, from the request. `arguments` is indented JSON. */
  readonly call: { readonly method: Safe; readonly target: Safe; readonly arguments?: SafeText };
  readonly key: Safe;
  readonly round: number;
  /** The server refused the earlier answers, and the call started over: to be said (L13). */
  readonly startedOver?: true;
  /** When the question ends unanswered, in milliseconds since the epoch: to be shown in the person's own time (B38). */
  readonly answerBy?: number;
  /** About the question as a whole; each field has its own, to be shown with it. */
  readonly warnings: readonly Safe[];
  /** Why the question must not be put to a person; empty when it may. */
  readonly refused: readonly Safe[];
}

export interface FormView extends QuestionBase {
  readonly kind: "form";
  /** The server's words: to be framed, never a title of the surface (I2). */
  readonly message: SafeText;
  readonly fields: readonly FieldView[];
  /** The form is one yes or no: nothing is ticked beforehand, and Enter alone is not yes (F2, D2). */
  readonly confirmation: boolean;
}
export interface UrlQuestionView extends QuestionBase {
  readonly kind: "url";
  readonly message: SafeText;
  readonly url: UrlView;
  /** The same address was agreed to already and came back: the server is waiting (E24). */
  readonly repeated: boolean;
}
export interface SampleQuestionView extends QuestionBase {
  readonly kind: "sample";
  readonly sampling: SamplingView;
}
export interface RootsQuestionView extends QuestionBase {
  readonly kind: "roots";
}
export type QuestionView = FormView | UrlQuestionView | SampleQuestionView | RootsQuestionView;

/**
 * Describes `request`. Throws {@link ParleyError} `invalid_interim` when it is not a question of the revision, or is
 * larger than a person can be shown; nothing else, whatever the server sent.
 */
export function describeQuestion(
  request: InputRequest,
  context: QuestionContext,
  options: DescribeOptions = {},
): QuestionView {
  const method = isObject(request) ? request.method : undefined;
  const params = isObject(request) ? request.params : undefined;
  switch (method) {
    case "elicitation/create": {
      if (!isObject(params)) throw invalid(context, "it has no params");
      const { mode } = params as { mode?: unknown };
      if (mode === undefined || mode === "form") {
        return describeForm(params as unknown as ElicitFormParams, context, options);
      }
      if (mode === "url") return describeUrl(params as unknown as ElicitUrlParams, context);
      throw invalid(context, "its mode is unknown");
    }
    case "sampling/createMessage":
      if (!isObject(params)) throw invalid(context, "it has no params");
      return describeSample(params as unknown as SamplingParams, context);
    case "roots/list":
      return { kind: "roots", ...base(context, []), refused: [] };
    default:
      throw invalid(context, "its method is unknown");
  }
}

function describeForm(params: ElicitFormParams, context: QuestionContext, options: DescribeOptions): FormView {
  const message = shownMessage(params.message, context);
  const fields = read(context, () =>
    readForm(params.requestedSchema, { maxFields: MAX_FIELDS, maxOptions: MAX_OPTIONS }),
  );
  const confirmation = fields.length === 1 && fields[0]?.kind === "boolean";
  const views = fields.map((field) => describeField(field, confirmation));
  const allowed = new Set(options.allowSecretFields ?? []);
  const secrets = fields.filter((field) => field.secret !== undefined && !allowed.has(field.name));
  return {
    kind: "form",
    ...base(context, aboutMessage(message)),
    message,
    fields: views,
    confirmation,
    refused: secrets.map(
      (field) => say`server “${inert(context.server.id)}” asks for a secret in field “${inert(field.name, 80)}”`,
    ),
  };
}

function describeUrl(params: ElicitUrlParams, context: QuestionContext): UrlQuestionView {
  const message = shownMessage(params.message, context);
  const url = inspectUrl(params.url);
  const about = url.ok ? url.warnings.map((warning) => say`the address ${warning}`) : [];
  return {
    kind: "url",
    ...base(context, [...aboutMessage(message), ...about]),
    message,
    url,
    repeated: context.repeated === true,
    refused: url.ok ? [] : [say`the address cannot be opened safely: ${url.reason}`],
  };
}

function describeSample(params: SamplingParams, context: QuestionContext): SampleQuestionView {
  const sampling = read(context, () => describeSampling(params));
  return {
    kind: "sample",
    ...base(context, sampling.warnings),
    sampling,
    refused: sampling.complete ? [] : [host("the request is too large to be shown whole")],
  };
}

function base(context: QuestionContext, warnings: readonly Safe[]): Omit<QuestionBase, "refused"> {
  const { server, method, target, key, round, params, answerBy } = context;
  const claimed = server.claimed?.title ?? server.claimed?.name;
  const version = server.claimed?.version;
  const shownClaim = claimed === undefined ? undefined : visible(String(claimed), { maxLength: 80, inertLinks: true });
  const claim =
    shownClaim === undefined || version === undefined
      ? shownClaim?.text
      : say`${shownClaim.text} ${inert(String(version), 40)}`;
  return {
    server: { id: inert(server.id, 100), ...(claim === undefined ? {} : { claimed: claim }) },
    call: {
      method: inert(method, 40),
      target: inert(target, 300),
      ...(params["arguments"] === undefined ? {} : { arguments: describeArguments(params["arguments"]) }),
    },
    key: inert(key, 100),
    round,
    ...(context.startedOver === true && { startedOver: true }),
    ...(answerBy === undefined ? {} : { answerBy }),
    warnings: [
      ...new Set([
        ...(shownClaim?.warnings ?? []).map((warning) => say`${CLAIMED_NAME} ${warning}`),
        ...(claimed === undefined ? [] : labelled(CLAIMED_NAME, String(claimed))),
        ...labelled(host("the name of what will run"), target),
        ...warnings,
      ]),
    ],
  };
}

/** Arguments as indented JSON. */
export function describeArguments(value: unknown): SafeText {
  return visible(pretty(value) ?? "(cannot be written down)", { maxLength: 4000, multiline: true, maxLines: 60 });
}

function shownMessage(message: unknown, context: QuestionContext): SafeText {
  if (typeof message !== "string") throw invalid(context, "its message is not text");
  return visible(message, { maxLength: 4000, multiline: true, maxLines: 40, inertLinks: true });
}

function aboutMessage(message: SafeText): Safe[] {
  return message.warnings.map((warning) => say`the message ${warning}`);
}

/** Runs a reader of server data; what it cannot read is the server's mistake. */
function read<T>(context: QuestionContext, reader: () => T): T {
  try {
    return reader();
  } catch (error) {
    throw invalid(context, messageOf(error));
  }
}

function invalid(context: QuestionContext, rule: string): ParleyError {
  const key = inline(context.key, 100);
  const server = inline(context.server.id, 100);
  return new ParleyError("invalid_interim", `Question "${key}" of server "${server}": ${inline(rule, 300)}`, {
    details: { key: context.key, server: context.server.id },
  });
}
