/**
 * Checks the story over HTTP: one question in a round and one in the task, the same for a client without tasks; a task is
 * left and taken up again by another client; one that is cancelled publishes nothing.
 * Run: npx vitest run test/e2e/examples.test.ts -t release
 */
import assert from "node:assert/strict";
import { type CallsOptions, createCalls } from "mcp-parley/client";
import { accept, yes } from "mcp-parley/testing";
import { connect, textOf } from "../shared/client.ts";

export async function check(url: string): Promise<void> {
  const [client, another] = [await connect(url), await connect(url)];
  const asked: string[] = [];
  const responders: NonNullable<CallsOptions["responders"]> = {
    form: async (_params, { key }) => {
      asked.push(key);
      return key === "start" ? yes() : accept({ channel: "beta" });
    },
  };
  const calls = createCalls(client, { server: "releases", responders });
  const call = (version: string) => ({ name: "release", arguments: { version } });
  const status = async (): Promise<{ builds: number; published: string[] }> =>
    JSON.parse(textOf(await calls.callTool({ name: "status" })));

  try {
    const before = await status();
    assert.equal(textOf(await calls.callTool(call("1.0"))), "Published app-1.0.tgz on beta.");
    const foreground = createCalls(client, { server: "releases", responders, tasks: false });
    assert.equal(textOf(await foreground.callTool(call("1.1"))), "Published app-1.1.tgz on beta.");
    assert.deepEqual(asked, ["start", "channel", "start", "channel"], "the same questions either way");

    const left = await calls.open("tools/call", call("2.0"));
    left.answer("start", yes());
    await left.continue();
    assert.equal(left.task?.status, "input_required");
    const saved = JSON.stringify(left);
    const resumed = createCalls(another, { server: "releases", responders }).resume(saved);
    assert.deepEqual(await resumed.run(), { content: [{ type: "text", text: "Published app-2.0.tgz on beta." }] });

    const unwanted = await calls.open("tools/call", call("3.0"));
    unwanted.answer("start", yes());
    await unwanted.continue();
    unwanted.abort();

    const after = await status();
    assert.equal(after.builds, before.builds + 4, "no build was made twice");
    const published = ["app-1.0.tgz on beta", "app-1.1.tgz on beta", "app-2.0.tgz on beta"];
    assert.deepEqual(after.published, [...before.published, ...published]);
  } finally {
    await client.close();
    await another.close();
  }
}
