/** JSON pointers (RFC 6901): how a rule names one argument. */

const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/u;
const INDEX = /^(?:0|[1-9]\d*)$/;

/** The steps of a pointer, or `undefined` when it is none. */
export function pointerPath(pointer: string): readonly string[] | undefined {
  if (!POINTER.test(pointer)) return undefined;
  const [, ...steps] = pointer.split("/");
  return steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** What the steps lead to; `found` is false where they lead nowhere. Own members only (F4). */
export function resolvePointer(
  value: unknown,
  path: readonly string[],
): { readonly found: true; readonly value: unknown } | { readonly found: false } {
  let here = value;
  for (const step of path) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, step)) return { found: false };
    if (Array.isArray(here) && !INDEX.test(step)) return { found: false };
    here = (here as Record<string, unknown>)[step];
  }
  return { found: true, value: here };
}

/** Fit to stand after a dot. */
export function isProperty(name: string): boolean {
  return /^[A-Za-z_$][\w$]*$/.test(name);
}
