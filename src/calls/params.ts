import type { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { MRTR_METHODS, type MrtrMethod } from "../protocol/types.ts";
import { isTraceparent } from "./trace.ts";

/** Makes the error for a field that breaks a rule. */
export type Refuse = (field: string, rule: string, cause?: unknown) => ParleyError;

/**
 * The params as the wire will carry them, once and for all legs (B11, L12), whoever gives them: a host at the start of a
 * call, or a saved call. The caller's object is left alone (B10). `meta` is merged over the params' own `_meta`.
 *
 * @throws what `refuse` makes of the field and the rule it breaks.
 */
export function freezeParams(
  method: MrtrMethod,
  params: unknown,
  meta: unknown,
  refuse: Refuse,
): Record<string, unknown> {
  if (!MRTR_METHODS.includes(method)) throw refuse("method", `must be one of ${MRTR_METHODS.join(", ")} (A4)`);
  if (!isObject(params)) throw refuse("params", "must be an object");
  const name = method === "resources/read" ? "uri" : "name";
  if (typeof params[name] !== "string") throw refuse(`params.${name}`, "must be a string");
  for (const field of ["inputResponses", "requestState"]) {
    if (field in params) throw refuse(`params.${field}`, "belongs to a retry, which the driver sends itself");
  }
  const own = params["_meta"];
  if (own !== undefined && !isObject(own)) throw refuse("params._meta", "must be an object");
  if (meta !== undefined && !isObject(meta)) throw refuse("meta", "must be an object");
  const { progressToken: _, ...given } = { ...own, ...meta } as Record<string, unknown>;
  const { traceparent } = given;
  if (traceparent !== undefined && !isTraceparent(traceparent)) {
    throw refuse("params._meta.traceparent", "must be in the W3C trace context format (I14)");
  }
  const whole = { ...params, _meta: Object.keys(given).length > 0 ? given : undefined };
  let copy: Record<string, unknown>;
  try {
    copy = JSON.parse(JSON.stringify(whole)) as Record<string, unknown>;
  } catch (error) {
    throw refuse("params", "cannot be written as JSON", error);
  }
  if (copy["arguments"] !== undefined && !isObject(copy["arguments"])) {
    throw refuse("params.arguments", "must be an object");
  }
  return freezeDeep(copy);
}

function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  for (const member of Object.values(value)) freezeDeep(member);
  return Object.freeze(value);
}
