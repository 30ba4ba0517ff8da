/**
 * Sealed state as text:
 *
 *     p1.<key id, 8 characters>.<base64url of: nonce 24 | hints 8 | ciphertext | tag 16>
 *
 * with this plaintext: flags 1 | issued-at 6 | lifetime 5 (both ms, big-endian) | payload in UTF-8.
 * Everything in the clear, and the binding, is associated data. One state has one spelling (C20).
 */
import { ParleyError } from "../errors.ts";
import { associatedData, type Binding, encodeBinding } from "./binding.ts";
import { compress, decompress } from "./compress.ts";
import { type BindingMismatch, createHints, HINT_BYTES, type Hints } from "./hints.ts";
import { KEY_ID_LENGTH, type KeyRing } from "./keys.ts";
import { resolveLimits, type StateLimits } from "./limits.ts";
import type { RandomBytes } from "./random.ts";
import { XAES_NONCE_BYTES, XAES_TAG_BYTES, type XaesKey, xaesKey, xaesOpen, xaesSealInPlace } from "./xaes.ts";

/** Why a state was refused. For operators: outside, every refusal is the same (C20). */
export type StateRefusal =
  | "malformed"
  | "too_large"
  | "unknown_format"
  | "unknown_key"
  | "tampered"
  | BindingMismatch
  | "expired"
  | "not_yet_valid";

export type Opened =
  | { readonly ok: true; readonly payload: string; readonly issuedAtMs: number; readonly expiresAtMs: number }
  | { readonly ok: false; readonly reason: StateRefusal };

export interface SealTimes {
  /** Default: now. */
  readonly issuedAtMs?: number;
  /** Default: issued-at plus `limits.ttlMs`. The state is refused from this moment on. */
  readonly expiresAtMs?: number;
}

export interface SealerOptions {
  readonly ring: KeyRing;
  /** Wall clock, in ms since the epoch. */
  readonly now: () => number;
  readonly random: RandomBytes;
  readonly limits?: Partial<StateLimits>;
  /** Compress payloads above 512 bytes. Default false; opening understands both. */
  readonly compress?: boolean;
}

export interface Sealer {
  /**
   * @param payload Text to keep secret and unchanged; well-formed, as the output of `JSON.stringify` always is.
   * @throws ParleyError "limit_exceeded" with details `{ bytes, limit }`.
   */
  seal(payload: string, binding: Binding, times?: SealTimes): string;
  /** Never throws for a bad token. Nothing of it is parsed before it is verified. */
  open(token: unknown, binding: Binding): Opened;
}

const FORMAT = "p1.";
const CLEAR_LENGTH = FORMAT.length + KEY_ID_LENGTH + 1;
const SEALED_START = XAES_NONCE_BYTES + HINT_BYTES;
const HEADER_BYTES = 12;
const PAYLOAD_START = SEALED_START + HEADER_BYTES;
const LEAST_BODY = PAYLOAD_START + XAES_TAG_BYTES;
const PLAIN = 0;
const DEFLATED = 1;
const MAX_LIFETIME_MS = 2 ** 40 - 1;
/** Nothing is expanded past this multiple of `maxBytes`, on either side. */
const MAX_EXPANSION = 16;

interface SealKey {
  readonly clear: string;
  readonly xaes: XaesKey;
  readonly hints: Hints;
}

