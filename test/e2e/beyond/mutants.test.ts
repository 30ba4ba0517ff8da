/** What the official suite does not see: its own fixtures checked harder, and proof that each check can fail. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { TestServer } from "../../helpers/http.ts";
import { MOUNTS } from "../../helpers/mounts.ts";
import { ACCEPT, answeringRetries, REJECT } from "./blanket.ts";
import { mutants, serveFixtures, serveRight } from "./mutants.ts";
import { type ProbeName, probes } from "./probes.ts";

const names = Object.keys(probes) as ProbeName[];
let server: TestServer;
beforeAll(async () => {
  server = await serveFixtures();
});
afterAll(() => server.close());

describe.each(MOUNTS)("our fixtures, on the %s mount", (mount) => {
  let right: TestServer;
  beforeAll(async () => {
    right = await serveRight(mount);
  });
  afterAll(() => right.close());
  it.each(names)("%s", (name) => probes[name](right.url));
});

describe("every mutant dies", () => {
  it.each(mutants)("$name", async (mutant) => {
    const wrong = await serveFixtures(mutant);
    onTestFinished(() => wrong.close());
    for (const [name, label] of Object.entries(mutant.dies) as [ProbeName, RegExp][]) {
      await expect(probes[name](wrong.url), name).rejects.toThrow(label);
    }
  });
});

describe.each([
  ["rejects", REJECT],
  ["accepts", ACCEPT],
])("B12 on a server that %s every retry", (_, answer) => {
  it.each(names)("this goes red: %s", async (name) => {
    const wrong = await answeringRetries(server, answer);
    onTestFinished(() => wrong.close());
    await expect(probes[name](wrong.url)).rejects.toThrow();
  });
});
