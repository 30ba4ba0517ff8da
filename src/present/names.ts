/**
 * Names that look like other names (presentation rules U4, L4): a mix of scripts inside one word, compatibility forms
 * such as full-width letters, and words written wholly in Cyrillic or Greek letters that read as Latin.
 *
 * A warning, never a refusal: honest names may be flagged too. The table is small on purpose; it holds the letters
 * that common typefaces draw like Latin ones, not the whole of Unicode's confusables.
 */
import { host, inert, type Safe, say } from "./text.ts";

const SCRIPTS = [
  "Latin",
  "Cyrillic",
  "Greek",
  "Armenian",
  "Hebrew",
  "Arabic",
  "Cherokee",
  "Coptic",
  "Georgian",
  "Devanagari",
  "Thai",
  "Han",
  "Hiragana",
  "Katakana",
  "Bopomofo",
  "Hangul",
  "Lisu",
  "Deseret",
] as const;
type Script = (typeof SCRIPTS)[number];
const SCRIPT_TESTS = SCRIPTS.map((script): [Script, RegExp] => [script, new RegExp(`\\p{Script=${script}}`, "u")]);

/** Mixtures everyday writing uses (the "highly restrictive" profile of UTS 39). */
const USUAL_MIXES: readonly ReadonlySet<Script>[] = [
  new Set(["Latin", "Han", "Hiragana", "Katakana"]),
  new Set(["Latin", "Han", "Bopomofo"]),
  new Set(["Latin", "Han", "Hangul"]),
];

/** Letters of other alphabets drawn like Latin ones. Each row: theirs, ours. */
const LOOKALIKES = new Map<string, string>();
for (const [theirs, ours] of [
  ["аеорсухіјѕһԁԛԝӏ", "aeopcyxijshdqwl"], // Cyrillic
  ["АВЕЅІЈКМНОРСТУХԚԜ", "ABESIJKMHOPCTYXQW"],
  ["ονρυια", "ovpuia"], // Greek
  ["ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"],
  ["օոսհցԼՍՏՕ", "onuhgLUSO"], // Armenian
  ["ɑɡɩʟ", "agil"], // Latin letters of phonetics
] as const) {
  const to = [...ours];
  [...theirs].forEach((letter, index) => {
    LOOKALIKES.set(letter, to[index] ?? letter);
  });
}

/** Warnings about a name or a host's spelling; empty when nothing looks wrong. Looks at 200 characters at most. */
export function nameWarnings(name: string): Safe[] {
  const warnings: Safe[] = [];
  const text = name.slice(0, 200);
  const plain = text.normalize("NFKC");
  if (plain !== text.normalize("NFC")) {
    warnings.push(say`uses unusual forms of letters; in plain letters it reads “${inert(plain)}”`);
  }
  for (const word of text.normalize("NFC").split(/[^\p{L}\p{M}\p{N}]+/u)) {
    const mixed = scriptsOf(word);
    if (mixed.length > 1 && !USUAL_MIXES.some((usual) => mixed.every((script) => usual.has(script)))) {
      warnings.push(say`mixes alphabets in one word: “${inert(word)}” is ${inert(mixed.join(" and "))}`);
      continue;
    }
    const latin = latinReading(word);
    if (latin !== undefined) warnings.push(say`looks like “${inert(latin)}” but is written in other letters`);
  }
  return [...new Set(warnings)];
}

/** As {@link nameWarnings} for several names, each warning led by what the name is of. */
export function labelled(label: Safe, name: string): Safe[] {
  return nameWarnings(name).map((warning) => say`${label} ${warning}`);
}

/** The label of a claimed name in a warning. */
export const CLAIMED_NAME = host("the name the server gives itself");

function scriptsOf(word: string): Script[] {
  return SCRIPT_TESTS.filter(([, test]) => test.test(word)).map(([script]) => script);
}

/** How a word of look-alike letters reads in Latin, when every letter of it has a Latin twin. */
function latinReading(word: string): string | undefined {
  let reading = "";
  let foreign = 0;
  for (const letter of word) {
    const twin = LOOKALIKES.get(letter);
    if (twin !== undefined) foreign += 1;
    else if (!/[a-z0-9]/i.test(letter)) return undefined;
    reading += twin ?? letter;
  }
  return foreign > 0 && reading.length > 1 ? reading : undefined;
}
