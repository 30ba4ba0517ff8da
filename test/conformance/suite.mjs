import { spawn } from "node:child_process";
import * as fs from "node:fs";
import { ROOT, WORK } from "./build.mjs";

const HOME = process.env.PARLEY_CONFORMANCE_DIR ?? `${ROOT}node_modules/@modelcontextprotocol/conformance`;

/** The version of the suite in use. Results of another one mean something else. */
export function version() {
  if (!fs.existsSync(`${HOME}/package.json`)) throw new Error(`The conformance suite is not in ${HOME}. Run npm ci.`);
  return JSON.parse(fs.readFileSync(`${HOME}/package.json`, "utf8")).version;
}

/**
 * The suite's program. On Node 20 it does not load: its bundle imports `globSync`, which came with Node 22, for one
 * command that we do not use. There, a copy without that import is used; what npm installed stays as it is.
 */
function program() {
  const original = `${HOME}/dist/index.js`;
  if (fs.globSync !== undefined) return original;
  const folder = `${WORK}suite`;
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  fs.symlinkSync(fs.realpathSync(`${HOME}/../..`), `${folder}/node_modules`, "junction");
  const source = fs.readFileSync(original, "utf8");
  fs.writeFileSync(`${folder}/index.js`, source.replace(/\bglobSync as \w+,/, ""));
  return `${folder}/index.js`;
}

let resolved;

/** Runs one command of the suite; never rejects. */
export function suite(...args) {
  resolved ??= program();
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [resolved, ...args], { cwd: ROOT });
    let output = "";
    child.stdout.on("data", (chunk) => (output += chunk));
    child.stderr.on("data", (chunk) => (output += chunk));
    child.on("close", (code) => resolve({ code, output }));
  });
}

/** Names of the scenarios that apply to `revision`. */
export async function list(side, revision) {
  const { output } = await suite("list", `--${side}`, "--spec-version", revision);
  return [...output.matchAll(/^ +- (\S+)/gm)].map(([, name]) => name);
}

/** What the suite saved below `folder`: per scenario, how many checks passed and every check that is not as it must be. */
export function readResults(folder) {
  if (!fs.existsSync(folder)) return [];
  return fs
    .readdirSync(folder, { recursive: true })
    .filter((path) => path.endsWith("checks.json"))
    .map((path) => {
      const checks = JSON.parse(fs.readFileSync(`${folder}/${path}`, "utf8"));
      const bad = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
      const passed = checks.filter(({ status }) => status === "SUCCESS").length;
      return { path, passed, bad };
    });
}
