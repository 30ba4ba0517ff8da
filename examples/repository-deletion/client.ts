/**
 * Checks the story over HTTP as its owner, Ada: only the exact name, typed for this very repository, deletes it.
 * A wrong name, a decline, a repository swapped under the open question, and another caller (Eve) delete nothing.
 * Run: npx vitest run test/e2e/examples.test.ts -t repository-deletion
 */
import assert from "node:assert/strict";
import { createCalls, type ElicitResult } from "mcp-parley/client";
import { accept, cancel, decline } from "mcp-parley/testing";
import { connect, textOf } from "../shared/client.ts";

const REPOSITORY = "ada/compiler";

export async function check(url: string): Promise<void> {
  const ada = await connect(url, { as: "ada" });
  const eve = await connect(url, { as: "eve" });
  const deleteAs = (client: typeof ada, answer: () => ElicitResult | Promise<ElicitResult>) =>
    createCalls(client, { server: "forge", responders: { form: async () => answer() } }).callTool({
      name: "delete_repository",
      arguments: { repository: REPOSITORY },
    });
  const plain = async (tool: string, args?: Record<string, unknown>) =>
    textOf(
      await createCalls(ada, { server: "forge" }).callTool({
        name: tool,
        ...(args !== undefined && { arguments: args }),
      }),
    );
  const create = () => plain("create_repository", { repository: REPOSITORY });
  const typed = (name: string) => () => accept({ typed: name });

  try {
    await create();
    for (const answer of [typed("ada/compilers"), typed(""), decline, cancel]) {
      assert.equal((await deleteAs(ada, answer)).isError, true);
      assert.equal(await plain("list_repositories"), REPOSITORY, "it is still there");
    }

    const byEve = await deleteAs(eve, () => assert.fail("Eve is not even asked"));
    assert.equal(textOf(byEve), `You have no repository ${REPOSITORY}.`);

    // While the question is on the screen, the repository goes and another one takes its name.
    const late = await deleteAs(ada, async () => {
      assert.equal(textOf(await deleteAs(ada, typed(REPOSITORY))), `Deleted ${REPOSITORY}.`);
      await create();
      return accept({ typed: REPOSITORY });
    });
    assert.equal(textOf(late), `${REPOSITORY} is not what it was when you were asked. Nothing was deleted.`);
    assert.equal(await plain("list_repositories"), REPOSITORY, "the new one is untouched");

    assert.equal(textOf(await deleteAs(ada, typed(REPOSITORY))), `Deleted ${REPOSITORY}.`);
    assert.equal(await plain("list_repositories"), "");
  } finally {
    await Promise.all([ada.close(), eve.close()]);
  }
}
