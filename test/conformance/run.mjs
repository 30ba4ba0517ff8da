/**
 * `npm run conformance`: the official suite against our fixture server, on both mounts, and against our driver, for one
 * revision.
 * Fails on any failed check, any warning, any client that ends badly, and any number of scenarios but the known ones.
 *
 * `node test/conformance/run.mjs [scenario ...]` runs some scenarios only.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { BUILT, build, ROOT, WORK } from "./build.mjs";
import { list, readResults, suite, version } from "./suite.mjs";

const SUITE = "0.2.0-alpha.12";
const REVISION = "2026-07-28";
const SCENARIOS = { server: 40, tasks: 9, client: 33 };
/** Of the tasks extension; a tenth is skipped by the suite itself. */
const TASKS = [
  "tasks-lifecycle",
  "tasks-capability-negotiation",
  "tasks-wire-fields",
  "tasks-request-state-removal",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-dispatch-and-envelope",
  "tasks-required-task-error",
  "tasks-mrtr-composition",
];
const MOUNTS = ["sdk", "native"];
const RESULTS = `${WORK}results`;
const only = process.argv.slice(2);

if (version() !== SUITE) throw new Error(`This run is written for suite ${SUITE}, not ${version()}.`);
rmSync(RESULTS, { recursive: true, force: true });
mkdirSync(RESULTS, { recursive: true });
build();

const nothing = `${RESULTS}/no-expected-failures.yaml`;
writeFileSync(nothing, "server: []\nclient: []\n");

const started = Date.now();
const sides = [];
for (const mount of MOUNTS) sides.push(report("server", await runServer(mount), `server-${mount}`));
for (const mount of MOUNTS) sides.push(report("tasks", await runTasks(mount), `tasks-${mount}`));
sides.push(report("client", await runClient(), "client"));
const passed = sides.reduce((sum, side) => sum + side.passed, 0);
const failed = sides.reduce((sum, side) => sum + side.failed, 0);
print(`${passed} scenarios passed, ${failed} failed, in ${Math.round((Date.now() - started) / 1000)} s`);
if (failed > 0) process.exitCode = 1;
if (process.env.CI) {
  // CI adds up what ran (.ci/count.mjs).
  mkdirSync(`${ROOT}.ci-out`, { recursive: true });
  writeFileSync(`${ROOT}.ci-out/conformance.json`, JSON.stringify({ passed, failed }));
}

/** With an empty list of expected failures the suite counts warnings, too; without the list it ignores them. */
async function runServer(mount) {
  const names = await wanted("server");
  const fixtures = await import(`${BUILT}server/start.js`);
  const { url, close } = await fixtures.MOUNTS[mount]();
  const shared = ["server", "--url", url, "--spec-version", REVISION, "-o", `${RESULTS}/server-${mount}`];
  const scope = only.length === 0 ? [["--suite", "all"]] : names.map((name) => ["--scenario", name]);
  const runs = [];
  for (const some of scope) runs.push(await suite(...shared, ...some, "--expected-failures", nothing));
  await close();
  return { names, failed: runs.filter(({ code }) => code !== 0) };
}

/** Extension scenarios belong to no revision, so they are named one by one. */
async function runTasks(mount) {
  const names = only.length === 0 ? TASKS : TASKS.filter((name) => only.includes(name));
  if (names.length === 0) return { names, failed: [] };
  const fixtures = await import(`${BUILT}server/start.js`);
  const { url, close } = await fixtures.MOUNTS[mount]();
  const shared = ["server", "--url", url, "-o", `${RESULTS}/tasks-${mount}`, "--expected-failures", nothing];
  const failed = [];
  for (const name of names) {
    const run = await suite(...shared, "--scenario", name);
    if (run.code !== 0) failed.push(run);
  }
  await close();
  return { names, failed };
}

/** One process of the suite per scenario: only then does it mind how the client ended. */
async function runClient() {
  const names = await wanted("client");
  const waiting = [...names];
  const failed = [];
  // The suite splits the command at spaces, so the path must have none: it is relative to the project.
  const command = `node ${BUILT.slice(ROOT.length)}client/main.js`;
  const shared = ["client", "--command", command, "--spec-version", REVISION];
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const run = await suite(...shared, "--scenario", name, "-o", `${RESULTS}/client`);
      if (run.code !== 0) failed.push(run);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return { names, failed };
}

async function wanted(side) {
  const names = await list(side, REVISION);
  return only.length === 0 ? names : names.filter((name) => only.includes(name));
}

/** Prints what went wrong and counts scenarios. One that did not run, or ran besides the known ones, has failed. */
function report(side, { names, failed: runs }, folder) {
  const results = names.length === 0 ? [] : readResults(`${RESULTS}/${folder}`);
  const expected = only.length === 0 ? SCENARIOS[side] : names.length;
  for (const { output } of runs) print(output);
  for (const { path, bad } of results) {
    for (const { id, status, errorMessage, description } of bad) {
      print(`${status} ${path}: ${id}: ${errorMessage ?? description}`);
    }
  }
  const good = results.filter(({ bad }) => bad.length === 0).length;
  const checks = results.reduce((sum, { passed }) => sum + passed, 0);
  print(`${folder}: ${good}/${expected} scenarios, ${checks} checks passed, ${runs.length} runs failed`);
  return { passed: good, failed: Math.max(runs.length, Math.abs(expected - good), results.length - good) };
}

function print(line) {
  process.stdout.write(`${line}\n`);
}
