/**
 * Why a state did not verify, for operators.
 *
 * The binding is associated data, so a failed verification cannot say what differed. Each token therefore carries, in
 * the clear and authenticated, two bytes per component of its binding: one AES block over its SHA-256, under a key of
 * their own, so that they reveal nothing but that two tokens share a component. They are read only after verification failed, and only to name the
 * reason on the event hook. A forged hint misnames the reason (chance does, once in 65,536); it never opens anything.
 */
import { createCipheriv, hash } from "node:crypto";
import type { EncodedBinding } from "./binding.ts";

const COMPONENTS = ["other_audience", "other_principal", "other_target", "other_params"] as const;
const BYTES_EACH = 2;
export const HINT_BYTES = COMPONENTS.length * BYTES_EACH;

/** A binding's component that differs from the sealed one. */
export type BindingMismatch = (typeof COMPONENTS)[number];

export interface Hints {
  /** Writes the hints of a binding at `offset`. */
  write(binding: EncodedBinding, target: Buffer, offset: number): void;
  /** The first component whose hint differs from the token's, or null. */
  mismatch(binding: EncodedBinding, hints: Buffer): BindingMismatch | null;
}

/** Callers choose what is hashed, so what is remembered is bounded in number and in length. */
const CACHE_ENTRIES = 256;
const CACHE_TEXT = 512;
const BLOCK = 16;

export function createHints(key: Buffer): Hints {
  const aes = createCipheriv("aes-256-ecb", key, null).setAutoPadding(false);
  const ofDigest = (digest: Buffer) => aes.update(digest.subarray(0, BLOCK)).readUInt16BE(0);
  const ofText = (text: string) => ofDigest(hash("sha256", text, "buffer"));
  /** Service, caller and target come again call after call; their three hints cost more than half a seal. */
  const cache = new Map<string, Buffer>();

  function fixedPart({ audience, principal, target, text }: EncodedBinding): Buffer {
    const known = cache.get(text);
    if (known !== undefined) return known;
    const hints = Buffer.alloc(HINT_BYTES - BYTES_EACH);
    for (const [index, part] of [audience, principal, target].entries()) {
      hints.writeUInt16BE(ofText(part), index * BYTES_EACH);
    }
    if (text.length <= CACHE_TEXT) {
      if (cache.size >= CACHE_ENTRIES) cache.clear();
      cache.set(text, hints);
    }
    return hints;
  }

  function write(binding: EncodedBinding, target: Buffer, offset: number): void {
    const fixed = fixedPart(binding);
    target.set(fixed, offset);
    target.writeUInt16BE(ofDigest(binding.paramsDigest), offset + fixed.length);
  }

  return {
    write,
    mismatch(binding, hints) {
      const expected = Buffer.allocUnsafe(HINT_BYTES);
      write(binding, expected, 0);
      const index = COMPONENTS.findIndex(
        (_, i) => expected.readUInt16BE(i * BYTES_EACH) !== hints.readUInt16BE(i * BYTES_EACH),
      );
      return COMPONENTS[index] ?? null;
    },
  };
}
