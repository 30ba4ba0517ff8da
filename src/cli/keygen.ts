import { jsonText } from "../present/result.ts";
import { generateKey, pooledRandom } from "../state/index.ts";
import type { Io } from "./io.ts";

/** A fresh key alone on standard output, so that `PARLEY_KEYS=$(parley keygen)` works; its id goes to standard error. */
export function keygen(flags: { json?: boolean }, io: Io): void {
  const { key, id } = generateKey(pooledRandom());
  if (flags.json === true) {
    io.out(jsonText({ key, id }));
    return;
  }
  io.out(key);
  io.err(`parley: key id ${id}`);
}
