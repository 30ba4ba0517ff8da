/**
 * Text of a server, made fit to be shown to a person (presentation rules T1 to T3, U1 to U3, F4, F5).
 *
 * Everything that is not plainly visible is replaced by its code point in angle brackets, `⟨U+202E⟩`. Nothing is
 * stripped: what was hidden is the very thing the person must see. The opening bracket itself is escaped too, so a
 * server cannot write something that looks like an escape of ours.
 */

declare const safe: unique symbol;

/** Text that may be handed to a terminal, a page or a log. Made only by this module. */
export type Safe = string & { readonly [safe]: true };

/** Escaped text with what a person should be told about it, in the host's own words. */
export interface SafeText {
  readonly text: Safe;
  readonly warnings: readonly Safe[];
}

/** Bounds of {@link visible}. */
export interface VisibleOptions {
  /** Code points of the source shown at most; the rest is counted, never dropped silently. Default 2000. */
  maxLength?: number;
  /** Line feeds stay line breaks; otherwise they are shown as U+000A. Default false. */
  multiline?: boolean;
  /** Lines shown at most when `multiline`. Default 40. */
  maxLines?: number;
  /** Break web addresses visibly, so that no terminal makes them clickable (F5). Default false. */
  inertLinks?: boolean;
}

/**
 * What is never shown as it is: controls, format characters, separators, private use, surrogates and unassigned code
 * points; the default-ignorable letters and marks `\p{Cf}` misses (Hangul fillers, U+034F, variation selectors); the
 * Braille blank; and our own opening bracket.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800\u27e8]/u;
const MARK = /\p{M}/u;
const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** What makes a terminal see a link. Fixed words only: a pattern for any scheme takes quadratic time on long words. */
const LINK = /:(?=\/\/)|\bwww(?=\.)|\b(?:mailto|javascript|data)(?=:)/giu;

/** Marks shown on one base letter; Tibetan, Hebrew and Thai stay below this, a flood does not. */
const MAX_MARKS = 5;

const CONTROL_WARNING = host("contains control characters, shown as ⟨U+…⟩");
const BIDI_WARNING = host("contains characters that reorder text, shown as ⟨U+…⟩");
const INVISIBLE_WARNING = host("contains invisible characters, shown as ⟨U+…⟩");
const MARKS_WARNING = host("contains a flood of combining marks");
const LONG_WARNING = host("is not shown whole");
const LINK_WARNING = host("contains a web address; it is text, do not follow it");

/** Escapes `text` to visible form. Never throws; the result holds no hidden character except host line breaks. */
export function visible(text: string, options: VisibleOptions = {}): SafeText {
  const { maxLength = 2000, multiline = false, maxLines = 40, inertLinks = false } = options;
  const warnings = new Set<Safe>();
  const links = inertLinks ? linkBreaks(text, maxLength) : new Set<number>();
  if (links.size > 0) warnings.add(LINK_WARNING);

  let shown = "";
  let count = 0;
  let lines = 1;
  let marks = MAX_MARKS; // a mark without a base would sit on the host's own text: as if the base were used up
  let hiddenMarks = 0;
  let offset = 0;
  const flushMarks = () => {
    if (hiddenMarks > 0) shown += `⟨${hiddenMarks} more ${hiddenMarks === 1 ? "mark" : "marks"}⟩`;
    hiddenMarks = 0;
  };
  for (const char of text) {
    if (count >= maxLength || (multiline && char === "\n" && lines >= maxLines)) break;
    count += 1;
    if (links.has(offset)) {
      flushMarks();
      shown += "⟨link⟩";
      marks = MAX_MARKS;
    }
    offset += char.length;
    if (MARK.test(char) && !HIDDEN.test(char)) {
      if (marks < MAX_MARKS) {
        marks += 1;
        shown += char;
      } else {
        hiddenMarks += 1;
        warnings.add(MARKS_WARNING);
      }
      continue;
    }
    flushMarks();
    if (multiline && char === "\n") {
      lines += 1;
      shown += "\n";
      marks = MAX_MARKS;
    } else if (HIDDEN.test(char)) {
      shown += codePoint(char);
      marks = MAX_MARKS;
      if (char !== "⟨") warnings.add(warningFor(char));
    } else {
      shown += char;
      marks = 0;
    }
  }
  flushMarks();
  const rest = text.slice(offset);
  if (rest !== "") {
    shown += ` … (${restOf(rest, multiline)})`;
    warnings.add(LONG_WARNING);
  }
  return { text: shown as Safe, warnings: [...warnings] };
}

/** Escaped on one line, without the warnings. */
export function inline(text: string, maxLength = 200): Safe {
  return visible(text, { maxLength }).text;
}

/** As {@link inline}, with web addresses broken (F5). */
export function inert(text: string, maxLength = 200): Safe {
  return visible(text, { maxLength, inertLinks: true }).text;
}

/** The host's own words as a {@link Safe}: for literals in this program only, never for text from elsewhere. */
export function host<const T extends string>(literal: string extends T ? never : T): Safe {
  return literal as string as Safe;
}

/** The host's own words with safe text and numbers in between. */
export function say(words: TemplateStringsArray, ...values: readonly (Safe | number)[]): Safe {
  return words.reduce((text, word, index) => `${text}${values[index - 1]}${word}`) as Safe;
}

/** Joins safe pieces with a literal. */
export function join(pieces: readonly Safe[], separator: ", " | "\n" | "" | " · "): Safe {
  return pieces.join(separator) as Safe;
}

function codePoint(char: string): string {
  const value = char.codePointAt(0) ?? 0;
  return `⟨U+${value.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}

function warningFor(char: string): Safe {
  if (BIDI.test(char)) return BIDI_WARNING;
  return /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(char) ? CONTROL_WARNING : INVISIBLE_WARNING;
}

function restOf(rest: string, multiline: boolean): string {
  let characters = 0;
  let lines = 0;
  for (const char of rest) {
    characters += 1;
    if (char === "\n") lines += 1;
  }
  const count = characters === 1 ? "1 more character" : `${characters} more characters`;
  return multiline && lines > 0 ? `${count}, ${lines} more ${lines === 1 ? "line" : "lines"}` : count;
}

/** The offsets at which a visible break keeps a terminal from seeing a link. */
function linkBreaks(text: string, maxLength: number): Set<number> {
  // Twice the shown length bounds the work: a code point takes at most two units.
  return new Set([...text.slice(0, maxLength * 2).matchAll(LINK)].map((match) => match.index + match[0].length));
}
