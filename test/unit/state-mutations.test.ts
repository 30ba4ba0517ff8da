import { afterEach, beforeEach, expect, test } from "vitest";
import { binding, CLEAR, PAYLOAD, sealer } from "./state-fixture.ts";

/** Small, fast and repeatable (mulberry32). */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Half of the cost of a failed verification is the stack of the error inside node:crypto, which nobody reads here.
const { stackTraceLimit } = Error;
beforeEach(() => {
  Error.stackTraceLimit = 0;
});
afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

test("one million random mutations of genuine states: none accepted, none throws (C1, C3)", {
  timeout: 300_000,
}, () => {
  const pick = seeded(20260728);
  const one = sealer();
  const payloads = [PAYLOAD, "{}", JSON.stringify({ a: "é".repeat(40) }), "x".repeat(300)];
  const states = payloads.flatMap((payload) => [one.seal(payload, binding()), one.seal(payload, binding())]);
  for (const token of states) expect(one.open(token, binding()).ok).toBe(true);
  const genuine = new Set(states);
  const state = () => states[pick(states.length)] as string;

  const mutations: ((token: string, at: number) => string)[] = [
    (token, at) => token.slice(0, at) + ALPHABET[pick(64)] + token.slice(at + 1),
    (token, at) => token.slice(0, at) + String.fromCharCode(pick(256)) + token.slice(at + 1),
    (token, at) => token.slice(0, at) + String.fromCharCode(pick(0x10000)) + token.slice(at + 1),
    (token, at) => token.slice(0, at) + ALPHABET[pick(64)] + token.slice(at),
    (token, at) => token.slice(0, at) + token.slice(at + 1 + pick(4)),
    (token, at) => token.slice(0, at),
    (token, at) => token.slice(0, at) + state().slice(at),
    (token, at) => token.slice(0, at) + token.slice(pick(token.length)),
    (token, at) => {
      const bytes = Buffer.from(token.slice(CLEAR), "base64url");
      bytes[at % bytes.length]! ^= 1 << pick(8);
      return token.slice(0, CLEAR) + bytes.toString("base64url");
    },
  ];

  let tried = 0;
  const accepted: string[] = [];
  const reasons = new Map<string, number>();
  while (tried < 1_000_000) {
    let token = state();
    for (let times = pick(4) === 0 ? 2 : 1; times > 0; times--) {
      // A third goes into the few characters before the body, which every look-up depends on.
      const at = pick(pick(3) === 0 ? CLEAR + 1 : token.length + 1);
      token = (mutations[pick(mutations.length)] as (typeof mutations)[number])(token, at);
    }
    if (genuine.has(token)) continue;
    tried++;
    const result = one.open(token, binding());
    if (result.ok) accepted.push(token);
    else reasons.set(result.reason, (reasons.get(result.reason) ?? 0) + 1);
  }
  expect(accepted).toEqual([]);
  // The mutations reach every check that a changed text can fail.
  for (const reason of ["malformed", "unknown_format", "unknown_key", "tampered", "other_params"]) {
    expect(reasons.get(reason)).toBeGreaterThan(1000);
  }
});
