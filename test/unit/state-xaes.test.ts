import { describe, expect, test } from "vitest";
import { xaesKey, xaesOpen, xaesSeal } from "../../src/state/index.ts";

const NONCE = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWX");
const PLAIN = Buffer.from("XAES-256-GCM");
const NO_AAD = Buffer.alloc(0);
const AAD = Buffer.from("c2sp.org/XAES-256-GCM");

describe("XAES-256-GCM (design section 4, C2SP vectors)", () => {
  const vectors = [
    {
      name: "key 01, no associated data",
      byte: 1,
      aad: NO_AAD,
      sealed: "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271",
    },
    {
      name: "key 03, associated data",
      byte: 3,
      aad: AAD,
      sealed: "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d",
    },
  ];
  test.each(vectors)("published vector: $name", ({ byte, aad, sealed }) => {
    const key = xaesKey(Buffer.alloc(32, byte));
    expect(xaesSeal(key, NONCE, PLAIN, aad).toString("hex")).toBe(sealed);
    expect(xaesOpen(key, NONCE, Buffer.from(sealed, "hex"), aad)?.toString()).toBe("XAES-256-GCM");
  });

  test("one prepared key serves many messages as a fresh one would", () => {
    const kept = xaesKey(Buffer.alloc(32, 7));
    for (let i = 0; i < 300; i++) {
      const nonce = Buffer.alloc(24, i);
      nonce[5] = i >> 4;
      const sealed = xaesSeal(kept, nonce, PLAIN, AAD);
      expect(sealed.equals(xaesSeal(xaesKey(Buffer.alloc(32, 7)), nonce, PLAIN, AAD))).toBe(true);
    }
  });

  test("the key is copied when it is prepared", () => {
    const bytes = Buffer.alloc(32, 1);
    const key = xaesKey(bytes);
    bytes.fill(9);
    expect(xaesSeal(key, NONCE, PLAIN, NO_AAD).toString("hex")).toBe(vectors[0]?.sealed);
  });

  test("an empty plaintext opens to an empty plaintext", () => {
    const key = xaesKey(Buffer.alloc(32, 1));
    expect(xaesOpen(key, NONCE, xaesSeal(key, NONCE, Buffer.alloc(0), AAD), AAD)).toHaveLength(0);
  });

  test("every bit of key, nonce, associated data and sealed bytes counts", () => {
    const parts = {
      key: Buffer.alloc(32, 3),
      nonce: Buffer.from(NONCE),
      aad: Buffer.from(AAD),
      sealed: xaesSeal(xaesKey(Buffer.alloc(32, 3)), NONCE, PLAIN, AAD),
    };
    const open = () => xaesOpen(xaesKey(parts.key), parts.nonce, parts.sealed, parts.aad);
    expect(open()?.equals(PLAIN)).toBe(true);
    for (const bytes of Object.values(parts)) {
      for (let bit = 0; bit < bytes.length * 8; bit++) {
        bytes[bit >> 3]! ^= 1 << (bit & 7);
        expect(open()).toBeNull();
        bytes[bit >> 3]! ^= 1 << (bit & 7);
      }
    }
    expect(open()?.equals(PLAIN)).toBe(true);
  });

  test("fewer bytes than a tag never open", () => {
    const key = xaesKey(Buffer.alloc(32, 3));
    for (let length = 0; length < 16; length++) expect(xaesOpen(key, NONCE, Buffer.alloc(length), AAD)).toBeNull();
  });

  test("a key or a nonce of another length is refused", () => {
    expect(() => xaesKey(Buffer.alloc(31))).toThrow("32 bytes");
    const key = xaesKey(Buffer.alloc(32, 3));
    for (const length of [12, 23, 25]) {
      expect(() => xaesSeal(key, Buffer.alloc(length), PLAIN, AAD)).toThrow(RangeError);
    }
  });
});
