import type { InputRequest } from "../protocol/types.ts";

/**
 * The request with the reason why the last answer did not count, where the kind has words for a person.
 * The digest is taken before this, so a complaint never makes an answer stale.
 */
export function withComplaint(request: InputRequest, reason: string | undefined): InputRequest {
  if (reason === undefined || request.method !== "elicitation/create") return request;
  const message = `${request.params.message}\n\nThe last answer was not accepted: ${reason}`;
  return { method: request.method, params: { ...request.params, message } } as InputRequest;
}

/** A question's text for an error message: bounded, since it ends up in a state. */
export function shortText(request: InputRequest): string {
  const text = JSON.stringify(request.params ?? {});
  return text.length > 400 ? `${text.slice(0, 400)}...` : text;
}
