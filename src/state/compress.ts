/** Optional compression of the sealed part. Off by default: a length that depends on content can leak it (CRIME). */
import { deflateRawSync, inflateRawSync } from "node:zlib";

/** Smaller payloads, in bytes, are sealed as they are. */
export const COMPRESS_ABOVE_BYTES = 512;

/** The compressed bytes, or null for a small payload. Longer UTF-8 text always shrinks: no byte of it is all content. */
export function compress(payload: Buffer): Buffer | null {
  return payload.length > COMPRESS_ABOVE_BYTES ? deflateRawSync(payload) : null;
}

/** The original bytes, or null when they would be more than `maxBytes`, or are damaged. */
export function decompress(packed: Buffer, maxBytes: number): Buffer | null {
  try {
    return inflateRawSync(packed, { maxOutputLength: maxBytes });
  } catch {
    return null;
  }
}
