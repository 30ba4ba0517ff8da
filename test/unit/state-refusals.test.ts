import { describe, expect, test } from "vitest";
import { type Binding, digestParams, type StateRefusal } from "../../src/state/index.ts";
import {
  binding,
  CLEAR,
  type Clock,
  HINTS,
  ISSUED,
  K1,
  K2,
  NONCE,
  PARAMS,
  PAYLOAD,
  SKEW,
  sealer,
  TTL,
  withBody,
} from "./state-fixture.ts";

const genuine = sealer().seal(PAYLOAD, binding());

/** Opens with one thing changed. The positive control runs with nothing changed, every time. */
function opened(change: { token?: unknown; binding?: Partial<Binding>; nowMs?: number; keys?: Buffer[] }) {
  const clock: Clock = { ms: ISSUED };
  expect(sealer({ clock }).open(genuine, binding())).toEqual({
    ok: true,
    payload: PAYLOAD,
    issuedAtMs: ISSUED,
    expiresAtMs: ISSUED + TTL,
  });
  clock.ms = change.nowMs ?? ISSUED;
  const opener = sealer({ clock, ...(change.keys && { keys: change.keys }) });
  return opener.open("token" in change ? change.token : genuine, binding(change.binding));
}

const refused = (reason: StateRefusal) => ({ ok: false, reason });

describe("another request, service or caller (C5, C7, C18; B09, B10)", () => {
  const digest = (params: object) => ({ paramsDigest: digestParams("tools/call", params) });
  const args = PARAMS.arguments;
  const rows: [string, Partial<Binding>, StateRefusal][] = [
    ["other method and so a prompt of that name", { method: "prompts/get" }, "other_target"],
    ["other method and so a resource of that name", { method: "resources/read" }, "other_target"],
    ["other tool", { target: "destroy" }, "other_target"],
    ["tool name in another case", { target: "Deploy" }, "other_target"],
    ["one argument changed", digest({ ...PARAMS, arguments: { ...args, env: "test" } }), "other_params"],
    ["one argument of another type", digest({ ...PARAMS, arguments: { ...args, count: "3" } }), "other_params"],
    ["one argument more", digest({ ...PARAMS, arguments: { ...args, force: true } }), "other_params"],
    ["one argument less", digest({ ...PARAMS, arguments: { env: "prod", count: 3 } }), "other_params"],
    ["no arguments", digest({ name: "deploy" }), "other_params"],
    ["other audience", { audience: "https://other.example.com" }, "other_audience"],
    ["other subject", { principal: { ...binding().principal, subject: "bob" } }, "other_principal"],
    ["other issuer", { principal: { ...binding().principal, issuer: "https://evil.example" } }, "other_principal"],
    ["other client", { principal: { ...binding().principal, clientId: "web" } }, "other_principal"],
    ["nobody", { principal: null }, "other_principal"],
    ["a principal without claims", { principal: {} }, "other_principal"],
  ];
  test.each(rows)("%s is refused", (_, change, reason) => {
    expect(opened({ binding: change })).toEqual(refused(reason));
  });

  test("reordered arguments pass (B09)", () => {
    const params = { arguments: { tags: ["a", "b"], env: "prod", count: 3 }, name: "deploy" };
    expect(opened({ binding: digest(params) })).toMatchObject({ ok: true, payload: PAYLOAD });
  });

  test("a state of nobody does not open for somebody, and opens for nobody (B10)", () => {
    const token = sealer().seal(PAYLOAD, binding({ principal: null }));
    expect(opened({ token, binding: { principal: null } })).toMatchObject({ ok: true });
    expect(opened({ token })).toEqual(refused("other_principal"));
    expect(opened({ token, binding: { principal: {} } })).toEqual(refused("other_principal"));
  });

  test.each<[string, Partial<Binding>, Partial<Binding>]>([
    ["prompt", { method: "prompts/get", target: "a" }, { method: "prompts/get", target: "b" }],
    ["URI", { method: "resources/read", target: "file:///a" }, { method: "resources/read", target: "file:///b" }],
  ])("other %s is refused", (_, own, other) => {
    const token = sealer().seal(PAYLOAD, binding(own));
    expect(opened({ token, binding: own })).toMatchObject({ ok: true });
    expect(opened({ token, binding: other })).toEqual(refused("other_target"));
  });
});

