/** What goes into a ledger is sealed: nothing is readable at rest, and nothing can be moved to another round (C14, C15). */
import { ParleyError } from "../errors.ts";
import type { RoundKey } from "../ledger/contract.ts";
import { type KeyRing, XAES_NONCE_BYTES, type XaesKey, xaesKey, xaesOpen, xaesSeal } from "../state/index.ts";

const PURPOSE = "mcp-parley/ledger/v1";

export interface Vault {
  seal(text: string, round: RoundKey, label: string): Uint8Array;
  /** @throws ParleyError `ledger_unavailable` when the record does not open: a key is gone, or the store was changed. */
  open(bytes: Uint8Array, round: RoundKey, label: string): string;
}

export function createVault(ring: KeyRing, random: (bytes: number) => Buffer): Vault {
  const keys = new Map<string, XaesKey>(ring.derive(PURPOSE).map(({ id, key }) => [id, xaesKey(key)]));
  const newest = ring.ids[0] as string;
  const bound = ({ call, round }: RoundKey, label: string, id: string) =>
    Buffer.from(`${id}\0${label}\0${call}\0${round}`);
  return {
    seal(text, round, label) {
      const nonce = random(XAES_NONCE_BYTES);
      const sealed = xaesSeal(keys.get(newest) as XaesKey, nonce, Buffer.from(text), bound(round, label, newest));
      return Buffer.concat([Buffer.from(newest, "latin1"), nonce, sealed]);
    },
    open(bytes, round, label) {
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const id = data.toString("latin1", 0, newest.length);
      const key = keys.get(id);
      const start = newest.length + XAES_NONCE_BYTES;
      const opened =
        key && xaesOpen(key, data.subarray(newest.length, start), data.subarray(start), bound(round, label, id));
      if (!opened) {
        throw new ParleyError(
          "ledger_unavailable",
          `A record of the ledger does not open (${label}). Was a key dropped too early?`,
          {
            details: { label },
          },
        );
      }
      return opened.toString();
    },
  };
}
