import { ParleyError, type ParleyErrorCode } from "../../errors.ts";
import { isObject } from "../../internal/json.ts";
import type { PendingDecision } from "../../pending/call.ts";
import { host, inert, type Safe } from "../../present/text.ts";
import type { Problem } from "../api.ts";
import { decisionItem } from "../view.ts";

/** An answer that is not 2xx. The message is fit to be shown. */
export class HttpProblem extends Error {
  readonly status: number;
  readonly error: Problem["error"];

  constructor(status: number, error: Problem["error"]) {
    super(error.message);
    this.status = status;
    this.error = error;
  }
}

export function problem<const T extends string>(status: number, code: string, message: string extends T ? never : T) {
  return new HttpProblem(status, { code, message: host(message) });
}

/** Status and code of the errors an inbox throws; what is not here is this program's own fault. */
const BY_CODE: Partial<Record<ParleyErrorCode, readonly [number, string]>> = {
  already_decided: [409, "already_decided"],
  call_state: [409, "call_state"],
  server_muted: [409, "server_muted"],
  human_timeout: [410, "expired"],
  unknown_call: [404, "unknown"],
  invalid_content: [422, "invalid_content"],
  unanswerable: [422, "unanswerable"],
  configuration: [422, "invalid_request"],
  store_unavailable: [503, "store_unavailable"],
  limit_exceeded: [503, "limit_exceeded"],
};

/** The problem to answer with, or `undefined` for what is to be reported and answered with a bare 500. */
export function problemOf(error: unknown): HttpProblem | undefined {
  if (error instanceof HttpProblem) return error;
  if (!(error instanceof ParleyError)) return undefined;
  const [status, code] = BY_CODE[error.code] ?? [];
  if (status === undefined || code === undefined) return undefined;
  const { decision, fields } = error.details;
  return new HttpProblem(status, {
    code,
    message: inert(error.message, 1000),
    ...(isObject(fields) && { fields: safeFields(fields) }),
    ...(decision !== undefined && { decision: decisionItem(decision as PendingDecision) }),
  });
}

function safeFields(fields: Record<string, unknown>): Record<string, Safe> {
  return Object.fromEntries(Object.entries(fields).map(([name, reason]) => [name, inert(String(reason), 300)]));
}
