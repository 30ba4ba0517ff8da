/**
 * `npm run simulate`: compiles the simulator and the sources it runs to `.simulate/`, then runs it.
 * Not `dist/`: this way a run always tests the sources as they are, and never races with a build.
 */
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const OUT = `${ROOT}.simulate/`;

rmSync(OUT, { recursive: true, force: true });
const tsc = `${ROOT}node_modules/typescript/bin/tsc`;
const compiled = spawnSync(process.execPath, [tsc, "-p", `${ROOT}simulate/tsconfig.json`], { stdio: "inherit" });
if (compiled.status !== 0) process.exit(1);
const { main } = await import(`${OUT}simulate/cli.js`);
process.exitCode = await main(process.argv.slice(2));
