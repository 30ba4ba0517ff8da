/**
 * Every rule for showing a server's words has a test on the display model (or the driver, where it is the driver's), and
 * one on a real pseudo-terminal. A rule is tested where its number stands in a test's name.
 */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

const MODEL = [
  "unit/present-text",
  "unit/present-url",
  "unit/present-model",
  "unit/present-terminal",
  "unit/present-terminal-form",
  "unit/present-terminal-calls",
  "unit/sampling-responder",
  "unit/calls-rounds",
  "unit/calls-step",
  "unit/calls-interim",
  "property/present",
  "property/calls",
  "field-cases/b35-secrets-in-the-transcript",
  "field-cases/b36-links",
];
const TERMINAL = [
  "e2e/presentation-terminal",
  "e2e/terminal",
  "e2e/cli-sampling",
  "field-cases/b33-every-kind-of-field",
];

/** Rule -> what it says in a few words. */
const RULES: Record<string, string> = {
  T1: "no control byte",
  T2: "no overwriting, no forged prompt",
  T3: "a sequence that never ends",
  U1: "bidirectional characters",
  U2: "invisible characters",
  U3: "line and paragraph separators",
  U4: "names that look like others",
  I1: "the host's own name for the server",
  I2: "no title becomes the dialog's",
  I3: "tool and arguments from the request",
  I4: "wire values beside titles",
  F1: "secrets",
  F2: "a default is no consent",
  F3: "answers checked, patterns not run",
  F4: "hostile keys and sizes",
  F5: "no clickable address in text",
  F6: "caps, and nothing more from this server",
  F7: "what is highlighted is sent; the form stays alive",
  F8: "every kind of field by keyboard",
  L1: "https, or http on loopback",
  L2: "the full address, its host from the parser",
  L3: "the registrable domain",
  L4: "Punycode and look-alikes",
  L5: "odd hosts",
  L6: "the parsed address, by argument vector",
  L7: "nothing fetched before consent",
  L8: "nothing opened without a yes",
  L9: "accept is not done",
  S1: "sampling read, edited, approved apart",
  S2: "the model's text too",
  D1: "decline only from a person",
  D2: "Enter and keys typed ahead",
  D3: "one answer wins",
  M1: "the state is never shown",
  M2: "the state of this call's next retry",
  M3: "an undeclared kind is refused unseen",
};

/** Rules by number in the names of tests and their groups: `L2 to L5`, `T1/U1 to U3` and `F1, F2` name all of theirs. */
function testedIn(files: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (const file of files) {
    const source = readFileSync(`test/${file}.test.ts`, "utf8");
    const names = source.matchAll(
      /\b(?:test|describe|it)(?:\.\w+)*(?:<[^(]*>)?\((?:\[[\s\S]*?\]\)\()?\s*["`]([^"`]+)["`]/g,
    );
    for (const [, name = ""] of [...names, ...source.matchAll(/\]\)\(\s*["`]([^"`]+)["`]/g)]) {
      for (const [, letter = "", from = "", , to] of name.matchAll(/\b([TUIFLSDM])(\d)( to \1(\d))?\b/g)) {
        for (let number = Number(from); number <= Number(to ?? from); number += 1) found.add(`${letter}${number}`);
      }
    }
  }
  return found;
}

describe("every rule of display is tested", () => {
  const model = testedIn(MODEL);
  const terminal = testedIn(TERMINAL);
  test("positive control: names are found, and only those that are there", () => {
    expect(model.has("T1") && terminal.has("U3")).toBe(true);
    expect(model.has("T9")).toBe(false);
  });
  test.each(Object.entries(RULES))("%s (%s): on the model", (rule) => expect(model).toContain(rule));
  test.each(Object.entries(RULES))("%s (%s): on a real terminal", (rule) => expect(terminal).toContain(rule));
});
