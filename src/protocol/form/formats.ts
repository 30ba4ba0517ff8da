/**
 * The four string formats of a form (D5), asserted on both sides (L28). Every check takes time linear in its input:
 * no pattern here repeats a group.
 */
import type { StringFormat } from "../types.ts";

export const FORMATS: readonly StringFormat[] = ["email", "uri", "date", "date-time"];

/** What a person is told when a text does not have the format. */
export const FORMAT_REASONS: Readonly<Record<StringFormat, string>> = {
  email: "must be an e-mail address such as name@example.com",
  uri: "must be an absolute URI in ASCII such as https://example.com/path",
  date: "must be a calendar date such as 2026-07-28",
  "date-time": "must be a date and time with an offset such as 2026-07-28T09:30:00Z",
};

/** True if `text` has the format `format`. */
export function hasFormat(format: StringFormat, text: string): boolean {
  switch (format) {
    case "email":
      return isEmail(text);
    case "uri":
      return isUri(text);
    case "date":
      return isDate(text);
    case "date-time":
      return isDateTime(text);
  }
}

/**
 * What a browser's e-mail field accepts (WHATWG HTML, "valid e-mail address"), within the length limits of RFC 5321
 * and without its misplaced dots.
 */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf("@");
  if (at < 1 || at > 64 || text.length > 254) return false;
  const local = text.slice(0, at);
  if (!/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+$/.test(local)) return false;
  if (local.startsWith(".") || local.endsWith(".") || local.includes("..")) return false;
  return text
    .slice(at + 1)
    .split(".")
    .every((label) => label.length <= 63 && /^[A-Za-z0-9-]+$/.test(label) && !/^-|-$/.test(label));
}

/**
 * An absolute URI of RFC 3986 that the WHATWG parser reads too. The parser alone is too kind: it mends other
 * characters, stray percent signs, brackets and a second "#".
 */
function isUri(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:[A-Za-z0-9._~:/?#[\]@!$&'()*+,;=%-]*$/.test(text)) return false;
  if (/%(?![0-9A-Fa-f]{2})/.test(text) || text.indexOf("#") !== text.lastIndexOf("#")) return false;
  // Brackets enclose an IPv6 address, and stand nowhere else.
  const authority = /^[^:]*:\/\/([^/?#]*)/.exec(text)?.[1] ?? "";
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const brackets = (part: string) => part.split(/[[\]]/).length - 1;
  return brackets(text) === brackets(host) && URL.canParse(text);
}

/** RFC 3339 `full-date`, and a day that exists. */
function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** RFC 3339 `date-time`; a leap second only where UTC can have one. */
function isDateTime(text: string): boolean {
  if (!isDate(text.slice(0, 10))) return false;
  const time = /^[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/.exec(text.slice(10));
  if (time === null) return false;
  const [hour, minute, second] = [Number(time[1]), Number(time[2]), Number(time[3])];
  const [offsetHour, offsetMinute] = [Number(time[5] ?? 0), Number(time[6] ?? 0)];
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const offset = (time[4] === "-" ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  const minutesOfDay = 24 * 60;
  return (hour * 60 + minute - offset + 2 * minutesOfDay) % minutesOfDay === minutesOfDay - 1;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
