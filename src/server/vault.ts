/** What goes into a ledger is sealed: nothing is readable at rest, and nothing can be moved to another round (C14, C15). */
import { ParleyError } from "../errors.ts";
import type { RoundKey } from "../ledger/contract.ts";
import { createBox, type KeyRing } from "../state/index.ts";

const PURPOSE = "mcp-parley/ledger/v1";

export interface Vault {
  seal(text: string, round: RoundKey, label: string): Uint8Array;
  /** @throws ParleyError `ledger_unavailable` when the record does not open: a key is gone, or the store was changed. */
  open(bytes: Uint8Array, round: RoundKey, label: string): string;
}

export function createVault(ring: KeyRing, random: (bytes: number) => Buffer): Vault {
  const box = createBox(ring, PURPOSE, random);
  const placeOf = ({ call, round }: RoundKey, label: string) => `${label}\0${call}\0${round}`;
  return {
    seal: (text, round, label) => box.seal(text, placeOf(round, label)),
    open(bytes, round, label) {
      const opened = box.open(bytes, placeOf(round, label));
      if (opened !== undefined) return opened;
      const message = `A record of the ledger does not open (${label}). Was a key dropped too early?`;
      throw new ParleyError("ledger_unavailable", message, { details: { label } });
    },
  };
}