describe("time (C6)", () => {
  const rows: [string, number, StateRefusal | null][] = [
    ["the last moment of its life", ISSUED + TTL - 1, null],
    ["exactly at expiry", ISSUED + TTL, "expired"],
    ["past expiry", ISSUED + TTL + 1, "expired"],
    ["a year later", ISSUED + 365 * 86_400_000, "expired"],
    ["before issue, within the skew", ISSUED - SKEW, null],
    ["before issue beyond the skew", ISSUED - SKEW - 1, "not_yet_valid"],
  ];
  test.each(rows)("%s", (_, nowMs, reason) => {
    expect(opened({ nowMs })).toEqual(reason === null ? expect.objectContaining({ ok: true }) : refused(reason));
  });
});

describe("keys (C21, B44)", () => {
  test("another key alone: unknown key id", () => {
    expect(opened({ keys: [K2] })).toEqual(refused("unknown_key"));
  });

  test("a state sealed with another key under this key's id", () => {
    const foreign = sealer({ keys: [K2] }).seal(PAYLOAD, binding());
    expect(opened({ token: foreign, keys: [K2] })).toMatchObject({ ok: true });
    // The hints are keyed too, so none of them fits: the first names the reason.
    expect(opened({ token: genuine.slice(0, CLEAR) + foreign.slice(CLEAR) })).toEqual(refused("other_audience"));
  });

  test("rotation: the old key still opens, the new one seals, and a dropped key is unknown", () => {
    const [before, during, after] = [sealer({ keys: [K1] }), sealer({ keys: [K2, K1] }), sealer({ keys: [K2] })];
    const old = before.seal(PAYLOAD, binding());
    expect(during.open(old, binding())).toMatchObject({ ok: true, payload: PAYLOAD });
    const fresh = during.seal(PAYLOAD, binding());
    expect(after.open(fresh, binding())).toMatchObject({ ok: true, payload: PAYLOAD });
    expect(before.open(fresh, binding())).toEqual(refused("unknown_key"));
    expect(after.open(old, binding())).toEqual(refused("unknown_key"));
  });
});

