// Adds up what ran and prints the one line that CI reads. Exits with 1 when anything failed or did not run.
import { readFileSync } from "node:fs";

const read = (file) => {
  try {
    return JSON.parse(readFileSync(new URL(`../.ci-out/${file}`, import.meta.url), "utf8"));
  } catch {
    return undefined;
  }
};

const tests = read("vitest.json");
const conformance = read("conformance.json");
const passed = (tests?.numPassedTests ?? 0) + (conformance?.passed ?? 0);
let failed = (tests?.numFailedTests ?? 0) + (conformance?.failed ?? 0);
// A step that fails without a failed test (install, types, lint, a suite that does not load) must count, too.
if (process.argv[2] !== "0" && failed === 0) failed = 1;
if (tests === undefined || conformance === undefined) failed = Math.max(failed, 1);
if (failed > 0) process.exitCode = 1;
console.log(`${passed} passed, ${failed} failed`);
