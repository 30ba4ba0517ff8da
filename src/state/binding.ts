/** What a sealed state is bound to: this service, this caller, this request (C5, C7, C18). */
import { createHash, hash } from "node:crypto";
import canonicalize from "canonicalize";
import { ParleyError } from "../errors.ts";
import type { MrtrMethod } from "../protocol/types.ts";

/** Who calls, from verified credentials only, never from what a client says about itself (C11). */
export interface Principal {
  readonly issuer?: string;
  readonly subject?: string;
  readonly clientId?: string;
}

/** Opening needs exactly the binding that was sealed with. */
export interface Binding {
  /** Which service. */
  readonly audience: string;
  /** null: nobody is authenticated. Differs from every principal. */
  readonly principal: Principal | null;
  readonly method: MrtrMethod;
  /** Tool or prompt name, or resource URI. */
  readonly target: string;
  /** {@link digestParams} of the request. */
  readonly paramsDigest: Buffer;
}

/** Deepest nesting of params that is bound; the canonical form is computed by recursion. */
export const MAX_PARAMS_DEPTH = 100;

const DIGEST_BYTES = 32;

/**
 * SHA-256 of the RFC 8785 form of what a retry must repeat unchanged: all params but `_meta`, the two retry fields and
 * the target (`name` or `uri`), which is bound by itself. The order of members does not count.
 *
 * @throws ParleyError "invalid_params" for params deeper than {@link MAX_PARAMS_DEPTH}, or that RFC 8785 has no form
 *   for: a string with a lone surrogate, a number that is not finite.
 */
export function digestParams(method: MrtrMethod, params: object): Buffer {
  const bound = boundParams(params, method === "resources/read" ? "uri" : "name");
  if (isDeeper(bound, MAX_PARAMS_DEPTH)) {
    throw new ParleyError("invalid_params", `The params are nested deeper than ${MAX_PARAMS_DEPTH} levels.`, {
      details: { limit: MAX_PARAMS_DEPTH },
    });
  }
  let text: string;
  try {
    text = canonicalize(bound) as string;
  } catch (cause) {
    throw new ParleyError(
      "invalid_params",
      `The params have no canonical form (RFC 8785): ${(cause as Error).message}.`,
      {
        cause,
      },
    );
  }
  return hash("sha256", text, "buffer");
}

function boundParams(params: object, target: string): Record<string, unknown> {
  const bound: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(params)) {
    if (key === "_meta" || key === "inputResponses" || key === "requestState" || key === target) continue;
    // Defined, not assigned: a member of this name must be bound like any other.
    if (key === "__proto__") Object.defineProperty(bound, key, { value, enumerable: true });
    else bound[key] = value;
  }
  return bound;
}

/** Goes no deeper than `levels`, so that the check itself cannot overflow. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels < 0) return true;
  return Object.values(value).some((member) => isDeeper(member, levels - 1));
}

/** A binding in the form that is authenticated. No two bindings share one. */
export interface EncodedBinding {
  readonly audience: string;
  readonly principal: string;
  readonly target: string;
  readonly paramsDigest: Buffer;
  /** The three texts, joined. */
  readonly text: string;
}

export function encodeBinding(binding: Binding): EncodedBinding {
  const { principal: who, paramsDigest } = binding;
  if (paramsDigest.length !== DIGEST_BYTES) {
    throw new ParleyError("configuration", `A params digest has ${DIGEST_BYTES} bytes, not ${paramsDigest.length}.`);
  }
  const audience = field(binding.audience);
  const principal = encodePrincipal(who);
  const target = `${binding.method};${field(binding.target)}`;
  return { audience, principal, target, paramsDigest, text: audience + principal + target };
}

/** A caller of a service, in a form that no two callers share. */
export function principalText(audience: string, principal: Principal | null): string {
  return field(audience) + encodePrincipal(principal);
}

function encodePrincipal(who: Principal | null): string {
  return who === null ? "anonymous;" : `principal;${field(who.issuer)}${field(who.subject)}${field(who.clientId)}`;
}

/** Length-prefixed, so that fields put together cannot be cut in another place; an absent one differs from "". */
function field(text: string | undefined): string {
  return text === undefined ? "-;" : `${text.length}:${text}`;
}

/** SHA-256 of a binding: equal for the same caller and request, and for no other. */
export function bindingDigest(binding: Binding): Buffer {
  const { text, paramsDigest } = encodeBinding(binding);
  return createHash("sha256").update(text, "utf16le").update(paramsDigest).digest();
}

/**
 * Associated data: what is in the clear, then the binding. UTF-16, because UTF-8 would map every lone surrogate to the
 * same bytes, and two targets must never encode alike.
 *
 * @param clear Format version and key id, ASCII of a fixed length.
 * @param hints The token's clear diagnostics, of a fixed length.
 */
export function associatedData(clear: string, hints: Uint8Array, binding: EncodedBinding): Buffer {
  const { text, paramsDigest } = binding;
  const start = clear.length + hints.length;
  const data = Buffer.allocUnsafe(start + 2 * text.length + paramsDigest.length);
  data.write(clear, 0, "latin1");
  data.set(hints, clear.length);
  data.write(text, start, "utf16le");
  data.set(paramsDigest, start + 2 * text.length);
  return data;
}
