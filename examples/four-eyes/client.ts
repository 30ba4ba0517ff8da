/**
 * Checks the story over HTTP with two people: Ada's change waits until Eve has had her say, and Ada cannot say it herself.
 * Run: npx vitest run test/e2e/examples.test.ts -t four-eyes
 */
import assert from "node:assert/strict";
import { createCalls, type ElicitResult } from "mcp-parley/client";
import { no, yes } from "mcp-parley/testing";
import { connect, textOf } from "../shared/client.ts";

export async function check(url: string): Promise<void> {
  const [ada, eve] = [await connect(url, { as: "ada" }), await connect(url, { as: "eve" })];
  const review = async (client: typeof ada, answer: ElicitResult): Promise<string> =>
    textOf(
      await createCalls(client, { server: "changes", responders: { form: async () => answer } }).callTool({
        name: "review",
      }),
    );
  const request = (change: string) =>
    createCalls(ada, { server: "changes" }).callTool({ name: "request_change", arguments: { change } });
  /** Looks until there is something to review. */
  const reviewed = async (answer: ElicitResult): Promise<string> => {
    for (;;) {
      const said = await review(eve, answer);
      if (said !== "There is nothing for you to review.") return said;
    }
  };

  try {
    const wanted = request("raise the limit");
    assert.equal(await reviewed(yes()), "Approved.");
    assert.equal(textOf(await wanted), '"raise the limit" was approved by eve and is done.');

    const unwanted = request("drop the table");
    assert.equal(await review(ada, yes()), "There is nothing for you to review.", "not one's own");
    assert.equal(await reviewed(no()), "Not approved.");
    assert.equal(textOf(await unwanted), 'eve did not approve "drop the table".');
  } finally {
    await ada.close();
    await eve.close();
  }
}
