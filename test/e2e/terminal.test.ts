/** The terminal surface on a real pseudo-terminal. */
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "vite";
import { beforeAll, describe, expect, test } from "vitest";
import { MAIN, serving } from "../helpers/cli.ts";
import { canHaveTerminal, DOWN, ENTER, onTerminal } from "../helpers/terminal.ts";

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));
/** Inside the project, so that the bundle finds the packages it leaves out. */
const OUT = here("../../node_modules/.cache/parley-terminal");
const BUNDLE = pathToFileURL(`${OUT}/index.mjs`).href;
const CHILD = here("terminal-child.mjs");
const ASK = [process.execPath, CHILD, BUNDLE];

beforeAll(async () => {
  mkdirSync(OUT, { recursive: true });
  await build({
    configFile: false,
    logLevel: "silent",
    build: {
      ssr: here("../../src/present/index.ts"),
      outDir: OUT,
      emptyOutDir: true,
      rollupOptions: { output: { entryFileNames: "index.mjs" } },
    },
  });
});

test("a real terminal can be had where it must be (CI)", () => {
  if (process.env["CI"] === "true") expect(canHaveTerminal).toBe(true);
});

describe.skipIf(!canHaveTerminal)("F8/B33: a form by keyboard on a real pseudo-terminal", () => {
  test("is filled, reviewed and sent; the screen shows the server's escapes as text", { timeout: 30_000 }, async () => {
    const { screen, status } = await onTerminal(
      [
        ["Answer?", [ENTER]],
        ["Choose for field 1", [DOWN, DOWN, ENTER]],
        ["Number for field 2", ["1", "0", ENTER]],
        ["at most 9", ["\x7f", ENTER]],
        ["Text for field 3", ["h", "i", "!", ENTER]],
        ["Choose any for field 4", [" ", DOWN, DOWN, " ", ENTER]],
        ["Send this", [ENTER]],
      ],
      ASK,
    );
    expect(screen).toContain(
      'ANSWER {"action":"accept","content":{"env":"dev","count":1,"note":"hi!","tags":["a","c"]}}',
    );
    expect(screen).toContain("Deploy ⟨U+001B⟩[2J⟨U+202E⟩now?");
    expect(screen).not.toContain("\x1b[2J");
    expect(screen).not.toContain("\u202e");
    expect(status).toBe(0);
  });

  test("D1: Ctrl-C ends the call and is no answer, typed-ahead keys answer nothing, and the process ends by itself", {
    timeout: 30_000,
  }, async () => {
    const { screen, status } = await onTerminal(
      [
        ["", [ENTER, ENTER, ENTER]],
        ["Answer?", ["\x03"]],
      ],
      ASK,
    );
    expect(screen).toContain("ENDED aborted");
    expect(screen).not.toContain("ANSWER");
    expect(status).toBe(0);
  });

  test("D1/F6: Ctrl-C leaves a call of the command line: exit 3, in one line, and the server hears no answer", {
    timeout: 30_000,
  }, async () => {
    const server = await serving("flows.mjs");
    try {
      const leave = (key: string) =>
        onTerminal([["Answer?", [key]]], [process.execPath, MAIN, "call", server.url, "twice"]);
      const { screen, status } = await leave("\x03");
      expect(status).toBe(3);
      expect(screen).toMatch(/parley: Question “one” .+ was interrupted.+: call again when you are ready\r\n$/);
      // The other way out is an answer: the flow says that it was cancelled.
      const escaped = await leave("\x1b");
      expect(escaped.status).toBe(1);
      expect(escaped.screen).toContain("cancelled");
    } finally {
      await server.stop();
    }
  });
});

test("B30/B32: without a terminal there is no responder, and nothing is answered", () => {
  const { stdout, status } = spawnSync(process.execPath, [CHILD, BUNDLE], { input: "\r\r\r", encoding: "utf8" });
  expect({ stdout, status }).toEqual({ stdout: "NO TERMINAL\n", status: 3 });
});
