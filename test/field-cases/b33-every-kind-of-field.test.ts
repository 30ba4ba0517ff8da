/** B33: hosts show different subsets of the schema. Here every kind is filled by keyboard alone, on a real terminal. */
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { MAIN, serving } from "../helpers/cli.ts";
import { canHaveTerminal, DOWN, ENTER, onTerminal, readable, type Step, UP } from "../helpers/terminal.ts";

const STEPS: Step[] = [
  ["◆  Answer? It has 12 fields", [ENTER]],
  ["◆  Text for field 1", ["héllo wörld", ENTER]],
  ["◆  Text for field 2", [" two  spaces ", ENTER]],
  ["◆  Text for field 3", ["ab", ENTER]],
  ["at least 3", ["c", ENTER]],
  ["◆  Text for field 4", ["a@b.example", ENTER]],
  ["◆  Choose for field 5", [DOWN, DOWN, ENTER]],
  ["◆  Choose for field 6", [DOWN, DOWN, ENTER]],
  ["◆  Number for field 7", ["-42", ENTER]],
  ["◆  Number for field 8", ["10", ENTER]],
  ["◆  Number for field 9", ["2.5e-3", ENTER]],
  ["◆  Choose for field 10", [DOWN, DOWN, ENTER]],
  ["◆  Text for field 11", ["!", ENTER]],
  ["◆  Choose any for field 12", [" ", DOWN, DOWN, " ", ENTER]],
  ["◆  Send this", [ENTER]],
  ["◆  There is nothing to fill in", [UP, UP, ENTER]],
];
const CONTENT = {
  string: "héllo wörld",
  description: " two  spaces ",
  minLength: "abc",
  email: "a@b.example",
  enum: "green",
  titled: "#0f0",
  int: -42,
  bounded: 10,
  number: 0.0025,
  boolean: true,
  defaults: "blue!",
  multi: ["a", "c"],
};

async function probed(args: string[]): Promise<unknown> {
  const { screen, status, missed } = await onTerminal(STEPS, [process.execPath, MAIN, "call", ...args], {
    columns: 400,
  });
  expect({ status, missed }, readable(screen).slice(-2000)).toEqual({ status: 0, missed: null });
  return JSON.parse(readable(screen).match(/^GOT (.+)$/m)?.[1] ?? "null");
}

describe.skipIf(!canHaveTerminal)("B33/F8: the twelve probes and an empty form come back exactly", () => {
  test("from a server of ours, over HTTP", async () => {
    const server = await serving("probes.mjs");
    try {
      expect(await probed([server.url, "probe"])).toEqual({ all: CONTENT, none: {} });
    } finally {
      await server.stop();
    }
  });

  test("from a server written by hand on the official SDK, over stdio", async () => {
    const script = fileURLToPath(new URL("../fixtures/sdk-probes.mjs", import.meta.url));
    expect(await probed(["probe", "--", process.execPath, script])).toEqual({
      all: { action: "accept", content: CONTENT },
      none: { action: "accept", content: {} },
    });
  });
});
