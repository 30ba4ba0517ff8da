import { createRequire } from "node:module";

/** This package's version. The path is the same from `src/cli` and from `dist/cli`. */
export const VERSION = (createRequire(import.meta.url)("../../package.json") as { version: string }).version;
