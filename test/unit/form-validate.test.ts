/** Judging answers: every field kind, the four formats, and content of any shape. */
import { describe, expect, test } from "vitest";
import { checkContent, checkField, describeIssues, type Field, readForm } from "../../src/protocol/form/index.ts";

function field(property: object, required = false): Field {
  const fields = readForm({ type: "object", properties: { f: property }, ...(required && { required: ["f"] }) });
  return fields[0]!;
}

describe("formats are asserted (L28)", () => {
  const cases: Record<string, { good: string[]; bad: string[] }> = {
    email: {
      good: ["a@b.co", "first.last+tag@sub.example.com", "me@localhost", "o'neil@x-y.org"],
      bad: [
        "",
        "a",
        "@b.co",
        "a@",
        "a b@c.de",
        "a@b c",
        ".a@b.co",
        "a..b@c.de",
        "a@-b.co",
        "a@b..co",
        "a@b.co\n",
        `${"x".repeat(65)}@b.co`,
      ],
    },
    uri: {
      good: [
        "https://example.com/a?b#c",
        "mailto:a@b.co",
        "urn:isbn:1",
        "http://[::1]:80/",
        "https://xn--r8jz45g.jp/%C3%BC?a=%20",
        "a+b:c",
      ],
      bad: [
        "",
        "example.com",
        "/path",
        "//host/x",
        " https://a.b",
        "https://a b",
        "https://a\\b",
        "java\nscript:x",
        "http://",
        "https://例え.jp/",
        "https://exämple.com/ü",
        "https://a.b/%zz",
        "https://a.b/%e",
        "https://a.b/100%",
        "https://a.b/[x]",
        "https://[u]@a.b/",
        "https://a.b/#c#d",
        "https://a.b/\u{1F600}",
        "1a:b",
      ],
    },
    date: {
      good: ["2026-07-28", "2024-02-29", "2000-02-29", "0000-01-01"],
      bad: [
        "",
        "2026-7-28",
        "2026-02-29",
        "1900-02-29",
        "2026-13-01",
        "2026-04-31",
        "2026-00-10",
        "2026-07-28T00:00:00Z",
        "२०२६-07-28",
        "2026-07-28\n",
      ],
    },
    "date-time": {
      good: [
        "2026-07-28T09:30:00Z",
        "2026-07-28t09:30:00.123456z",
        "2026-07-28T09:30:00+05:30",
        "1998-12-31T23:59:60Z",
        "1998-12-31T15:59:60-08:00",
        "1999-01-01T05:29:60+05:30",
      ],
      bad: [
        "",
        "2026-07-28",
        "2026-07-28T09:30:00",
        "2026-07-28 09:30:00Z",
        "2026-07-28T24:00:00Z",
        "2026-07-28T09:60:00Z",
        "2026-07-28T09:30Z",
        "2026-02-30T09:30:00Z",
        "2026-07-28T09:30:00+24:00",
        "2026-07-28T09:30:00.Z",
        "1998-12-31T22:59:60Z",
      ],
    },
  };
  for (const [format, { good, bad }] of Object.entries(cases)) {
    test.each(good)(`${format} accepts %j`, (text) => {
      expect(checkField(field({ type: "string", format }), text)).toBeUndefined();
    });
    test.each(bad)(`${format} refuses %j`, (text) => {
      expect(checkField(field({ type: "string", format }), text)).toMatch(/^must be /);
    });
  }

  test("F3: hostile texts are judged in linear time", () => {
    const started = performance.now();
    for (const format of Object.keys(cases)) {
      for (const text of [
        `${"a".repeat(500_000)}!`,
        `a@${"a.".repeat(300_000)}`,
        `${"9".repeat(500_000)}x`,
        `2026-07-28T00:00:00.${"0".repeat(500_000)}`,
        `a:${"%".repeat(500_000)}`,
        `a://${"b".repeat(500_000)}#${"#".repeat(500_000)}`,
        `a:${"//[".repeat(300_000)}`,
      ]) {
        checkField(field({ type: "string", format }), text);
      }
    }
    expect(performance.now() - started).toBeLessThan(5_000);
  });
});

describe("checkField", () => {
  const choices = { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, minItems: 1, maxItems: 2 };
  test.each<[string, object, unknown[], [unknown, RegExp][]]>([
    [
      "text",
      { type: "string", minLength: 2, maxLength: 3 },
      ["ab", "abc", "😀😀"],
      [
        ["a", /at least 2 characters/],
        ["😀", /at least/],
        ["abcd", /at most 3/],
        [1, /text/],
        [null, /text/],
        [["ab"], /text/],
      ],
    ],
    [
      "number (L17: fractions)",
      { type: "number", minimum: 0, maximum: 1 },
      [0, 1, 0.5],
      [
        [-0.1, /at least 0/],
        [1.1, /at most 1/],
        ["0", /number/],
        [Number.NaN, /number/],
        [Number.POSITIVE_INFINITY, /number/],
      ],
    ],
    [
      "integer",
      { type: "integer" },
      [0, -3, 1e21, 2.0],
      [
        [0.5, /whole/],
        [1n, /number/],
        [true, /number/],
      ],
    ],
    [
      "boolean",
      { type: "boolean" },
      [true, false],
      [
        ["true", /true or false/],
        [1, /true or false/],
      ],
    ],
    [
      "single choice",
      { type: "string", enum: ["a", "b"] },
      ["a"],
      [
        ["A", /offered/],
        [["a"], /offered/],
        ["", /offered/],
      ],
    ],
    [
      "titled choice answers by value",
      { type: "string", oneOf: [{ const: "a", title: "A" }] },
      ["a"],
      [["A", /offered/]],
    ],
    [
      "several choices",
      choices,
      [["a"], ["c", "a"], ["a", "a"]],
      [
        [[], /at least 1 choice$/],
        [["a", "b", "c"], /at most 2/],
        [["d"], /offered/],
        ["a", /list/],
        [{ 0: "a", length: 1 }, /list/],
        [[1], /offered/],
      ],
    ],
  ])("%s", (_, property, good, bad) => {
    const one = field(property);
    for (const value of good) expect(checkField(one, value)).toBeUndefined();
    for (const [value, reason] of bad) expect(checkField(one, value)).toMatch(reason);
  });

  test("left out: fine unless required", () => {
    expect(checkField(field({ type: "string" }), undefined)).toBeUndefined();
    expect(checkField(field({ type: "string" }, true), undefined)).toBe("is required");
  });
});

