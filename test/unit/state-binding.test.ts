import { describe, expect, test } from "vitest";
import type { ParleyError } from "../../src/errors.ts";
import { associatedData, type Binding, encodeBinding } from "../../src/state/binding.ts";
import { digestParams, MAX_PARAMS_DEPTH } from "../../src/state/index.ts";
import { binding, PARAMS } from "./state-fixture.ts";

const digest = (params: unknown, method: Binding["method"] = "tools/call") =>
  digestParams(method, params as object).toString("hex");

function refusal(params: unknown): ParleyError {
  try {
    digest(params);
  } catch (error) {
    return error as ParleyError;
  }
  throw new Error("not refused");
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = i % 2 ? [value] : { a: value };
  return value;
}

describe("digest of the params (C7)", () => {
  test("is SHA-256 of the RFC 8785 form", () => {
    // printf '%s' '{"arguments":{"a":[1e+21,0,"€"],"b":null}}' | sha256sum
    expect(digest({ name: "t", arguments: { b: null, a: [1e21, -0, "€"] } })).toBe(
      "71b71de98c84954e2f5758bf394dc281ae9bc7376ad6a3e3af01f42aeb2f49fa",
    );
  });

  test("order of members does not count; order of elements does", () => {
    const base = digest(PARAMS);
    expect(digest({ arguments: { tags: ["a", "b"], count: 3, env: "prod" }, name: "deploy" })).toBe(base);
    expect(digest({ ...PARAMS, arguments: { ...PARAMS.arguments, tags: ["b", "a"] } })).not.toBe(base);
  });

  test("_meta and the retry fields are no part of it, at the top only", () => {
    const base = digest(PARAMS);
    expect(digest({ ...PARAMS, _meta: { a: 1 }, inputResponses: { q: {} }, requestState: "x" })).toBe(base);
    for (const key of ["_meta", "inputResponses", "requestState", "name"]) {
      expect(digest({ ...PARAMS, arguments: { ...PARAMS.arguments, [key]: 1 } })).not.toBe(base);
    }
  });

  test("the target is taken out by method: name for tools and prompts, uri for resources", () => {
    expect(digest({ name: "a" })).toBe(digest({ name: "b" }));
    expect(digest({ name: "a" }, "prompts/get")).toBe(digest({ name: "b" }, "prompts/get"));
    expect(digest({ uri: "a:" }, "resources/read")).toBe(digest({ uri: "b:" }, "resources/read"));
    expect(digest({ uri: "a:" })).not.toBe(digest({ uri: "b:" }));
    expect(digest({ name: "a" }, "resources/read")).not.toBe(digest({ name: "b" }, "resources/read"));
  });

  const different: [string, unknown, unknown][] = [
    ["absent and null", {}, { a: null }],
    ["number and text", { a: 1 }, { a: "1" }],
    ["[] and {}", { a: [] }, { a: {} }],
    ["false and 0", { a: false }, { a: 0 }],
    ["composed and decomposed text", { a: "\u00e9" }, { a: "e\u0301" }],
    ["a member called __proto__ inside", JSON.parse('{"a":{"__proto__":{"x":1}}}'), { a: {} }],
    ["a member called __proto__ at the top", JSON.parse('{"__proto__":{"x":1}}'), {}],
    ["a member called toJSON", { a: { toJSON: "x" } }, { a: "x" }],
    ["a member called constructor", { constructor: 1 }, {}],
    ["numbers one ulp apart", { a: 0.1 }, { a: 0.10000000000000002 }],
  ];
  test.each(different)("%s differ", (_, a, b) => {
    expect(digest(a)).not.toBe(digest(b));
  });

  test("what JSON text cannot tell apart reads alike: -0 and 0, undefined and absent", () => {
    expect(digest({ a: -0 })).toBe(digest({ a: 0 }));
    expect(digest({ a: undefined })).toBe(digest({}));
  });

  test("the params are left as they were", () => {
    const params = { ...PARAMS, _meta: {}, requestState: "x" };
    digest(params);
    expect(params).toEqual({ ...PARAMS, _meta: {}, requestState: "x" });
  });

  test("depth is bounded, and no depth overflows the stack", () => {
    expect(digest({ a: nested(MAX_PARAMS_DEPTH) })).toHaveLength(64);
    expect(refusal({ a: nested(MAX_PARAMS_DEPTH + 1) }).code).toBe("invalid_params");
    expect(refusal({ a: nested(200_000) }).code).toBe("invalid_params");
  });

  test.each([
    ["a lone surrogate in a value", { a: "x\ud800" }],
    ["a lone surrogate in a name", { "\udc00": 1 }],
    ["a number that is not finite", { a: Number.POSITIVE_INFINITY }],
  ])("%s has no canonical form and is refused", (_, params) => {
    expect(refusal(params).code).toBe("invalid_params");
  });
});

describe("associated data (C5, C7, C18)", () => {
  const encode = (change: Partial<Binding>) =>
    associatedData("p1.AAAAAAAA.", Buffer.alloc(8), encodeBinding(binding(change))).toString("hex");

  test("no two of these bindings encode alike", () => {
    const changes: Partial<Binding>[] = [
      {},
      { audience: "" },
      { audience: "-;" },
      { principal: null },
      { principal: {} },
      { principal: { issuer: "" } },
      { principal: { subject: "" } },
      { principal: { clientId: "" } },
      { principal: { issuer: "a", subject: "b" } },
      { principal: { issuer: "ab" } },
      { principal: { subject: "ab" } },
      { principal: { issuer: "a", clientId: "b" } },
      { principal: { issuer: "a1:b" } },
      { principal: { issuer: "anonymous;" } },
      { principal: { subject: "null" } },
      { method: "prompts/get" },
      { method: "resources/read" },
      { target: "deploy2" },
      { target: "" },
      { target: "\ud800" },
      { target: "\ud801" },
      { target: "\ufffd" },
      { audience: "a", target: "b" },
      { audience: "ab", target: "" },
      { paramsDigest: Buffer.alloc(32) },
    ];
    expect(new Set(changes.map(encode)).size).toBe(changes.length);
  });

  test("format version, key id and hints are part of it", () => {
    const hints = Buffer.from("12345678");
    const data = associatedData("p1.AAAAAAAA.", hints, encodeBinding(binding()));
    expect(data.subarray(0, 20).toString("latin1")).toBe("p1.AAAAAAAA.12345678");
  });

  test("a digest of another length is refused", () => {
    expect(() => encode({ paramsDigest: Buffer.alloc(31) })).toThrow("32 bytes");
  });
});
