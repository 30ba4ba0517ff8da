import { describe, expect, test } from "vitest";
import { nameWarnings, type Safe, visible } from "../../src/present/index.ts";
import { wrapped } from "../../src/present/terminal/wrap.ts";

const shown = (text: string, options = {}) => visible(text, options).text as string;

describe("T1: no control of a server is written as it is, and none is stripped", () => {
  test("positive control: ordinary text of many scripts is unchanged", () => {
    for (const text of [
      "Deploy 3 services?",
      "Schöne Grüße, 10 €",
      "こんにちは、世界",
      "مرحبا",
      "नमस्ते",
      "👍 ok",
      "a“b”—c",
    ]) {
      expect(visible(text)).toEqual({ text, warnings: [] });
    }
  });

  test.each([
    ["OSC 8 link", "\x1b]8;;https://evil.example\x1b\\Open bank\x1b]8;;\x1b\\", ["⟨U+001B⟩]8;;", "Open bank"]],
    ["clear screen", "\x1b[2J", ["⟨U+001B⟩[2J"]],
    ["one-byte CSI", "\x9b2J", ["⟨U+009B⟩2J"]],
    ["one-byte OSC and ST", "\x9d0;title\x9c", ["⟨U+009D⟩0;title⟨U+009C⟩"]],
    ["clipboard by OSC 52", "\x1b]52;c;aGk=\x07", ["⟨U+001B⟩]52;c;aGk=⟨U+0007⟩"]],
    ["APC and DCS", "\x1b_x\x1b\\\x90q", ["⟨U+001B⟩_x⟨U+001B⟩\\⟨U+0090⟩q"]],
    ["delete and null", "a\x7fb\0c", ["a⟨U+007F⟩b⟨U+0000⟩c"]],
  ])("%s", (_name, text, pieces) => {
    const result = visible(text);
    for (const piece of pieces) expect(result.text).toContain(piece);
    expect(result.text).not.toMatch(/\p{Cc}/u);
    expect(result.warnings).toContain("contains control characters, shown as ⟨U+…⟩");
  });

  test("T2: carriage return, backspace and tab are visible, on one line and on many", () => {
    for (const multiline of [true, false]) {
      expect(shown("safe\rFORGED\b\t", { multiline })).toBe("safe⟨U+000D⟩FORGED⟨U+0008⟩⟨U+0009⟩");
    }
    expect(shown("a\nb")).toBe("a⟨U+000A⟩b");
    expect(shown("a\nb", { multiline: true })).toBe("a\nb");
  });

  test("T2: a flood of lines is capped, and the cap is said", () => {
    const text = shown(`top${"\n".repeat(500)}Allow? (y)`, { multiline: true, maxLines: 40 });
    expect(text.split("\n")).toHaveLength(40);
    expect(text).toMatch(/ … \(471 more characters, 461 more lines\)$/);
  });

  test("T3: a sequence that never ends does not swallow what follows", () => {
    expect(shown(`\x1b]0;${"x".repeat(50)} tail`)).toMatch(/ tail$/);
  });

  test("the escape cannot be forged: our bracket is escaped too", () => {
    expect(shown("⟨U+0041⟩")).toBe("⟨U+27E8⟩U+0041⟩");
  });
});

describe("U1 to U3: what is hidden is shown as a code point, with a warning", () => {
  test.each([
    ["right-to-left override", "\u202e", "reorder"],
    ["isolate", "\u2066", "reorder"],
    ["Arabic letter mark", "\u061c", "reorder"],
    ["zero width space", "\u200b", "invisible"],
    ["zero width joiner", "\u200d", "invisible"],
    ["soft hyphen", "\u00ad", "invisible"],
    ["byte order mark", "\ufeff", "invisible"],
    ["tag", "\u{e0041}", "invisible"],
    ["Hangul filler", "\u3164", "invisible"],
    ["Hangul choseong filler", "\u115f", "invisible"],
    ["Hangul jungseong filler", "\u1160", "invisible"],
    ["half-width Hangul filler", "\uffa0", "invisible"],
    ["Braille blank", "\u2800", "invisible"],
    ["grapheme joiner", "\u034f", "invisible"],
    ["variation selector", "\ufe0f", "invisible"],
    ["supplementary variation selector", "\u{e0100}", "invisible"],
    ["Mongolian variation selector", "\u180b", "invisible"],
    ["Khmer inherent vowel", "\u17b4", "invisible"],
    ["invisible times", "\u2062", "invisible"],
    ["interlinear annotation", "\ufff9", "invisible"],
    ["Arabic number sign", "\u0600", "invisible"],
    ["private use", "\ue000", "invisible"],
    ["unassigned", "\u0378", "invisible"],
    ["line separator", "\u2028", "control"],
    ["paragraph separator", "\u2029", "control"],
    ["lone high surrogate", "\ud800", "control"],
    ["lone low surrogate", "\udc00", "control"],
  ])("%s", (_name, char, warning) => {
    for (const multiline of [true, false]) {
      const result = visible(`a${char}b`, { multiline });
      const code = char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
      expect(result.text).toBe(`a⟨U+${code}⟩b`);
      expect(result.warnings).toHaveLength(1);
      expect(result.warnings[0]).toContain(warning);
    }
  });

  test("a flood of combining marks is capped, and a mark never sits on the host's text", () => {
    expect(shown(`a${"\u0301".repeat(300)}b`)).toBe(`a${"\u0301".repeat(5)}⟨295 more marks⟩b`);
    expect(shown("\u0336\u0336x")).toBe("⟨2 more marks⟩x");
    expect(shown("a\n\u0336x", { multiline: true })).toBe("a\n⟨1 more mark⟩x");
  });
});

