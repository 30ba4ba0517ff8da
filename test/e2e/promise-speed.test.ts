/** Node must go on with its fast path for promises in a process that serves flows. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const TESTING = new URL("../../dist/testing.js", import.meta.url).href;
const INDEX = new URL("../../dist/index.js", import.meta.url).href;

/** What V8 gave up while a script ran. */
async function givenUp(script: string): Promise<string[]> {
  const args = ["--trace-protector-invalidation", "--input-type=module", "--eval", script];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return stdout.split("\n").flatMap((line) => /protector cell (Promise\w+LookupChain)/.exec(line)?.[1] ?? []);
}

it("a flow's promises leave the awaits of the process as fast as they were", async () => {
  expect(await givenUp("Object.assign(Promise.resolve(), { then: () => undefined })")).not.toEqual([]);
  const call = `
    import { tool } from ${JSON.stringify(INDEX)};
    import { playFlow, yes } from ${JSON.stringify(TESTING)};
    const flow = tool("t", {}, async (_, own) => {
      await Promise.all([own.step("s", () => 1), own.confirm("c", "Sure?"), own.outcome.confirm("d", "Sure?")]);
      return { content: [] };
    });
    await playFlow(flow, { answers: { c: yes(), d: yes() } });`;
  expect(await givenUp(call)).toEqual([]);
});
