/** What is written down is sealed, bound to the place it stands in, so that it opens nowhere else (C14, C15). */
import { KEY_ID_LENGTH, type KeyRing } from "./keys.ts";
import { XAES_NONCE_BYTES, type XaesKey, xaesKey, xaesOpen, xaesSeal } from "./xaes.ts";

const SEALED_START = KEY_ID_LENGTH + XAES_NONCE_BYTES;

export interface Box {
  /** @param place where the record stands; needed again to open it */
  seal(text: string, place: string): Buffer;
  /** `undefined`: a key is gone, or the record was changed or moved. */
  open(bytes: Uint8Array, place: string): string | undefined;
}

/** Seals with the ring's newest key, opens with every key. @param purpose keeps the keys of two uses apart */
export function createBox(ring: KeyRing, purpose: string, random: (bytes: number) => Buffer): Box {
  const keys = new Map<string, XaesKey>(ring.derive(purpose).map(({ id, key }) => [id, xaesKey(key)]));
  const newest = ring.ids[0] as string;
  const bound = (id: string, place: string) => Buffer.from(`${id}\0${place}`);
  return {
    seal(text, place) {
      const nonce = random(XAES_NONCE_BYTES);
      const sealed = xaesSeal(keys.get(newest) as XaesKey, nonce, Buffer.from(text), bound(newest, place));
      return Buffer.concat([Buffer.from(newest, "latin1"), nonce, sealed]);
    },
    open(bytes, place) {
      const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const id = data.toString("latin1", 0, KEY_ID_LENGTH);
      const key = keys.get(id);
      if (key === undefined || data.length < SEALED_START) return undefined;
      const nonce = data.subarray(KEY_ID_LENGTH, SEALED_START);
      return xaesOpen(key, nonce, data.subarray(SEALED_START), bound(id, place))?.toString();
    },
  };
}
