/** Lines of a server's text inside a frame that every line carries, so no line of it can pass for the host's (T2). */
import { host, type Safe, say } from "../text.ts";

const GRAPHEMES = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const CHUNK_LENGTH = 256;
const FRAME = host("  ┃ ");
const FRAME_WIDTH = 4;
const INDENT = host("      ");
const MIN_WIDTH = 20;

/** Breaks `text` into framed lines of at most `columns` cells. */
export function framed(text: Safe, columns: number): Safe[] {
  return wrapText(text, columns - FRAME_WIDTH).map((line) => say`${FRAME}${line}`);
}

/**
 * Breaks the host's own line, with quoted server text in it, into lines of at most `columns` cells. What is carried
 * over is indented: a long title cannot begin a line of its own.
 */
export function wrapped(text: Safe, columns: number): Safe[] {
  const [first = host(""), ...rest] = wrapText(text, columns - INDENT.length);
  return [first, ...rest.map((line) => say`${INDENT}${line}`)];
}

/** Lines of at most `width` cells, broken after a space where there is one. */
function wrapText(text: Safe, width: number): Safe[] {
  const limit = Math.max(MIN_WIDTH, width);
  return text.split("\n").flatMap((line) => wrapLine(line, limit)) as Safe[];
}

function wrapLine(line: string, limit: number): string[] {
  const lines: string[] = [];
  let current = "";
  let cells = 0;
  let breakAt = -1;
  for (const segment of graphemes(line)) {
    const size = cellsOf(segment);
    if (cells + size > limit && current !== "") {
      const at = breakAt > 0 ? breakAt : current.length;
      lines.push(current.slice(0, at));
      current = current.slice(at);
      cells = cellsOf(current);
      breakAt = -1;
    }
    current += segment;
    cells += size;
    if (segment === " ") breakAt = current.length;
  }
  return [...lines, current];
}

/** The line's graphemes. A few at a time: the segmenter's time grows with the square of the text it is given. */
function* graphemes(line: string): Generator<string> {
  for (let start = 0; start < line.length; ) {
    const end = Math.min(line.length, start + CHUNK_LENGTH);
    const segments = Array.from(GRAPHEMES.segment(line.slice(start, end)), ({ segment }) => segment);
    // The last one may go on in the next chunk.
    if (end < line.length && segments.length > 1) segments.pop();
    for (const segment of segments) {
      start += segment.length;
      yield segment;
    }
  }
}

/**
 * Never fewer cells than a terminal uses, so a line cannot run over: no wide character lies below U+1100, and
 * combining marks count although they take none.
 */
function cellsOf(text: string): number {
  let cells = 0;
  for (const char of text) cells += (char.codePointAt(0) ?? 0) < 0x1100 || isNarrowSymbol(char) ? 1 : 2;
  return cells;
}

/** Punctuation, arrows, box drawing: U+2000 to U+25FF without the few wide ones (U+231A…). */
function isNarrowSymbol(char: string): boolean {
  const value = char.codePointAt(0) ?? 0;
  return (
    value >= 0x2000 && value <= 0x25ff && !/\p{Emoji_Presentation}/u.test(char) && value !== 0x2329 && value !== 0x232a
  );
}
