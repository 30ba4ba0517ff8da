// What is printed and written: where it ran, and tables.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { arch, cpus, loadavg, release, totalmem, type } from "node:os";
import { round } from "./measure.mjs";

const PACKAGES = ["@modelcontextprotocol/server", "better-sqlite3", "ioredis", "pg"];

export function machine() {
  const [cpu] = cpus();
  return {
    cpu: cpu.model.trim(),
    cores: cpus().length,
    memoryGiB: round(totalmem() / 2 ** 30),
    system: `${type()} ${release()} ${arch()}`,
  };
}

export function versions() {
  return { node: process.versions.node, "mcp-parley": own(), ...Object.fromEntries(PACKAGES.map(version)) };
}

function own() {
  return JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")).version;
}

/** Of an installed package, whether or not it exports its package.json. */
function version(name) {
  for (const folder of createRequire(import.meta.url).resolve.paths(name)) {
    try {
      return [name, JSON.parse(readFileSync(`${folder}/${name}/package.json`, "utf8")).version];
    } catch {}
  }
  return [name, "missing"];
}

/** Load averages over 1, 5 and 15 minutes: how far the figures can be trusted. */
export function load() {
  return loadavg().map((value) => round(value, 1));
}

/** Rows are objects; the columns are the keys of all of them, in order. */
export function printTable({ title, rows }) {
  const columns = [...new Set(rows.flatMap(Object.keys))];
  const cells = [columns, ...rows.map((row) => columns.map((column) => text(row[column])))];
  const widths = columns.map((_, at) => Math.max(...cells.map((line) => line[at].length)));
  console.log(`\n${title}`);
  for (const line of cells) {
    const padded = line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]) : cell.padStart(widths[at])));
    console.log(`  ${padded.join("  ")}`);
  }
}

function text(value) {
  if (value === undefined) return "";
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : String(value);
}
