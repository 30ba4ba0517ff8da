/** What ships: every subpath loads from the built package, exports what it says and no more, and the archive is whole. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const manifest = JSON.parse(readFileSync("package.json", "utf8")) as {
  exports: Record<string, { types: string; default: string } | string>;
  peerDependenciesMeta?: Record<string, { optional: boolean }>;
};
const subpaths = Object.entries(manifest.exports).flatMap(([subpath, target]) =>
  typeof target === "string" ? [] : [[subpath, target] as const],
);

/** Frozen on purpose: any change here is a change of the public API, and belongs in CHANGELOG.md. */
const VALUES: Record<string, string[]> = {
  ".": [
    "ERROR_TABLE",
    "FlowDiverged",
    "InputCancelled",
    "InputDeclined",
    "InvalidAnswer",
    "ParleyError",
    "StepFailed",
    "createParley",
    "prompt",
    "resource",
    "tool",
  ],
  "./client": [
    "ERROR_TABLE",
    "ParleyError",
    "capabilitiesOf",
    "createCalls",
    "createInbox",
    "describeQuestion",
    "diffCalls",
    "inspectUrl",
    "leanHttpTransport",
    "memoryPending",
    "nameWarnings",
    "openAiModel",
    "policyResponders",
    "readPolicy",
    "readTranscript",
    "recordTo",
    "replayCall",
    "reportUsage",
    "samplingLimits",
    "samplingResponder",
    "systemClock",
    "terminalAvailable",
    "terminalResponders",
    "terminalTasks",
    "toolHarm",
    "visible",
  ],
  "./testing": [
    "ALL_CAPABILITIES",
    "accept",
    "cancel",
    "decline",
    "fakeClock",
    "no",
    "playFlow",
    "roots",
    "sampled",
    "startFlow",
    "yes",
  ],
  "./tasks/memory": ["memoryTasks"],
  "./tasks/postgres": ["postgresTasks"],
  "./tasks/redis": ["redisTasks"],
  "./tasks/sqlite": ["sqliteTasks"],
  "./ledger/memory": ["memoryLedger"],
  "./ledger/sqlite": ["sqliteLedger"],
  "./ledger/redis": ["redisLedger"],
  "./ledger/postgres": ["postgresLedger"],
  "./pending/sqlite": ["sqlitePending"],
};

describe("package", () => {
  it("lists exactly these subpaths", () =>
    expect(subpaths.map(([name]) => name).sort()).toEqual(Object.keys(VALUES).sort()));

  it.each(subpaths)("%s loads and exports its names", async (subpath, target) => {
    expect(existsSync(target.types)).toBe(true);
    const loaded = (await import(`${process.cwd()}/${target.default}`)) as object;
    expect(Object.keys(loaded).sort()).toEqual(VALUES[subpath]);
  });

  it("what createParley and parley.handler return has these members", async () => {
    const { createParley } = (await import(`${process.cwd()}/dist/index.js`)) as typeof import("../../src/index.ts");
    const parley = createParley({ callers: "anonymous", onEvent: () => undefined });
    expect(Object.keys(parley).sort()).toEqual([
      "close",
      "handler",
      "keyIds",
      "register",
      "runTasks",
      "taskSubscriptions",
      "tickets",
    ]);
    const handler = parley.handler({ name: "s", version: "1" });
    expect(Object.keys(handler).sort()).toEqual(["close", "fetch", "listener", "notify"]);
  });

  it("asks nobody to install a store's client", () => {
    for (const name of ["better-sqlite3", "graphile-worker", "ioredis", "pg"])
      expect(manifest.peerDependenciesMeta?.[name]?.optional).toBe(true);
  });

  it("packs the build, the command and the papers, and no source or test", () => {
    const packed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8" });
    const files = (JSON.parse(packed) as { files: { path: string }[] }[])[0]?.files.map(({ path }) => path) ?? [];
    for (const file of [
      "dist/index.js",
      "dist/cli/main.js",
      "dist/inbox/page/index.html",
      "dist/inbox/page/app.js",
      "dist/inbox/page/app.css",
      "schemas/policy.schema.json",
      "README.md",
      "LICENSE",
      "CHANGELOG.md",
    ])
      expect(files).toContain(file);
    const linked = [...readFileSync("README.md", "utf8").matchAll(/\]\((docs\/[^)#]+)/g)].map(([, path]) => path);
    expect(linked.length).toBeGreaterThan(5);
    expect(files).toEqual(expect.arrayContaining(linked));
    expect(files.filter((file) => /^(src|test|bench|examples)\//.test(file))).toEqual([]);
  });
});
