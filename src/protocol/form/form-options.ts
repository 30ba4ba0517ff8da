import { ParleyError } from "../../errors.ts";
import { ownStrings } from "./plain.ts";

export interface FormOptions {
  /** Properties that look like a request for a secret and are none (D14). Default: none. */
  readonly allowSecretLooking?: readonly string[];
  /** Properties whose title, description or option titles may hold a web address (D15). Default: none. */
  readonly allowUrls?: readonly string[];
  /** Emit the legacy `enumNames` spelling (D10). Default false. */
  readonly legacyEnumNames?: boolean;
  /** Most properties of a form. Default 100. */
  readonly maxProperties?: number;
  /** Most options of a choice. Default 500. */
  readonly maxOptions?: number;
}

/** {@link FormOptions} with its defaults. */
export type ResolvedFormOptions = Required<FormOptions>;

/** @throws ParleyError "configuration" for an option that is no list of names, no switch or no positive whole number. */
export function resolveFormOptions(options?: FormOptions): ResolvedFormOptions {
  return options === undefined ? DEFAULTS : resolve(options);
}

function resolve(options: FormOptions): ResolvedFormOptions {
  const {
    allowSecretLooking = [],
    allowUrls = [],
    legacyEnumNames = false,
    maxProperties = 100,
    maxOptions = 500,
  } = options;
  const resolved = { allowSecretLooking, allowUrls, legacyEnumNames, maxProperties, maxOptions };
  for (const [name, value] of Object.entries(resolved)) {
    const fits =
      typeof value === "number"
        ? Number.isSafeInteger(value) && value > 0
        : typeof value === "boolean" || ownStrings(value) !== undefined;
    const expected = name.startsWith("allow") ? "object" : name.startsWith("max") ? "number" : "boolean";
    if (!fits || typeof value !== expected) throw new ParleyError("configuration", `Form option "${name}" is invalid.`);
  }
  return resolved;
}

const DEFAULTS = resolve({});
