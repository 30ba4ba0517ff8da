/** What every function with options checks of them alike. */
import { ParleyError } from "../errors.ts";
import { isObject } from "./json.ts";

/**
 * That options are an object, and that no name in it would be ignored: it is a misspelling, and what it should have set would
 * keep its default in silence.
 * @param where The function they are given to, for messages.
 * @param names Has every name there is.
 * @param group The option whose members these are, such as `tasks`.
 * @throws ParleyError `configuration`, naming the option
 */
export function checkNames(where: string, given: unknown, names: object, group?: string): void {
  if (!isObject(given)) {
    throw badOption(where, group ?? "options", "must be an object; {} takes the defaults");
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name)) continue;
    const option = group === undefined ? name : `${group}.${name}`;
    throw badOption(where, option, `is unknown; there are ${Object.keys(names).join(", ")}`);
  }
}

export function badOption(where: string, option: string, rule: string): ParleyError {
  const what = option === "options" ? option : `option ${option}`;
  return new ParleyError("configuration", `${where}: ${what} ${rule}.`, { details: { option } });
}
