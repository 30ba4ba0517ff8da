/** Docs are code: every TypeScript snippet compiles against the built package, and those marked `run` are run. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

// Inside the package, so that "mcp-parley" resolves to itself.
const dir = ".docs-check";
const pages = [
  "README.md",
  "examples/README.md",
  ...(existsSync("docs") ? readdirSync("docs").map((name) => `docs/${name}`) : []),
].filter((page) => page.endsWith(".md"));

interface Snippet {
  readonly file: string;
  readonly code: string;
  readonly run: boolean;
}

function snippetsOf(page: string): Snippet[] {
  const blocks = [...readFileSync(page, "utf8").matchAll(/^```(ts|ts run|diff)\n(.*?)^```$/gms)];
  return blocks.flatMap(([, kind, text = ""], index) => {
    const file = `${page.replaceAll(/\W/g, "-")}-${index}`;
    if (kind !== "diff") return [{ file, code: text, run: kind === "ts run" }];
    const side = (drop: string) =>
      text
        .split("\n")
        .filter((line) => !line.startsWith(drop))
        .map((line) => line.slice(1))
        .join("\n");
    return [
      { file: `${file}-before`, code: side("+"), run: false },
      { file: `${file}-after`, code: side("-"), run: false },
    ];
  });
}

const snippets = pages.flatMap(snippetsOf);

beforeAll(() => {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir);
  for (const { file, code } of snippets) writeFileSync(`${dir}/${file}.mts`, code);
  const compilerOptions = { noEmit: false, rootDir: ".", noUnusedLocals: false };
  writeFileSync(
    `${dir}/tsconfig.json`,
    JSON.stringify({ extends: "../tsconfig.json", compilerOptions, include: ["*.mts"], exclude: [] }),
  );
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("documentation", () => {
  it("has snippets to check", () => expect(snippets.length).toBeGreaterThan(4));

  it("compiles", () => {
    const tsc = "node_modules/typescript/bin/tsc";
    try {
      execFileSync(process.execPath, [tsc, "-p", dir], { encoding: "utf8" });
    } catch (error) {
      throw new Error((error as { stdout: string }).stdout);
    }
  });

  it.each(snippets.filter(({ run }) => run))("$file runs", ({ file }) => {
    execFileSync(process.execPath, [`${dir}/${file}.mjs`], { encoding: "utf8" });
  });

  it("shows how to add a question in at most twelve changed lines", () => {
    const diff = readFileSync("README.md", "utf8").match(/^```diff\n(.*?)^```$/ms)?.[1] ?? "";
    const changed = diff.split("\n").filter((line) => /^[+-]/.test(line));
    expect(changed.length).toBeGreaterThan(0);
    expect(changed.length).toBeLessThanOrEqual(12);
  });

  it("shows the figures of the run that is kept beside them, and no others", () => {
    execFileSync(process.execPath, ["bench/page.mjs", "--check"], { encoding: "utf8" });
  });

  it("names no path of one machine", () => {
    for (const page of pages) expect(readFileSync(page, "utf8")).not.toMatch(/\/work\/|\/home\/|\/tmp\//);
  });
});
