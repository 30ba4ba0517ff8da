/** Reading a member of a policy file: every complaint names the place and how to mend it, and repeats no value. */
import { ParleyError } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { isProperty } from "./pointer.ts";

/** Where in the file: `rules[3].when.tool`. */
export class Place {
  readonly path: string;

  constructor(path = "") {
    this.path = path;
  }

  /** The member `name` of what is here. */
  at(name: string | number): Place {
    if (typeof name === "number") return new Place(`${this.path}[${name}]`);
    if (!isProperty(name)) return new Place(`${this.path}[${JSON.stringify(name)}]`);
    return new Place(this.path === "" ? name : `${this.path}.${name}`);
  }

  /** @throws ParleyError `configuration` with `path` and `remedy` in its details. */
  refuse(what: string, remedy: string): never {
    const where = this.path === "" ? "the policy" : this.path;
    throw new ParleyError("configuration", `${where} ${what}: ${remedy}.`, {
      details: { path: this.path, what, remedy },
    });
  }

  /** An object with these members and no others. */
  object<const N extends string>(value: unknown, names: readonly N[]): Partial<Record<N, unknown>> {
    const object = this.map(value);
    const unknown = Object.keys(object).find((name) => !(names as readonly string[]).includes(name));
    if (unknown !== undefined) this.at(unknown).refuse("is not known here", `write one of ${names.join(", ")}`);
    return object as Partial<Record<N, unknown>>;
  }

  /** An object with any members. */
  map(value: unknown): Readonly<Record<string, unknown>> {
    return isObject(value) ? value : this.refuse("is not an object", "write { ... }");
  }

  list(value: unknown, least: number, most: number): readonly unknown[] {
    if (!Array.isArray(value)) return this.refuse("is not a list", "write [ ... ]");
    if (value.length < least) this.refuse("is empty", "write at least one entry, or leave it out");
    return value.length > most ? this.refuse("is too long", `write at most ${most} entries`) : value;
  }

  /** Text of 1 to `most` characters. */
  text(value: unknown, most: number): string {
    if (typeof value !== "string") return this.refuse("is not text", "write a string");
    if (value === "") return this.refuse("is empty", "write at least one character");
    return [...value].length > most ? this.refuse("is too long", `write at most ${most} characters`) : value;
  }

  oneOf<const V extends string>(value: unknown, values: readonly V[]): V {
    const found = values.find((one) => one === value);
    return found ?? this.refuse("is none of the words it may be", `write one of ${values.join(", ")}`);
  }

  /** The list without repetitions. */
  distinct(values: readonly string[]): readonly string[] {
    return new Set(values).size === values.length ? values : this.refuse("repeats an entry", "write each once");
  }
}