describe("checkContent", () => {
  const fields = readForm({
    type: "object",
    properties: { a: { type: "string" }, n: { type: "integer" }, m: { type: "array", items: { enum: ["x"] } } },
    required: ["a"],
  });

  test("D21: good content comes back as a copy", () => {
    const content = { a: "1", n: 2, m: ["x"] };
    const checked = checkContent(fields, content);
    expect(checked).toEqual({ ok: true, content });
    expect(checked.ok && checked.content["m"]).not.toBe(content.m);
  });

  test("B23, L30: missing and null content are {}", () => {
    expect(checkContent([], undefined)).toEqual({ ok: true, content: {} });
    expect(checkContent([], null)).toEqual({ ok: true, content: {} });
    expect(checkContent(fields, undefined)).toEqual({ ok: false, issues: [{ field: "a", reason: "is required" }] });
  });

  test.each([["a"], [1], [true], [[]], [new Map()], [() => 1]])("D26: %s is no content", (content) => {
    expect(checkContent(fields, content)).toMatchObject({ ok: false, issues: [{ field: "" }] });
  });

  test("D26: null, objects and mixed lists are no values", () => {
    expect(checkContent(fields, { a: null })).toMatchObject({ ok: false, issues: [{ field: "a" }] });
    expect(checkContent(fields, { a: { toString: () => "x" } })).toMatchObject({ ok: false });
    expect(checkContent(fields, { a: "x", m: ["x", 1] })).toMatchObject({ ok: false, issues: [{ field: "m" }] });
  });

  test("unknown fields: a host refuses to send them, a server ignores them (A18) unless they are no values", () => {
    const content = { a: "x", extra: 1 };
    expect(checkContent(fields, content)).toEqual({
      ok: false,
      issues: [{ field: "extra", reason: "is not part of the form" }],
    });
    expect(checkContent(fields, content, { unknownKeys: "ignore" })).toEqual({ ok: true, content: { a: "x" } });
    const odd = checkContent(fields, { a: "x", hunter2: {} }, { unknownKeys: "ignore" });
    expect(odd.ok).toBe(false);
    expect(JSON.stringify(odd)).not.toContain("hunter2");
  });

  test("D9: a choice given twice is legal content for a server, and a slip that a host does not send", () => {
    const content = { a: "x", m: ["x", "x"] };
    expect(checkContent(fields, content, { unknownKeys: "ignore" })).toEqual({ ok: true, content });
    expect(checkContent(fields, content)).toEqual({
      ok: false,
      issues: [{ field: "m", reason: "must not repeat a choice" }],
    });
  });

  test("F4: inherited and prototype-named members do not answer", () => {
    expect(checkContent(fields, Object.create({ a: "x" }))).toMatchObject({ ok: false });
    expect(checkContent(fields, JSON.parse('{"__proto__":{"a":"x"}}'))).toMatchObject({ ok: false });
    expect(checkContent(fields, JSON.parse('{"a":"x","__proto__":"y"}'), { unknownKeys: "ignore" })).toEqual({
      ok: true,
      content: { a: "x" },
    });
    const odd = readForm({
      type: "object",
      properties: { constructor: { type: "string" } },
      required: ["constructor"],
    });
    expect(checkContent(odd, {})).toMatchObject({
      ok: false,
      issues: [{ field: "constructor", reason: "is required" }],
    });
    expect(checkContent(odd, { constructor: "x" })).toEqual({ ok: true, content: { constructor: "x" } });
  });

  test("proxies and getters that throw are refused, not thrown", () => {
    const hostile = new Proxy({}, { ownKeys: () => { throw new Error("no"); } }); // biome-ignore format: one thing
    const { proxy, revoke } = Proxy.revocable([], {});
    revoke();
    expect(checkContent(fields, hostile)).toMatchObject({ ok: false });
    expect(checkContent(fields, proxy)).toMatchObject({ ok: false });
    expect(checkContent(fields, { a: "x", m: proxy })).toMatchObject({ ok: false });
  });

  test("describeIssues names the fields and is bounded", () => {
    const many = Array.from({ length: 99 }, (_, index) => ({ field: `f${index}`, reason: "is required" }));
    const text = describeIssues([{ field: "", reason: "Bad." }, ...many]);
    expect(text).toMatch(/^Bad\.; "f0" is required; "f1" is required/);
    expect(text.length).toBeLessThanOrEqual(500);
  });
});
