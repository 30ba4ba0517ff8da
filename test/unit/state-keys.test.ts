import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { ParleyError } from "../../src/errors.ts";
import { createKeyRing, generateKey, type KeyRingOptions, pooledRandom } from "../../src/state/index.ts";
import { K1, K2 } from "./state-fixture.ts";

const random = pooledRandom();
const ring = (options: Partial<KeyRingOptions>) => createKeyRing({ env: {}, random, ...options });

function refusal(options: Partial<KeyRingOptions>): ParleyError {
  try {
    ring(options);
  } catch (error) {
    return error as ParleyError;
  }
  throw new Error("not refused");
}

describe("reading keys (design section 4)", () => {
  const text = K1.toString("base64url");

  test.each([
    ["bytes", new Uint8Array(K1)],
    ["base64url", text],
    ["base64 with padding", K1.toString("base64")],
    ["base64 without padding", K1.toString("base64").replace("=", "")],
    ["hex", K1.toString("hex")],
    ["upper-case hex", K1.toString("hex").toUpperCase()],
  ])("the same key as %s has the same id and the same derived keys", (_, key) => {
    const plain = ring({ keys: [K1] });
    expect(ring({ keys: [key] }).ids).toEqual(plain.ids);
    expect(ring({ keys: [key] }).derive("p")).toEqual(plain.derive("p"));
  });

  test("both base64 alphabets read alike", () => {
    const key = Buffer.alloc(33, 0xfb);
    key[0] = 0xff;
    expect(key.toString("base64")).toMatch(/[+/]/);
    expect(ring({ keys: [key.toString("base64")] }).ids).toEqual(ring({ keys: [key.toString("base64url")] }).ids);
  });

  test("PARLEY_KEYS is read, separated by commas or white space, newest first; the option goes before it", () => {
    const both = ring({ keys: [K2, K1] });
    const other = K2.toString("hex");
    for (const value of [`${other},${text}`, `${other} ${text}`, ` ${other},\n\t${text} ,`]) {
      expect(ring({ env: { PARLEY_KEYS: value } }).ids).toEqual(both.ids);
    }
    expect(ring({ keys: [K1], env: { PARLEY_KEYS: other } }).ids).toEqual([both.ids[1]]);
  });

  test("an id is 8 base64url characters", () => {
    for (const id of ring({ keys: [K1, K2] }).ids) expect(id).toMatch(/^[\w-]{8}$/);
  });

  test("each purpose has a key of its own, of 32 bytes, and none is the secret", () => {
    const keys = ring({ keys: [K1, Buffer.concat([K2, K1])] });
    const [a, b] = [keys.derive("mcp-parley/state/v1"), keys.derive("mcp-parley/ledger/v1")];
    expect(a.map((key) => key.id)).toEqual(keys.ids);
    const all = [...a, ...b].map((key) => key.key.toString("hex"));
    expect(new Set(all).size).toBe(4);
    for (const key of all) expect(key).toHaveLength(64);
    expect(all).not.toContain(K1.toString("hex"));
  });

  test("keys are copied when the ring is made", () => {
    const bytes = Buffer.from(K1);
    const kept = ring({ keys: [bytes] });
    bytes.fill(1);
    expect(kept.derive("p")).toEqual(ring({ keys: [K1] }).derive("p"));
  });
});

