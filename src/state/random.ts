/** Randomness, drawn in large pieces: one system call per 24-byte nonce would cost as much as half a seal. */
import { randomBytes } from "node:crypto";

/** `bytes` fresh random bytes, never handed out twice. */
export type RandomBytes = (bytes: number) => Buffer;

const POOL_BYTES = 4096;

/** Random bytes from the system, pooled. A pool is never refilled in place, so what was handed out stays as it is. */
export function pooledRandom(): RandomBytes {
  let pool = Buffer.alloc(0);
  let used = 0;
  return (bytes) => {
    if (bytes > POOL_BYTES) return randomBytes(bytes);
    if (used + bytes > pool.length) {
      pool = randomBytes(POOL_BYTES);
      used = 0;
    }
    used += bytes;
    return pool.subarray(used - bytes, used);
  };
}
