import { isObject } from "../../internal/json.ts";
import type { ParamHeader } from "./headers.ts";

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean", "number"]);

/**
 * The properties of a tool's input that headers repeat (`x-mcp-header`). Clients leave a tool with a bad declaration
 * out (G23), and the SDK warns of it when it lists tools; none of its headers is checked.
 */
export function paramHeaders(schema: unknown): readonly ParamHeader[] {
  const found: ParamHeader[] = [];
  if (!collect(schema, [], found)) return [];
  const names = new Set(found.map(({ name }) => name.toLowerCase()));
  return names.size === found.length ? found : [];
}

/** `false` for a declaration that does not count. */
function collect(schema: unknown, path: readonly string[], found: ParamHeader[]): boolean {
  if (!isObject(schema)) return true;
  const { "x-mcp-header": name, type, properties, ...rest } = schema;
  if (name !== undefined) {
    if (path.length === 0 || typeof name !== "string" || !TOKEN.test(name) || !TYPES.has(type)) return false;
    found.push({ path, name, type: String(type) });
  }
  // One that is anywhere but on a property of a property is not reachable.
  if (declaresAny(rest)) return false;
  return (
    !isObject(properties) || Object.entries(properties).every(([key, member]) => collect(member, [...path, key], found))
  );
}

function declaresAny(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "x-mcp-header" in value || Object.values(value).some(declaresAny);
}
