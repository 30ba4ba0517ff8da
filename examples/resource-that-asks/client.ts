/**
 * Checks the story over HTTP: a read asks for its purpose and is logged once; the next read asks again.
 * A decline, a dismissed dialog and a client that cannot ask get no record and leave no log line.
 * Run: npx vitest run test/e2e/examples.test.ts -t resource-that-asks
 */
import assert from "node:assert/strict";
import { createCalls, type ElicitResult } from "mcp-parley/client";
import { accept, cancel, decline } from "mcp-parley/testing";
import { connect } from "../shared/client.ts";

const URI = "record://patients/17";

export async function check(url: string): Promise<void> {
  const client = await connect(url);
  const first = (contents: object[]): string => (contents[0] as { text: string }).text;
  const read = async (answer: ElicitResult) => {
    const calls = createCalls(client, { server: "records", responders: { form: async () => answer } });
    return first((await calls.readResource({ uri: URI })).contents);
  };
  const silent = createCalls(client, { server: "records" });
  const log = async (): Promise<string[]> =>
    JSON.parse(first((await silent.readResource({ uri: "record://log" })).contents));

  try {
    const before = await log();
    assert.match(await read(accept({ purpose: "treatment" })), /read for treatment/);
    assert.match(await read(accept({ purpose: "billing" })), /read for billing/, "no cache answers the second read");
    const after = await log();
    assert.deepEqual(after.slice(before.length), ["17: treatment", "17: billing"]);

    await assert.rejects(read(decline()), { message: /declined/ });
    await assert.rejects(read(cancel()), { message: /cancelled/ });
    await assert.rejects(silent.readResource({ uri: URI }), { code: -32021 });
    assert.deepEqual(await log(), after);
  } finally {
    await client.close();
  }
}
