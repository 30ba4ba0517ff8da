import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Most of them wait for processes and timers: on two cores, one at a time would leave both idle.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // CI adds up what ran (.ci/count.mjs).
    reporters: process.env["CI"] ? ["default", ["json", { outputFile: ".ci-out/vitest.json" }]] : ["default"],
  },
});
