/**
 * Reading data that somebody else wrote. Each level is copied once into an object without a prototype, so that
 * inherited members, getters that change their answer and proxies cannot show one value to a check and another to
 * its user. Nothing here throws.
 */

/**
 * The own enumerable members of a plain object as a copy without a prototype; `undefined` for everything else.
 * Members that are `undefined` are left out, as JSON leaves them out.
 */
export function ownProperties(value: unknown): Readonly<Record<string, unknown>> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  try {
    if (Array.isArray(value) || !hasPlainPrototype(value)) return undefined;
    const copy: Record<string, unknown> = Object.create(null);
    for (const key of Object.keys(value)) {
      const member = (value as Record<string, unknown>)[key];
      if (member !== undefined) copy[key] = member;
    }
    return copy;
  } catch {
    return undefined;
  }
}

/** The items of an array as a copy; `undefined` for everything else. A hole reads as `undefined`. */
export function ownItems(value: unknown): readonly unknown[] | undefined {
  try {
    return Array.isArray(value) ? Array.from({ length: value.length }, (_, index) => value[index]) : undefined;
  } catch {
    return undefined;
  }
}

/** The items of an array of strings as a copy; `undefined` for everything else. */
export function ownStrings(value: unknown): readonly string[] | undefined {
  const items = ownItems(value);
  return items?.every((item) => typeof item === "string") ? (items as readonly string[]) : undefined;
}

/** `text` cut to at most `limit` code units, never inside a surrogate pair. */
export function bounded(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit - 1);
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

/** A property's name for a message: quoted, on one line, and not longer than a line. */
export function quoted(name: string): string {
  return JSON.stringify(bounded(name, 80));
}

/** True for `{}`, for objects without a prototype, and for plain objects of another realm. */
function hasPlainPrototype(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
