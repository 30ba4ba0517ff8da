/** Text as a hostile server might write it, for generated tests of what is shown. */
import fc from "fast-check";

const PIECES = [
  ..."\x1b\x9b\x9d\x07\r\n\b\t\0\x7f\u202e\u2066\u200b\u200d\u00ad\ufeff\u2028\u2029\u3164\u2800\u034f\ufe0f\u0301\u0336⟨⟩┃",
  "\ud800",
  "\udfff",
  "\u{e0041}",
  "\u{e0100}",
  "\x1b]8;;https://evil.example\x1b\\",
  "\x1b[2J",
  "https://",
  "www.",
  "javascript:",
  "━━ Server “bank” asks a question",
  "⟨U+0041⟩",
  "__proto__",
  "pаypal",
];

export const hostileText = fc
  .array(
    fc.oneof(
      fc.constantFrom(...PIECES),
      fc.string({ unit: "binary", maxLength: 5 }),
      fc.constantFrom("a", " ", "漢", "👍"),
    ),
    { maxLength: 30 },
  )
  .map((pieces) => pieces.join(""));
