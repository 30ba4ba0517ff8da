import { describe, expect, test } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import { encodeBinding } from "../../src/state/binding.ts";
import { createHints } from "../../src/state/hints.ts";
import {
  createKeyRing,
  createSealer,
  pooledRandom,
  type SealerOptions,
  type StateLimits,
} from "../../src/state/index.ts";
import {
  binding,
  CLEAR,
  type Clock,
  HINTS,
  ISSUED,
  K1,
  NONCE,
  PAYLOAD,
  sealer,
  TTL,
  withBody,
} from "./state-fixture.ts";

function thrown(run: () => unknown): ParleyError {
  try {
    run();
  } catch (error) {
    if (error instanceof ParleyError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const body = (token: string) => Buffer.from(token.slice(CLEAR), "base64url");

describe("sealing (C2, C10, C20)", () => {
  test("a state opens to what was sealed, with its times", () => {
    const times = { issuedAtMs: ISSUED - 5, expiresAtMs: ISSUED + 3 * 86_400_000 };
    const token = sealer().seal(PAYLOAD, binding(), times);
    expect(sealer().open(token, binding())).toEqual({ ok: true, payload: PAYLOAD, ...times });
  });

  test("nothing of it is readable, and it is one word of the URL-safe alphabet", () => {
    const token = sealer().seal(PAYLOAD, binding());
    expect(token).toMatch(/^p1\.[\w-]{8}\.[\w-]+$/);
    const clear = body(token).toString("latin1");
    for (const secret of ["journal", "alice", "deploy", "prod"]) expect(clear).not.toContain(secret);
  });

  test("the same payload twice gives two states, which both open", () => {
    const one = sealer();
    const [a, b] = [one.seal(PAYLOAD, binding()), one.seal(PAYLOAD, binding())];
    expect(a).not.toBe(b);
    for (const token of [a, b]) expect(one.open(token, binding())).toMatchObject({ ok: true, payload: PAYLOAD });
  });

  test("100,000 seals use 100,000 nonces", { timeout: 120_000 }, () => {
    const one = sealer();
    const nonces = new Set<string>();
    for (let i = 0; i < 100_000; i++) nonces.add(one.seal("{}", binding()).slice(CLEAR, CLEAR + 32));
    expect(nonces.size).toBe(100_000);
    expect(NONCE.to).toBe(24); // 32 characters
  });

  test("the binding costs no bytes: a 200-byte payload is 359 characters whatever it is bound to", () => {
    const payload = "x".repeat(200);
    expect(sealer().seal(payload, binding())).toHaveLength(359);
    expect(sealer().seal(payload, binding({ target: "t".repeat(5000) }))).toHaveLength(359);
  });

  test("a state from another process with the same key opens (B44)", () => {
    const make = () => {
      const ring = createKeyRing({
        env: { PARLEY_KEYS: K1.toString("base64url") },
        replicas: "many",
        random: pooledRandom(),
      });
      return createSealer({ ring, now: () => ISSUED, random: pooledRandom() });
    };
    expect(make().open(make().seal(PAYLOAD, binding()), binding())).toMatchObject({ ok: true });
  });

  test("a wall clock with fractions is fine", () => {
    const clock: Clock = { ms: ISSUED + 0.75 };
    const one = sealer({ clock });
    expect(one.open(one.seal(PAYLOAD, binding()), binding())).toMatchObject({ ok: true, issuedAtMs: ISSUED });
  });
});

describe("limits", () => {
  test("past maxBytes: limit_exceeded with the sizes, exactly at the border, and no payload in the error", () => {
    const length = sealer().seal(PAYLOAD, binding()).length;
    const at = sealer({ limits: { maxBytes: length } });
    expect(at.open(at.seal(PAYLOAD, binding()), binding())).toMatchObject({ ok: true });
    const error = thrown(() => sealer({ limits: { maxBytes: length - 1 } }).seal(PAYLOAD, binding()));
    expect(error.code).toBe("limit_exceeded");
    expect(error.details).toEqual({ bytes: length, limit: length - 1 });
    expect(error.message).not.toContain("journal");
  });

  test("what seals also opens: every size up to the limit", () => {
    const one = sealer({ limits: { maxBytes: 512 } });
    for (let size = 0; size < 400; size++) {
      const run = () => one.seal("x".repeat(size), binding());
      if (size <= 315) expect(one.open(run(), binding())).toMatchObject({ ok: true });
      else expect(thrown(run).code).toBe("limit_exceeded");
    }
  });

  test("the default limit is 64 KiB", () => {
    expect(thrown(() => sealer().seal("x".repeat(65_536), binding())).details["limit"]).toBe(65_536);
  });

  test("days are allowed", () => {
    const clock: Clock = { ms: ISSUED };
    const one = sealer({ clock, limits: { ttlMs: 90 * 86_400_000 } });
    const token = one.seal(PAYLOAD, binding());
    clock.ms += 90 * 86_400_000 - 1;
    expect(one.open(token, binding())).toMatchObject({ ok: true });
    clock.ms += 1;
    expect(one.open(token, binding())).toEqual({ ok: false, reason: "expired" });
  });

  test.each<[string, Partial<Record<keyof StateLimits, unknown>>]>([
    ["ttlMs", { ttlMs: 0 }],
    ["ttlMs", { ttlMs: Number.NaN }],
    ["ttlMs", { ttlMs: "600000" }],
    ["maxBytes", { maxBytes: -1 }],
    ["maxBytes", { maxBytes: 1.5 }],
    ["skewMs", { skewMs: -1 }],
    ["skewMs", { skewMs: Number.POSITIVE_INFINITY }],
  ])("a bad %s is a configuration error that names it", (name, limits) => {
    const error = thrown(() => sealer({ limits: limits as SealerOptions["limits"] & object }));
    expect(error.code).toBe("configuration");
    expect(error.message).toContain(name);
  });

  test.each([ISSUED, ISSUED - 1, ISSUED + 0.5, ISSUED + 2 ** 41, Number.NaN])(
    "an expiry of %d is refused",
    (expiresAtMs) => {
      expect(thrown(() => sealer().seal(PAYLOAD, binding(), { expiresAtMs })).code).toBe("configuration");
    },
  );
});

describe("compression (off by default)", () => {
  const long = JSON.stringify({ text: "the same words again; ".repeat(200) });

  test("off: the length follows the payload. On: above 512 bytes it is smaller, below it is not touched", () => {
    const plain = sealer().seal(long, binding());
    expect(body(plain)).toHaveLength(HINTS.to + 12 + long.length + 16);
    const packed = sealer({ compress: true }).seal(long, binding());
    expect(packed.length).toBeLessThan(plain.length / 10);
    const short = "x".repeat(512);
    expect(sealer({ compress: true }).seal(short, binding())).toHaveLength(sealer().seal(short, binding()).length);
  });

  test("both kinds open on both settings, and stay bound", () => {
    for (const from of [true, false]) {
      for (const to of [true, false]) {
        const token = sealer({ compress: from }).seal(long, binding());
        expect(sealer({ compress: to }).open(token, binding())).toMatchObject({ ok: true, payload: long });
        const other = binding({ target: "other" });
        expect(sealer({ compress: to }).open(token, other)).toEqual({ ok: false, reason: "other_target" });
      }
    }
  });

  test("even random text shrinks, so compressing never costs more than it saves", () => {
    for (const size of [513, 3000]) {
      const noise = Buffer.from(pooledRandom()(size).map((byte) => byte & 0x7f)).toString("latin1");
      const plain = sealer().seal(noise, binding());
      expect(sealer({ compress: true }).seal(noise, binding()).length).toBeLessThan(plain.length);
    }
  });

  test("expansion is bounded on both sides (no bomb)", () => {
    const bomb = "0".repeat(2_000_000);
    const limits = { maxBytes: 20_000 };
    const error = thrown(() => sealer({ compress: true, limits }).seal(bomb, binding()));
    expect(error.details).toEqual({ bytes: 2_000_000, limit: 320_000 });
    const token = sealer({ compress: true, limits: { maxBytes: 200_000 } }).seal(bomb, binding());
    expect(token.length).toBeLessThan(20_000);
    expect(sealer({ limits }).open(token, binding())).toEqual({ ok: false, reason: "too_large" });
  });
});

describe("hints for operators", () => {
  test("are read only when a state did not verify: wiped hints are tampering, right hints open nothing", () => {
    const token = sealer().seal(PAYLOAD, binding());
    const wiped = withBody(token, (bytes) => bytes.fill(0, HINTS.from, HINTS.to));
    expect(sealer().open(wiped, binding()).ok).toBe(false);
  });

  test("are equal for equal components, and keyed", () => {
    const hints = (token: string) => body(token).subarray(HINTS.from, HINTS.to).toString("hex");
    const one = sealer();
    const base = hints(one.seal(PAYLOAD, binding()));
    expect(hints(one.seal("{}", binding()))).toBe(base);
    expect(hints(sealer().seal(PAYLOAD, binding()))).toBe(base);
    expect(hints(sealer({ keys: [Buffer.alloc(33, "k1")] }).seal(PAYLOAD, binding()))).not.toBe(base);
    const other = hints(one.seal(PAYLOAD, binding({ target: "destroy" })));
    expect([other.slice(0, 8), other.slice(12)]).toEqual([base.slice(0, 8), base.slice(12)]);
    expect(other.slice(8, 12)).not.toBe(base.slice(8, 12));
  });

  test("come out the same after the cache was emptied, and for texts too long to keep", () => {
    const hints = createHints(K1);
    const write = (target: string) => {
      const bytes = Buffer.alloc(8);
      hints.write(encodeBinding(binding({ target })), bytes, 0);
      return bytes.toString("hex");
    };
    const [short, long] = [write("a"), write("a".repeat(1000))];
    for (let i = 0; i < 600; i++) write(`t${i}`);
    expect([write("a"), write("a".repeat(1000))]).toEqual([short, long]);
  });
});

test("a state lives as long as ttlMs says by default: ten minutes", () => {
  expect(sealer().open(sealer().seal(PAYLOAD, binding()), binding())).toMatchObject({ expiresAtMs: ISSUED + TTL });
});
