// npm run bench [-- --json FILE] [--only NAME]: every case beside its peer, in the same run.
import { existsSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { load, machine, printTable, versions } from "./lib/report.mjs";

const CASES = [
  "request",
  "two-round",
  "driver",
  "tools",
  "entries",
  "memory",
  "cold",
  "profile",
  "claims",
  "round-cost",
  "journal",
  "dbos",
  "seal",
];

const { values } = parseArgs({ options: { json: { type: "string" }, only: { type: "string", multiple: true } } });
const chosen = values.only ?? CASES;
const unknown = chosen.filter((name) => !CASES.includes(name));
if (unknown.length > 0) fail(`no case ${unknown.join(", ")}; there are ${CASES.join(", ")}`);
if (!existsSync(new URL("../dist/index.js", import.meta.url))) fail('run "npm run build" first');

const report = { date: new Date().toISOString(), machine: machine(), versions: versions(), cases: {} };
const { cpu, cores, memoryGiB, system } = report.machine;
console.log(`${report.date}  ${cpu}, ${cores} cores, ${memoryGiB} GiB, ${system}`);
console.log(
  Object.entries(report.versions)
    .map((pair) => pair.join(" "))
    .join(", "),
);

for (const name of chosen) {
  const { run } = await import(`./cases/${name}.mjs`);
  const loadBefore = load();
  const begun = performance.now();
  const { tables, versions: found = {}, skipped } = await attempt(run);
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const loadAfter = load();
  report.cases[name] = { seconds, loadBefore, loadAfter, versions: found, tables, skipped };
  const more = Object.entries(found).map((pair) => `; ${pair.join(" ")}`);
  console.log(
    `\n== ${name}: ${seconds} s; load average ${loadBefore[0]} before, ${loadAfter[0]} after${more.join("")}`,
  );
  if (skipped !== undefined) console.log(`  skipped: ${skipped}`);
  for (const table of tables) printTable(table);
}
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);

/** A case whose peer or server is not here is skipped by name; everything else that goes wrong ends the run. */
async function attempt(run) {
  try {
    return await run();
  } catch (error) {
    if (error?.constructor?.name !== "Missing") throw error;
    return { tables: [], skipped: error.message };
  }
}

function fail(message) {
  console.error(`bench: ${message}`);
  process.exit(2);
}