describe("F4/F5: bounds and addresses", () => {
  test("length counts code points, and what is cut is counted", () => {
    expect(shown("👍👍👍", { maxLength: 3 })).toBe("👍👍👍");
    expect(visible("👍👍👍👍", { maxLength: 3 })).toEqual({
      text: "👍👍👍 … (1 more character)",
      warnings: ["is not shown whole"],
    });
    expect(shown("x".repeat(1_000_000), { maxLength: 10 })).toBe("xxxxxxxxxx … (999990 more characters)");
  });

  test("F5/D23: an address in text is broken visibly and warned about", () => {
    expect(visible("see https://evil.example now", { inertLinks: true })).toEqual({
      text: "see https:⟨link⟩//evil.example now",
      warnings: ["contains a web address; it is text, do not follow it"],
    });
    expect(shown("www.evil.example or mailto:a@b.example", { inertLinks: true })).toBe(
      "www⟨link⟩.evil.example or mailto⟨link⟩:a@b.example",
    );
    expect(shown("12:30, and/or", { inertLinks: true })).toBe("12:30, and/or");
  });
});

test("F4: a megabyte of hostile text takes milliseconds, not minutes", () => {
  const hostile = ["x", "x.", "\u0301", "\u202e", "www.", "a:", "\n", "⟨"];
  for (const unit of hostile) {
    const text = unit.repeat(100_000);
    const start = performance.now();
    visible(text, { maxLength: 200_000, multiline: true, maxLines: Number.POSITIVE_INFINITY, inertLinks: true });
    nameWarnings(text);
    expect(performance.now() - start).toBeLessThan(3000);
  }
});

describe("U4: names that look like other names are flagged", () => {
  test.each([
    "deploy",
    "GitHub",
    "Привет мир",
    "日本語 テスト",
    "한국어 OK",
    "naïve café",
    "Привет GitHub",
    "tool_2-b",
    "ελληνικά",
  ])("positive control: %s is not", (name) => {
    expect(nameWarnings(name)).toEqual([]);
  });
  test.each([
    ["Cyrillic a in Latin", "pаypal", "Latin and Cyrillic"],
    ["Greek o in Latin", "gοοgle", "Latin and Greek"],
    ["wholly Cyrillic", "аррӏе", "looks like “apple”"],
    ["wholly Greek", "ΟΡΤΙΟΝ", "looks like “OPTION”"],
    ["full-width", "ｄｅｐｌｏｙ", "reads “deploy”"],
    ["mathematical", "𝐝𝐞𝐩𝐥𝐨𝐲", "reads “deploy”"],
    ["script g", "ɡithub", "looks like “github”"],
  ])("%s", (_name, name, warning) => {
    expect(nameWarnings(name).join("; ")).toContain(warning);
  });
});

test("T2: a line is broken between graphemes, however long it is and wherever the chunks of it end", () => {
  const family = "\u{1f1e9}\u{1f1ea}";
  for (const lead of [0, 1, 2, 3]) {
    const text = `${"x".repeat(250 + lead)}${`${family}e\u0301`.repeat(200)}` as Safe;
    const lines = wrapped(text, 40);
    expect(lines.map((line, index) => (index === 0 ? line : line.slice(6))).join("")).toBe(text);
    for (const line of lines) {
      expect(line).not.toMatch(/^ {6}\u0301/);
      expect([...line.matchAll(/[\u{1f1e6}-\u{1f1ff}]/gu)].length % 2).toBe(0);
    }
  }
});
