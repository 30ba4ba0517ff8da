/**
 * XAES-256-GCM (C2SP): AES-256-GCM with a 24-byte nonce, made from AES alone.
 *
 * A random 12-byte nonce is safe for about 2^32 messages under one key; 24 bytes are safe for well over 2^64, without
 * replicas having to agree on anything. Half of the nonce selects a fresh AES key, the other half is the GCM nonce.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import { ParleyError } from "../errors.ts";

export const XAES_KEY_BYTES = 32;
export const XAES_NONCE_BYTES = 24;
export const XAES_TAG_BYTES = 16;

const BLOCK = 16;
const HALF_NONCE = 12;

/** A key ready for use: everything that does not depend on the nonce is computed once. */
export interface XaesKey {
  /** The AES-256-GCM key for this nonce (Kx). */
  messageKey(nonce: Uint8Array): Buffer;
}

/** Prepares a 32-byte key. The bytes are copied. */
export function xaesKey(key: Uint8Array): XaesKey {
  if (key.length !== XAES_KEY_BYTES) {
    throw new ParleyError("configuration", `An XAES-256-GCM key has ${XAES_KEY_BYTES} bytes, not ${key.length}.`);
  }
  // ECB without padding is the bare block function and keeps nothing between whole blocks, so one object serves every
  // message: half the cost of a seal would otherwise be the creation of this cipher.
  const aes = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
  const k1 = doubled(aes.update(Buffer.alloc(BLOCK)));

  const blocks = Buffer.alloc(2 * BLOCK);
  for (const [index, offset] of [0, BLOCK].entries()) {
    blocks.set([0x00, index + 1, 0x58, 0x00], offset);
    for (let i = 0; i < BLOCK - HALF_NONCE; i++) blocks[offset + i]! ^= k1[i]!;
  }
  return {
    messageKey(nonce) {
      for (let i = 0; i < HALF_NONCE; i++) {
        const masked = nonce[i]! ^ k1[BLOCK - HALF_NONCE + i]!;
        blocks[BLOCK - HALF_NONCE + i] = masked;
        blocks[2 * BLOCK - HALF_NONCE + i] = masked;
      }
      return aes.update(blocks);
    },
  };
}

/**
 * Encrypts in place: `data` is the plaintext and {@link XAES_TAG_BYTES} spare bytes, which take the tag.
 * A nonce must never be used twice under one key: draw 24 random bytes.
 */
export function xaesSealInPlace(key: XaesKey, nonce: Uint8Array, data: Uint8Array, aad: Uint8Array): void {
  const length = data.length - XAES_TAG_BYTES;
  const cipher = createCipheriv("aes-256-gcm", key.messageKey(nonce), gcmNonce(nonce));
  cipher.setAAD(aad);
  data.set(cipher.update(data.subarray(0, length)), 0);
  cipher.final();
  data.set(cipher.getAuthTag(), length);
}

/** Ciphertext followed by the 16-byte tag; the nonce rule of {@link xaesSealInPlace} holds. */
export function xaesSeal(key: XaesKey, nonce: Uint8Array, plaintext: Uint8Array, aad: Uint8Array): Buffer {
  const data = Buffer.allocUnsafe(plaintext.length + XAES_TAG_BYTES);
  data.set(plaintext, 0);
  xaesSealInPlace(key, nonce, data, aad);
  return data;
}

/** The plaintext, or null when nonce, key, associated data or any sealed byte differ from what was sealed. */
export function xaesOpen(key: XaesKey, nonce: Uint8Array, sealed: Uint8Array, aad: Uint8Array): Buffer | null {
  const length = sealed.length - XAES_TAG_BYTES;
  if (length < 0) return null;
  const cipher = createDecipheriv("aes-256-gcm", key.messageKey(nonce), gcmNonce(nonce), {
    authTagLength: XAES_TAG_BYTES,
  });
  cipher.setAAD(aad);
  cipher.setAuthTag(sealed.subarray(length));
  const plaintext = cipher.update(sealed.subarray(0, length));
  try {
    cipher.final();
  } catch {
    return null;
  }
  return plaintext;
}

function gcmNonce(nonce: Uint8Array): Uint8Array {
  if (nonce.length !== XAES_NONCE_BYTES) throw new RangeError(`A nonce has ${XAES_NONCE_BYTES} bytes.`);
  return nonce.subarray(HALF_NONCE);
}

/** Multiplication by x in GF(2^128), as in CMAC (NIST SP 800-38B). */
function doubled(block: Buffer): Buffer {
  const result = Buffer.alloc(BLOCK);
  for (let i = 0; i < BLOCK; i++) result[i] = (block[i]! << 1) | ((block[i + 1] ?? 0) >> 7);
  if (block[0]! & 0x80) result[BLOCK - 1]! ^= 0x87;
  return result;
}
