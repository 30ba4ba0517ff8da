/** Loads an optional peer dependency at the moment a store is asked to open its own client. */
import { createRequire } from "node:module";
import { ParleyError } from "../errors.ts";

const require = createRequire(import.meta.url);

/** @throws ParleyError `configuration` that names the package to install */
export function loadPeer(name: string, forWhat: string): unknown {
  try {
    return require(name);
  } catch (cause) {
    const missing = (cause as { code?: unknown }).code === "MODULE_NOT_FOUND";
    const why = missing ? `install it: npm install ${name}` : `it is installed but does not load`;
    throw new ParleyError("configuration", `${forWhat} needs the package "${name}"; ${why}.`, { cause });
  }
}
