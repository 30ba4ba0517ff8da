import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // CI adds up what ran (.ci/count.mjs).
    reporters: process.env["CI"] ? ["default", ["json", { outputFile: ".ci-out/vitest.json" }]] : ["default"],
  },
});
