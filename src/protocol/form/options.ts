import type { FieldOption } from "./field-types.ts";
import { ownItems, ownProperties, ownStrings } from "./plain.ts";

/**
 * The choices a schema offers, in any spelling: `enum`, `enum` with `enumNames` (D10), `oneOf` or `anyOf` of
 * `const` and `title` (D8, D9). `undefined` if it offers none. A value offered twice is kept once, with its first
 * title: what would be sent is the same. `refuse` is called with the rule that a malformed list breaks.
 */
export function readOptions(
  schema: Readonly<Record<string, unknown>>,
  maxOptions: number,
  refuse: (rule: string, why: string) => never,
): readonly FieldOption[] | undefined {
  const spellings = ["enum", "oneOf", "anyOf"].filter((key) => schema[key] !== undefined);
  const spelling = spellings[0];
  if (spelling === undefined) return undefined;
  if (spellings.length > 1) refuse(spellings[1]!, "choices are spelled in two ways at once");
  const size = ownItems(schema[spelling])?.length ?? 0;
  if (size === 0) refuse(spelling, "the list of choices must not be empty");
  if (size > maxOptions) refuse("maxOptions", `more than ${maxOptions} choices`);
  const options = spelling === "enum" ? untitled(schema) : titled(schema[spelling]);
  if (options === undefined) return refuse(spelling, "every choice must be a text");
  const seen = new Set<string>();
  return options.filter(({ value }) => !seen.has(value) && seen.add(value));
}

function untitled(schema: Readonly<Record<string, unknown>>): FieldOption[] | undefined {
  const titles = ownItems(schema["enumNames"]) ?? [];
  return ownStrings(schema["enum"])?.map((value, index) => {
    const title = titles[index];
    return { value, title: typeof title === "string" ? title : value };
  });
}

function titled(list: unknown): FieldOption[] | undefined {
  const options: FieldOption[] = [];
  for (const item of ownItems(list) ?? []) {
    const { const: value, title } = ownProperties(item) ?? {};
    if (typeof value !== "string") return undefined;
    options.push({ value, title: typeof title === "string" ? title : value });
  }
  return options;
}
