/** What a person typed, read as a value. */

/** A decimal number as people write it; no hexadecimal, no `Infinity`, no empty text. */
export function parseNumber(text: string): number | undefined {
  if (!/^\s*[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?\s*$/i.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}