describe("changed text (C1, C3, C20)", () => {
  test("every character of the token counts, and its place names the reason", () => {
    for (let at = 0; at < genuine.length - 1; at++) {
      const other = genuine[at] === "A" ? "B" : "A";
      const result = opened({ token: genuine.slice(0, at) + other + genuine.slice(at + 1) });
      if (at < 3) expect(result).toEqual(refused("unknown_format"));
      else if (at < CLEAR - 1) expect(result).toEqual(refused("unknown_key"));
      else if (at === CLEAR - 1) expect(result).toEqual(refused("malformed"));
      else expect(result.ok).toBe(false);
    }
  });

  test("every byte of the body counts: nonce, hints, ciphertext, tag", () => {
    const hintReasons = ["other_audience", "other_principal", "other_target", "other_params"];
    const length = Buffer.from(genuine.slice(CLEAR), "base64url").length;
    for (let at = NONCE.from; at < length; at++) {
      for (const bit of [0, 7]) {
        const token = withBody(genuine, (body) => {
          body[at]! ^= 1 << bit;
          return body;
        });
        const inHints = at >= HINTS.from && at < HINTS.to;
        const reason = inHints ? hintReasons[(at - HINTS.from) >> 1] : "tampered";
        expect(opened({ token })).toEqual({ ok: false, reason });
      }
    }
  });

  test("every truncation is refused, from both ends", () => {
    for (let length = 0; length < genuine.length; length++) {
      expect(opened({ token: genuine.slice(0, length) }).ok).toBe(false);
      expect(opened({ token: genuine.slice(genuine.length - length) }).ok).toBe(false);
    }
  });

  test.each<[string, (body: Buffer) => Buffer, StateRefusal]>([
    ["the last byte cut", (body) => body.subarray(0, -1), "tampered"],
    ["a byte more", (body) => Buffer.concat([body, Buffer.alloc(1)]), "tampered"],
    ["a tag's length of zeros more", (body) => Buffer.concat([body, Buffer.alloc(16)]), "tampered"],
    ["a short tag", (body) => body.subarray(0, -12), "tampered"],
    ["one byte less than the shortest", (body) => body.subarray(0, 59), "malformed"],
    ["nothing", () => Buffer.alloc(0), "malformed"],
  ])("body with %s", (_, change, reason) => {
    expect(opened({ token: withBody(genuine, change) })).toEqual(refused(reason));
  });

  const body = genuine.slice(CLEAR);
  const rows: [string, unknown, StateRefusal][] = [
    ["one padding character", `${genuine}=`, "malformed"],
    ["two padding characters", `${genuine}==`, "malformed"],
    ["white space after", `${genuine} `, "malformed"],
    ["white space before", ` ${genuine}`, "unknown_format"],
    ["a line break inside", `${genuine.slice(0, 40)}\n${genuine.slice(40)}`, "malformed"],
    ["a NUL inside", `${genuine.slice(0, 40)}\0${genuine.slice(40)}`, "malformed"],
    ["a character past Latin-1 inside", `${genuine.slice(0, 40)}\u0141${genuine.slice(41)}`, "malformed"],
    [
      "full-width letters",
      genuine.replace(
        body,
        body.replace(/[A-Z]/, (c) => String.fromCharCode(c.charCodeAt(0) + 0xfee0)),
      ),
      "malformed",
    ],
    ["a percent escape", genuine.replace(/.$/, (c) => `%${c.charCodeAt(0).toString(16)}`), "malformed"],
    ["upper-case format", genuine.replace("p1.", "P1."), "unknown_format"],
    ["the next format", genuine.replace("p1.", "p2."), "unknown_format"],
    ["quotes", JSON.stringify(genuine), "unknown_format"],
    ["text twice", genuine + genuine, "malformed"],
    ["empty text", "", "unknown_format"],
    ["the format alone", "p1.", "malformed"],
    ["no body", genuine.slice(0, CLEAR), "malformed"],
    ["undefined", undefined, "malformed"],
    ["null", null, "malformed"],
    ["a number", 1, "malformed"],
    ["a list of it", [genuine], "malformed"],
    ["a String object", Object(genuine), "malformed"],
    ["more than the limit", `${genuine}${"A".repeat(65_536)}`, "too_large"],
  ];
  test.each(rows)("%s is refused", (_, token, reason) => {
    expect(opened({ token })).toEqual(refused(reason));
  });

  test("hex is refused", () => {
    expect(opened({ token: genuine.slice(0, CLEAR) + Buffer.from(body, "base64url").toString("hex") }).ok).toBe(false);
  });

  test("the other base64 alphabet is refused", () => {
    let token = genuine;
    while (!/-.*_|_.*-/.test(token)) token = sealer().seal(PAYLOAD, binding());
    expect(opened({ token })).toMatchObject({ ok: true });
    const swapped = (from: string, to: string) => token.slice(0, CLEAR) + token.slice(CLEAR).replace(from, to);
    expect(opened({ token: swapped("-", "+") })).toEqual(refused("malformed"));
    expect(opened({ token: swapped("_", "/") })).toEqual(refused("malformed"));
  });

  test.each([0, 1, 2])("another last character is refused, with %i bytes more", (more) => {
    const token = sealer().seal(PAYLOAD + " ".repeat(more), binding());
    expect(opened({ token })).toMatchObject({ ok: true });
    const bytes = Buffer.from(token.slice(CLEAR), "base64url");
    for (const last of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
      const other = token.slice(0, -1) + last;
      if (other === token) continue;
      const sameBytes = Buffer.from(other.slice(CLEAR), "base64url").equals(bytes);
      const result = opened({ token: other });
      expect(result.ok).toBe(false);
      if (sameBytes) expect(result).toEqual(refused("malformed"));
    }
  });

  test("two genuine states spliced at any place are refused", () => {
    const second = sealer().seal(PAYLOAD, binding());
    expect(second).toHaveLength(genuine.length);
    expect(opened({ token: second })).toMatchObject({ ok: true });
    for (let at = CLEAR + 1; at < genuine.length; at++) {
      const token = genuine.slice(0, at) + second.slice(at);
      if (token !== genuine && token !== second) expect(opened({ token }).ok).toBe(false);
    }
    const halves = withBody(genuine, (a) =>
      Buffer.concat([a.subarray(0, HINTS.to), Buffer.from(second.slice(CLEAR), "base64url").subarray(HINTS.to)]),
    );
    expect(opened({ token: halves })).toEqual(refused("tampered"));
  });

  test("hints copied from a state of the right caller do not open another caller's state (they are a hint)", () => {
    const bob = binding({ principal: { subject: "bob" } });
    const his = Buffer.from(sealer().seal(PAYLOAD, bob).slice(CLEAR), "base64url");
    const token = withBody(genuine, (a) =>
      Buffer.concat([a.subarray(0, HINTS.from), his.subarray(HINTS.from, HINTS.to), a.subarray(HINTS.to)]),
    );
    expect(sealer().open(token, bob)).toEqual(refused("tampered"));
    expect(opened({ token })).toEqual(refused("other_principal"));
  });
});
