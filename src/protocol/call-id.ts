/**
 * Parley's own `_meta` key (G8): a client names its call, so that the first request, which has no state yet, can be
 * sent again after a lost response without making a second call (B24, L14). Our driver sends it; other clients may.
 */
export const CALL_ID_META_KEY = "mcp-parley/call-id";

/** At least 128 bits in base64url: nobody else's call id can be guessed. */
const CALL_ID = /^[A-Za-z0-9_-]{22,128}$/;

/** The call id in a request's `_meta`, or `undefined` when there is none that can be used. */
export function callIdIn(meta: unknown): string | undefined {
  const id =
    typeof meta === "object" && meta !== null ? (meta as Record<string, unknown>)[CALL_ID_META_KEY] : undefined;
  return typeof id === "string" && CALL_ID.test(id) ? id : undefined;
}
