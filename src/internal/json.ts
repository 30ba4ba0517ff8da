import { ParleyError } from "../errors.ts";
import type { Json } from "../protocol/types.ts";

/**
 * The value that the JSON text of `value` reads back as, without writing the text.
 *
 * `undefined` members are left out and `toJSON` is honoured, as `JSON.stringify` does; what it would drop or change in
 * silence (functions, symbols, bigint, NaN, infinities, `undefined` in arrays, Map, Set, Error, cycles) is refused.
 *
 * @throws ParleyError `step_value`, with the path of the offending part.
 */
export function toJson(value: unknown, path: string): Json {
  return copy(value, path, []);
}

function copy(value: unknown, path: string, above: object[]): Json {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) refuse(path, String(value));
      return value === 0 ? 0 : value;
    case "object":
      return value === null ? null : copyObject(value, path, above);
    default:
      return refuse(path, typeof value);
  }
}

function copyObject(value: object, path: string, above: object[]): Json {
  if (above.includes(value)) refuse(path, "a cycle");
  const custom = (value as { toJSON?: unknown }).toJSON;
  const inside = [...above, value];
  if (typeof custom === "function") return copy(custom.call(value, ""), path, inside);
  if (Array.isArray(value)) return Array.from(value, (item, index) => copy(item, `${path}[${index}]`, inside));
  const tag = Object.prototype.toString.call(value);
  if (tag !== "[object Object]") refuse(path, tag.slice(8, -1));
  const out: { [key: string]: Json } = {};
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    const copied = copy(member, `${path}.${key}`, inside);
    // An own "__proto__" must stay data, as JSON.parse makes it.
    if (key === "__proto__") Object.defineProperty(out, key, { value: copied, enumerable: true, writable: true });
    else out[key] = copied;
  }
  return out;
}

function refuse(path: string, what: string): never {
  throw new ParleyError("step_value", `JSON cannot carry ${what} at ${path}. Return plain JSON from the step.`, {
    details: { path, what },
  });
}

/** A plain object: what JSON calls an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