describe("bad keys are configuration errors that name the position, never the key", () => {
  const good = K1.toString("base64url");
  const short = randomBytes(31).toString("base64url");
  const cases: [string, string | Uint8Array | number, RegExp][] = [
    ["31 bytes as text", short, /Key 2 of the "keys" option has 31 bytes/],
    ["31 bytes", randomBytes(31), /Key 2 .* has 31 bytes/],
    ["hex of 31 bytes, which reads as 46 bytes of base64url", randomBytes(31).toString("hex"), /Key 2 .* has 31 bytes/],
    ["hex with a digit missing", randomBytes(33).toString("hex").slice(1), /Key 2 .* neither/],
    ["a passphrase", "correct horse battery staple, correct horse battery", /Key 2 .* neither/],
    ["mixed alphabets", `${"-_+/".repeat(12)}`, /Key 2 .* neither/],
    ["a non-canonical last character", `${"A".repeat(42)}B`, /Key 2 .* neither/],
    ["empty text", "", /Key 2 .* neither/],
    ["a number", 7, /Key 2 .* neither/],
    ["one byte repeated", Buffer.alloc(32, 0xaa), /Key 2 .* repeats one byte/],
    ["zeros", "0".repeat(64), /Key 2 .* repeats one byte/],
    ["the same key again", K1.toString("hex"), /Key 2 .* same id as key 1/],
  ];
  test.each(cases)("%s", (_, key, message) => {
    const error = refusal({ keys: [good, key as string] });
    expect(error.code).toBe("configuration");
    expect(error.message).toMatch(message);
    if (typeof key === "string" && key !== "") expect(inspect(error)).not.toContain(key);
  });

  test("the variable is named when the key came from it", () => {
    expect(refusal({ env: { PARLEY_KEYS: `${good},${short}` } }).message).toContain("Key 2 of PARLEY_KEYS");
    expect(refusal({ env: { PARLEY_KEYS: `${good},${short}` } }).message).not.toContain(short);
  });

  test("an empty option is an error, not a random key", () => {
    expect(refusal({ keys: [], env: { PARLEY_KEYS: good } }).code).toBe("configuration");
  });
});

describe("no key (B44, C21)", () => {
  test("one process: a random key and one warning with the remedy", () => {
    const [a, b] = [ring({}), ring({ env: { PARLEY_KEYS: " , " } })];
    expect(a.warnings).toHaveLength(1);
    expect(a.warnings[0]?.code).toBe("ephemeral_key");
    expect(a.warnings[0]?.message).toMatch(/parley keygen.*PARLEY_KEYS/);
    expect(a.ids).not.toEqual(b.ids);
  });

  test.each<[string, Partial<KeyRingOptions>]>([
    ["several replicas", { replicas: "many" }],
    ["NODE_ENV=production", { env: { NODE_ENV: "production" } }],
    ["nodeEnv: production", { nodeEnv: "production" }],
  ])("%s: a start-up error with the remedy, and no warning once a key is there", (_, options) => {
    expect(refusal(options).code).toBe("configuration");
    expect(refusal(options).message).toMatch(/parley keygen.*PARLEY_KEYS/);
    expect(ring({ ...options, keys: [K1] }).warnings).toEqual([]);
  });
});

test("a generated key is accepted, under the id it came with, and is never the same", () => {
  const { key, id } = generateKey(random);
  expect(Buffer.from(key, "base64url")).toHaveLength(32);
  expect(ring({ keys: [key] }).ids).toEqual([id]);
  expect(generateKey(random).key).not.toBe(key);
});

test("a ring shows ids and nothing else when printed or serialised", () => {
  const keys = ring({ keys: [K1] });
  keys.derive("p");
  for (const text of [JSON.stringify(keys), inspect(keys, { depth: null, showHidden: true }), String(keys)]) {
    for (const encoding of ["hex", "base64", "base64url"] as const) {
      expect(text).not.toContain(K1.toString(encoding).slice(0, 12));
    }
    expect(text).not.toMatch(/Buffer|00 01 02/);
  }
  expect(JSON.parse(JSON.stringify(keys))).toEqual({ ids: keys.ids, warnings: [] });
});

test("pooled randomness hands out each byte once and leaves it alone", () => {
  const draw = pooledRandom();
  const drawn = Array.from({ length: 2000 }, () => draw(24));
  const text = drawn.map((bytes) => bytes.toString("hex"));
  expect(new Set(text).size).toBe(2000);
  draw(4096);
  expect(draw(10_000)).toHaveLength(10_000);
  expect(drawn.map((bytes) => bytes.toString("hex"))).toEqual(text);
});
