/** How a secret looks once a server has put it into an address, a JSON text or a header. */

/** Longer texts are looked for as they are only. */
const LONGEST = 4096;
/** Shorter pieces of base64 would be found in texts that have nothing to do with the secret. */
const LEAST_BASE64 = 8;

/** The other forms of `text` to look for; none is `text` itself. */
export function disguisesOf(text: string): ReadonlySet<string> {
  if (text.length > LONGEST) return new Set();
  // A lone surrogate cannot be encoded.
  const whole = Buffer.from(text).toString();
  const percent = encodeURIComponent(whole);
  const form = new URLSearchParams([["", whole]]).toString().slice(1);
  const forms = [JSON.stringify(text).slice(1, -1), percent, form, ...base64Of(whole)];
  return new Set(forms.filter((one) => one !== text && one !== ""));
}

/**
 * What of the base64 of any text that has `text` in it is always the same: it depends on how many bytes are before, and
 * the digits at both ends hold bits of the neighbours.
 */
function base64Of(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes]);
    const [from, to] = [Math.ceil((8 * before) / 6), Math.floor((8 * all.length) / 6)];
    if (to - from < LEAST_BASE64) return [];
    return [all.toString("base64").slice(from, to), all.toString("base64url").slice(from, to)];
  });
}
