/**
 * The revision's own words (2026-07-28, `schema.ts`), as far as multi round-trip requests use them.
 * Sampling shapes are the SDK's types; everything else is spelled out, so that the pure parts depend on no library.
 */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
} from "@modelcontextprotocol/server";

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

/** The three methods that may answer `input_required` (A3). */
export type MrtrMethod = "tools/call" | "prompts/get" | "resources/read";
export const MRTR_METHODS: readonly MrtrMethod[] = ["tools/call", "prompts/get", "resources/read"];

/** `inputResponses`/`requestState` are siblings of the request's own params, never in `_meta` (section 0). */
export interface RetryFields {
  inputResponses?: unknown;
  requestState?: unknown;
}

export type StringFormat = "email" | "uri" | "date" | "date-time";

interface Labelled {
  title?: string;
  description?: string;
}

/** A primitive property of a form: D5 to D11, the legacy titled enum included (D10). */
export type FormProperty =
  | (Labelled & { type: "string"; minLength?: number; maxLength?: number; format?: StringFormat; default?: string })
  | (Labelled & { type: "number" | "integer"; minimum?: number; maximum?: number; default?: number })
  | (Labelled & { type: "boolean"; default?: boolean })
  | (Labelled & { type: "string"; enum: string[]; enumNames?: string[]; default?: string })
  | (Labelled & { type: "string"; oneOf: { const: string; title: string }[]; default?: string })
  | (Labelled & {
      type: "array";
      minItems?: number;
      maxItems?: number;
      items: { type: "string"; enum: string[] } | { anyOf: { const: string; title: string }[] };
      default?: string[];
    });

/** `requestedSchema` of a form (D4). */
export interface FormSchema {
  $schema?: string;
  type: "object";
  properties: Record<string, FormProperty>;
  required?: string[];
}

/** Values an accepted form may carry (D26): fractions are legal. */
export type FormContent = Record<string, string | number | boolean | string[]>;

export interface ElicitFormParams {
  mode?: "form";
  message: string;
  requestedSchema: FormSchema;
}
export interface ElicitUrlParams {
  mode: "url";
  message: string;
  url: string;
}

export type InputRequest =
  | { method: "elicitation/create"; params: ElicitFormParams | ElicitUrlParams }
  | { method: "sampling/createMessage"; params: CreateMessageRequestParams }
  | { method: "roots/list"; params?: { _meta?: JsonObject } };
export type InputRequests = Record<string, InputRequest>;

export type ElicitAction = "accept" | "decline" | "cancel";
export interface ElicitResult {
  action: ElicitAction;
  content?: FormContent;
}
export type SamplingParams = CreateMessageRequestParams;
export type SamplingResult = CreateMessageResult | CreateMessageResultWithTools;
export interface Root {
  uri: string;
  name?: string;
  _meta?: JsonObject;
}
export interface RootsResult {
  roots: Root[];
}
export type InputResponse = ElicitResult | SamplingResult | RootsResult;
export type InputResponses = Record<string, InputResponse>;

/** What a client declares on each request (B16). `elicitation: {}` means form only (D24). */
export interface ClientCapabilities {
  elicitation?: { form?: object; url?: object };
  sampling?: { tools?: object; context?: object };
  roots?: object;
  extensions?: Record<string, object>;
  experimental?: Record<string, object>;
}

/** An interim result (A6: at least one of the two is present). */
export interface InputRequired {
  resultType: "input_required";
  inputRequests?: InputRequests;
  requestState?: string;
  _meta?: Record<string, unknown>;
}

/** The kinds of question, by what answers them. */
export type QuestionKind = "form" | "url" | "sample" | "roots";

/** The kind of a well-formed input request. A missing `mode` is a form (D1). */
export function kindOf(request: InputRequest): QuestionKind {
  if (request.method === "sampling/createMessage") return "sample";
  if (request.method === "roots/list") return "roots";
  return request.params.mode === "url" ? "url" : "form";
}
