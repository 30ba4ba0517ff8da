/**
 * Compiles the fixtures, and the sources they use, to `.conformance/build`: the suite starts them as plain processes.
 * Not `dist/`: this way a run always tests the sources as they are, and never races with a build.
 */
import { execFileSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const WORK = `${ROOT}.conformance/`;
/** Where the compiled form of this folder is. */
export const BUILT = `${WORK}build/test/conformance/`;

export function build() {
  rmSync(`${WORK}build`, { recursive: true, force: true });
  const tsc = `${ROOT}node_modules/typescript/bin/tsc`;
  execFileSync(process.execPath, [tsc, "-p", `${ROOT}test/conformance/tsconfig.json`], { stdio: "inherit" });
}