/** Seals with the newest key of the ring and opens with every key. */
export function createSealer(options: SealerOptions): Sealer {
  const { now, random } = options;
  const limits = resolveLimits(options.limits);
  const maxPayload = limits.maxBytes * MAX_EXPANSION;
  const keys = prepareKeys(options.ring);
  const newest = keys.values().next().value as SealKey;

  function seal(payload: string, binding: Binding, times: SealTimes = {}): string {
    const packed = options.compress ? pack(payload, maxPayload) : null;
    const payloadBytes = packed?.length ?? Buffer.byteLength(payload);
    const bodyBytes = LEAST_BODY + payloadBytes;
    const bytes = CLEAR_LENGTH + base64Length(bodyBytes);
    if (bytes > limits.maxBytes) throw tooLarge(bytes, limits.maxBytes);

    // One buffer for all of it: the plaintext is written where its ciphertext will be.
    const body = Buffer.allocUnsafe(bodyBytes);
    const issuedAtMs = times.issuedAtMs ?? Math.floor(now());
    writeHeader(body, packed !== null, issuedAtMs, times.expiresAtMs ?? issuedAtMs + limits.ttlMs);
    if (packed === null) body.write(payload, PAYLOAD_START, "utf8");
    else body.set(packed, PAYLOAD_START);

    const nonce = random(XAES_NONCE_BYTES);
    const encoded = encodeBinding(binding);
    body.set(nonce, 0);
    newest.hints.write(encoded, body, XAES_NONCE_BYTES);
    const aad = associatedData(newest.clear, body.subarray(XAES_NONCE_BYTES, SEALED_START), encoded);
    xaesSealInPlace(newest.xaes, nonce, body.subarray(SEALED_START), aad);
    return newest.clear + body.toString("base64url");
  }

  function open(token: unknown, binding: Binding): Opened {
    if (typeof token !== "string") return refuse("malformed");
    if (token.length > limits.maxBytes) return refuse("too_large");
    if (!token.startsWith(FORMAT)) return refuse("unknown_format");
    const key = keys.get(token.slice(0, CLEAR_LENGTH));
    if (key === undefined) return refuse(token[CLEAR_LENGTH - 1] === "." ? "unknown_key" : "malformed");
    const body = decodeStrictly(token.slice(CLEAR_LENGTH));
    if (body === null || body.length < LEAST_BODY) return refuse("malformed");

    const nonce = body.subarray(0, XAES_NONCE_BYTES);
    const hints = body.subarray(XAES_NONCE_BYTES, SEALED_START);
    const encoded = encodeBinding(binding);
    const aad = associatedData(key.clear, hints, encoded);
    const plaintext = xaesOpen(key.xaes, nonce, body.subarray(SEALED_START), aad);
    if (plaintext === null) return refuse(key.hints.mismatch(encoded, hints) ?? "tampered");
    return unframe(plaintext);
  }

  /** Genuine from here on; what is left is whether it is still, and already, valid. */
  function unframe(plaintext: Buffer): Opened {
    const issuedAtMs = plaintext.readUIntBE(1, 6);
    const expiresAtMs = issuedAtMs + plaintext.readUIntBE(7, 5);
    const nowMs = now();
    if (nowMs >= expiresAtMs) return refuse("expired");
    if (issuedAtMs > nowMs + limits.skewMs) return refuse("not_yet_valid");
    if (plaintext[0] === PLAIN) {
      return { ok: true, payload: plaintext.toString("utf8", HEADER_BYTES), issuedAtMs, expiresAtMs };
    }
    if (plaintext[0] !== DEFLATED) return refuse("unknown_format");
    const payload = decompress(plaintext.subarray(HEADER_BYTES), maxPayload);
    if (payload === null) return refuse("too_large");
    return { ok: true, payload: payload.toString("utf8"), issuedAtMs, expiresAtMs };
  }

  return { seal, open };
}

/** By everything in the clear before the body: format and key id in one look-up. */
function prepareKeys(ring: KeyRing): Map<string, SealKey> {
  const hintKeys = ring.derive("mcp-parley/state-hints/v1");
  return new Map(
    ring.derive("mcp-parley/state/v1").map(({ id, key }, index) => {
      const clear = `${FORMAT}${id}.`;
      return [clear, { clear, xaes: xaesKey(key), hints: createHints(hintKeys[index]!.key) }];
    }),
  );
}

function writeHeader(body: Buffer, deflated: boolean, issuedAtMs: number, expiresAtMs: number): void {
  const lifetimeMs = expiresAtMs - issuedAtMs;
  if (!Number.isSafeInteger(lifetimeMs) || lifetimeMs < 1 || lifetimeMs > MAX_LIFETIME_MS) {
    const rule = `whole ms from 1 to ${MAX_LIFETIME_MS} can`;
    throw new ParleyError("configuration", `A state cannot live ${lifetimeMs} ms; ${rule}.`);
  }
  body[SEALED_START] = deflated ? DEFLATED : PLAIN;
  body.writeUIntBE(issuedAtMs, SEALED_START + 1, 6);
  body.writeUIntBE(lifetimeMs, SEALED_START + 7, 5);
}

function pack(payload: string, maxPayload: number): Buffer | null {
  const bytes = Buffer.from(payload);
  if (bytes.length > maxPayload) throw tooLarge(bytes.length, maxPayload);
  return compress(bytes);
}

/** Node's decoder skips what it does not know and takes both alphabets; what it read must be spelled as it came. */
function decodeStrictly(text: string): Buffer | null {
  const bytes = Buffer.from(text, "base64url");
  return bytes.toString("base64url") === text ? bytes : null;
}

function base64Length(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}

function refuse(reason: StateRefusal): Opened {
  return { ok: false, reason };
}

function tooLarge(bytes: number, limit: number): ParleyError {
  return new ParleyError("limit_exceeded", `The state would have ${bytes} bytes; the limit is ${limit}.`, {
    details: { bytes, limit },
  });
}
