import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MRTR_METHODS } from "../../src/protocol/types.ts";
import { type Binding, digestParams, type Principal } from "../../src/state/index.ts";
import { sealer } from "../unit/state-fixture.ts";

const text = fc.string({ unit: "binary", maxLength: 20 });
/** Ill-formed text included: a name or URI from the wire may hold lone surrogates. */
const units = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 12 })
  .map((codes) => String.fromCharCode(...codes));
const principal: fc.Arbitrary<Principal | null> = fc.option(
  fc.record({ issuer: text, subject: text, clientId: text }, { requiredKeys: [] }),
);
const binding: fc.Arbitrary<Binding> = fc.record({
  audience: text,
  principal,
  method: fc.constantFrom(...MRTR_METHODS),
  target: units,
  paramsDigest: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes)),
});
const payload = fc.jsonValue({ stringUnit: "binary" }).map((value) => JSON.stringify(value));

describe("state (C1 to C7)", () => {
  test("any payload opens to itself under any binding, compressed or not", () => {
    fc.assert(
      fc.property(payload, binding, fc.boolean(), (value, bound, compress) => {
        const one = sealer({ compress });
        expect(one.open(one.seal(value, bound), bound)).toMatchObject({ ok: true, payload: value });
      }),
      { numRuns: 300 },
    );
  });

  test("text with lone surrogates survives, since JSON.stringify escapes them", () => {
    fc.assert(
      fc.property(units, binding, (value, bound) => {
        const one = sealer();
        const result = one.open(one.seal(JSON.stringify(value), bound), bound);
        expect(result.ok && JSON.parse(result.payload)).toBe(value);
      }),
      { numRuns: 100 },
    );
  });

  test.each(["audience", "principal", "method", "target", "paramsDigest"] as const)(
    "another %s alone is refused",
    (component) => {
      const key = (bound: Binding) => {
        const value = bound[component];
        const { issuer, subject, clientId } = (component === "principal" && bound.principal) || {};
        return component === "principal"
          ? JSON.stringify(bound.principal && [issuer ?? 0, subject ?? 0, clientId ?? 0])
          : JSON.stringify(value);
      };
      fc.assert(
        fc.property(binding, binding, (bound, other) => {
          fc.pre(key(bound) !== key(other));
          const one = sealer();
          const token = one.seal("{}", bound);
          expect(one.open(token, bound).ok).toBe(true);
          expect(one.open(token, { ...bound, [component]: other[component] }).ok).toBe(false);
        }),
        { numRuns: 200 },
      );
    },
  );

  test("moving text from one field of the binding to the next is noticed", () => {
    fc.assert(
      fc.property(binding, fc.string({ minLength: 1, maxLength: 8 }), (bound, moved) => {
        const one = sealer();
        const who = { issuer: "i", subject: "s" };
        const token = one.seal("{}", { ...bound, principal: { ...who, subject: moved + who.subject } });
        expect(one.open(token, { ...bound, principal: { ...who, issuer: who.issuer + moved } }).ok).toBe(false);
      }),
      { numRuns: 100 },
    );
  });
});

describe("digest of the params (C7)", () => {
  const params = fc.dictionary(
    fc.string().filter((key) => !["name", "_meta", "inputResponses", "requestState"].includes(key)),
    fc.jsonValue({ maxDepth: 4 }),
  );
  const digest = (value: object) => digestParams("tools/call", value).toString("hex");

  /** The same value with the members of every object in the opposite order. */
  function reversed(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(reversed);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).reverse();
    return Object.fromEntries(entries.map(([key, member]) => [key, reversed(member)]));
  }

  test("does not depend on the order of members, nor on a trip over the wire", () => {
    fc.assert(
      fc.property(params, (value) => {
        expect(digest(reversed(value) as object)).toBe(digest(value));
        expect(digest(JSON.parse(JSON.stringify(value)))).toBe(digest(value));
      }),
      { numRuns: 300 },
    );
  });

  test("differs for different values", () => {
    fc.assert(
      fc.property(params, fc.string({ minLength: 1 }), fc.jsonValue(), (value, key, member) => {
        const changed = { ...value, arguments: { [key]: member } };
        const again = { ...value, arguments: { [key]: [member] } };
        expect(digest(changed)).not.toBe(digest(again));
      }),
      { numRuns: 200 },
    );
  });
});
