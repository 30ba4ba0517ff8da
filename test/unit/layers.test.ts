/** The dependency rule: one direction, and the pure parts import no runtime. ARCHITECTURE.md draws the same table. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** Folder (or file) under src -> what it may import from. */
const ALLOWED: Record<string, string[]> = {
  errors: [],
  internal: ["errors", "protocol"],
  protocol: ["errors", "internal"],
  journal: ["errors", "protocol"],
  replay: ["errors", "internal", "journal", "protocol"],
  state: ["errors", "protocol"],
  flow: ["errors", "internal", "protocol", "replay", "state"],
  store: ["errors", "internal"],
  ledger: ["errors", "store"],
  tasks: ["errors", "internal", "store"],
  server: ["ledger", "tasks", "store", "errors", "internal", "protocol", "journal", "replay", "state", "flow"],
  calls: ["errors", "internal", "protocol", "transport"],
  transport: ["errors", "internal", "protocol"],
  sampling: ["errors", "internal", "protocol", "calls"],
  present: ["errors", "internal", "protocol", "calls", "sampling"],
  pending: ["errors", "protocol", "calls", "state", "store"],
  policy: ["errors", "internal", "protocol", "calls", "present"],
  transcript: ["errors", "internal", "protocol", "calls"],
  inbox: ["errors", "internal", "protocol", "calls", "sampling", "present", "pending", "policy"],
  testing: ["errors", "protocol", "flow", "server"],
  cli: [
    ...["errors", "internal", "protocol", "flow", "server", "state", "calls", "sampling", "present"],
    ...["transport", "pending", "policy", "transcript", "inbox"],
  ],
  demo: ["errors", "internal", "protocol", "flow", "server", "state", "calls", "present", "cli"],
};
/** Public entries: they gather, and nothing imports them. */
const ENTRIES = ["index", "client", "testing"];
const PURE = ["errors", "internal", "protocol", "journal", "replay", "flow"];

const files = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((path) => /\.tsx?$/.test(path))
  .map((path) => `src/${path.replaceAll("\\", "/")}`);
const layerOf = (path: string) => path.replace(/^src\//, "").replace(/(\/.*|\.tsx?)$/, "");
const importsOf = (path: string) =>
  [...readFileSync(path, "utf8").matchAll(/^(?:import|export)[^;]*?from "([^"]+)"/gms)].map(
    (match) => match[1] as string,
  );
const resolve = (from: string, to: string) => new URL(to, `file:///${from}`).pathname.slice(1);

describe("dependency rule", () => {
  it("finds the source", () => expect(files.length).toBeGreaterThan(40));

  it.each(files)("%s", (path) => {
    const layer = layerOf(path);
    for (const to of importsOf(path)) {
      if (!to.startsWith(".")) {
        if (PURE.includes(layer)) expect(to, `${path} must stay pure`).not.toMatch(/^node:/);
        continue;
      }
      const target = layerOf(resolve(path, to));
      if (ENTRIES.includes(layer) && path === `src/${layer}.ts`) continue;
      expect([layer, ...(ALLOWED[layer] ?? [])], `${path} imports ${to}`).toContain(target);
    }
  });
});
