/**
 * Globs of a policy: `*` stands for any characters, none included; everything else for itself, case and all. Anchored
 * at both ends. There are no regular expressions here: what they are held against may be the server's own text, and
 * a pattern that backtracks hangs the host (F3); an unanchored one matches more than its author meant.
 */

/** Characters (code points) of a pattern. With it bounded, matching takes time linear in the text. */
export const MAX_GLOB = 256;

/** Whether the whole of `text` matches. The leftmost place for each piece is as good as any, so nothing is retried. */
export function globMatches(pattern: string, text: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const piece of rest) {
    const found = text.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return text.length - last.length >= at && text.endsWith(last);
}
