import {
  HARMLESS_AFTER_ANY,
  HARMLESS_AFTER_WORD,
  HARMLESS_BEFORE,
  SECRET_ALONE,
  SECRET_PHRASES,
  SECRET_RUNS,
  SECRET_STEMS,
  SECRET_WORDS,
} from "./secret-words.ts";

/**
 * The word by which a form's field looks like a request for a secret: a password, key, token, PIN, card number, seed
 * phrase or one-time code (D14, B35, F1), looked for in its name, title and description, in twelve languages.
 * `undefined` if it does not. Names, e-mail addresses and user names are no secrets (D14). A boolean and a choice
 * from the server's own list cannot carry one, so they never look like one.
 *
 * This is a word list, not a proof: a server that wants to deceive finds other words.
 */
export function looksSecret(name: string, property: Readonly<Record<string, unknown>>): string | undefined {
  const { type, title, description, format } = property;
  if (type === "boolean" || type === "array") return undefined;
  if (["enum", "oneOf", "anyOf"].some((key) => property[key] !== undefined)) return undefined;
  if (format === "password") return "password";
  return secretIn(name, { name: true }) ?? [title, description].map((text) => secretIn(text)).find((word) => word);
}

/** How much of a text is looked at: more than is ever shown of one. Without a bound, long titles would cost seconds. */
const LOOKED_AT = 2000;

/** The word in the first 2,000 characters of `text` that names a secret; see {@link looksSecret}. */
export function secretIn(text: unknown, { name = false }: { name?: boolean } = {}): string | undefined {
  if (typeof text !== "string" || text === "") return undefined;
  // Cut before and after: normalising makes up to 18 letters of one.
  const plain = text.slice(0, LOOKED_AT).normalize("NFKC").slice(0, LOOKED_AT);
  const visible = plain.replace(/\p{Cf}/gu, "");
  const run = RUNS.exec(visible);
  if (run !== null) return run[0];
  const list = words(visible);
  const [only, ...others] = list.filter((word) => word !== BREAK);
  if (only !== undefined && others.length === 0 && ALONE.has(only)) return only;
  if (name ? isPinName(list) : saysPin(visible)) return "pin";
  const found = secretAmong(list);
  if (found !== undefined || !/[@$0134]/.test(visible)) return found;
  return secretAmong(words(visible.replace(/[@$0134]/g, (sign) => LEET[sign] ?? sign)));
}

/** A count or a limit of tokens is no secret; spaces inside an entry may be left out. */
const RUNS = new RegExp(
  `(?<!最大|最多|最大の)(?:${SECRET_RUNS.map((entry) => entry.replaceAll(" ", "\\s?")).join("|")})(?!\\s?(?:の?数|数量|數量|上限|限制|长度|長|개수|수(?![\\p{L}])|한도))`,
  "iu",
);
/** Cyrillic letters that pass for Latin ones. */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  ...{ а: "a", е: "e", і: "i", о: "o", р: "p", с: "c", у: "y", х: "x", ѕ: "s", ԁ: "d", ԝ: "w", к: "k", т: "t" },
};
const STEMS = new RegExp(SECRET_STEMS.map(fold).join("|"), "u");
const WORDS = new Set(SECRET_WORDS.map(fold));
/** The phrases by their first word. */
const PHRASES = new Map<string, string[][]>();
for (const phrase of SECRET_PHRASES.map((entry) => entry.split(" ").map(fold))) {
  PHRASES.set(phrase[0]!, [...(PHRASES.get(phrase[0]!) ?? []), phrase]);
}
const ALONE = new Set(SECRET_ALONE);
const AFTER_ANY = new Set(HARMLESS_AFTER_ANY);
const AFTER_WORD = new Set([...HARMLESS_AFTER_ANY, ...HARMLESS_AFTER_WORD]);
const LEET: Readonly<Record<string, string>> = { "@": "a", $: "s", "0": "o", "1": "i", "3": "e", "4": "a" };
/** Stands between two clauses, so that "password: length 8" is not a password's length. */
const BREAK = "";

function secretAmong(list: readonly string[]): string | undefined {
  for (const [index, word] of list.entries()) {
    const stem = STEMS.exec(word);
    if (stem !== null && !word.startsWith("passwordless") && !AFTER_ANY.has(list[index + 1] ?? BREAK)) return stem[0];
    const found = phraseAt(list, index) ?? (WORDS.has(word) ? [word] : undefined);
    if (found === undefined || AFTER_WORD.has(list[index + found.length] ?? BREAK)) continue;
    const phrase = found.join(" ");
    if (!HARMLESS_BEFORE[phrase]?.includes(list[index - 1] ?? BREAK)) return phrase;
  }
  return undefined;
}

function phraseAt(list: readonly string[], start: number): readonly string[] | undefined {
  return PHRASES.get(list[start]!)?.find((phrase) =>
    phrase.every((word, offset) => {
      const have = list[start + offset];
      return have === word || (offset === phrase.length - 1 && have === `${word}s`);
    }),
  );
}

/** The folded words of a name or a text: camelCase, snake_case and kebab-case come apart. */
function words(text: string): string[] {
  return text
    .replace(/(\p{Ll}|\d)(?=\p{Lu})/gu, "$1 ")
    .replace(/(\p{Lu})(?=\p{Lu}\p{Ll})/gu, "$1 ")
    .replace(/[|.,:;!?()[\]\n]+/g, " | ")
    .split(/[^\p{L}\p{M}\p{N}|]+/u)
    .filter((word) => word !== "")
    .map((word) => (word === "|" ? BREAK : fold(word)));
}

/** Lower case, no accents, and Latin letters only in a word that mixes them with look-alikes. */
function fold(word: string): string {
  const plain = word
    .toLowerCase()
    .normalize("NFD")
    .replace(/[\u0300-\u036f]/g, "")
    .normalize("NFC")
    .replaceAll("ł", "l");
  if (!/[a-z]/.test(plain)) return plain;
  return plain.replace(/\p{Script=Cyrillic}/gu, (letter) => LOOK_ALIKES[letter] ?? letter);
}

/** `pin` as the last word of a name: "userPin", not "pinLocation" and not "mapPin". */
function isPinName(list: readonly string[]): boolean {
  const last = list.length - 1;
  return list[last] === "pin" && !["map", "gpio", "input", "output", "led"].includes(list[last - 1] ?? BREAK);
}

/** In prose only the abbreviation, or a possessive before it, is a number: "your pin", "PIN", not "pin this note". */
function saysPin(text: string): boolean {
  return (
    /(?<![\p{L}\p{N}])PIN(?![\p{L}\p{N}])/u.test(text) ||
    /\b(?:your|tu|su|seu|votre|ihre|deine|je|uw|jouw) pin\b/i.test(text)
  );
}
