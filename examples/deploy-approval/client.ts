/**
 * Checks the story over HTTP: an approval deploys the plan that was shown, once; every kind of no deploys nothing.
 * Both questions arrive in one round, and the plan is made once per call although the flow runs twice.
 * Run: npx vitest run test/e2e/examples.test.ts -t deploy-approval
 */
import assert from "node:assert/strict";
import { createCalls, type ElicitResult, type QuestionContext } from "mcp-parley/client";
import { accept, cancel, decline, no, yes } from "mcp-parley/testing";
import { connect, textOf } from "../shared/client.ts";

export async function check(url: string): Promise<void> {
  const client = await connect(url);
  const seen: QuestionContext[] = [];
  const deploy = (approve: ElicitResult, window = accept({ when: "tonight" })) =>
    createCalls(client, {
      server: "deployments",
      responders: {
        form: async (_params, context) => {
          seen.push(context);
          return context.key === "approve" ? approve : window;
        },
      },
    }).callTool({ name: "deploy", arguments: { environment: "production" } });
  const status = async (): Promise<{ plans: number; deployments: string[] }> =>
    JSON.parse(textOf(await createCalls(client, { server: "deployments" }).callTool({ name: "status" })));

  try {
    const before = await status();
    const plan = before.plans + 1;
    const approved = await deploy(yes());
    assert.equal(textOf(approved), `Deployed: plan ${plan} to production, tonight.`);
    const after = await status();
    assert.equal(after.plans, plan, "the plan is remembered, not made again");
    assert.deepEqual(after.deployments, [...before.deployments, `plan ${plan} to production, tonight`]);
    assert.deepEqual(
      seen.map(({ key, round }) => [key, round]),
      [
        ["approve", 1],
        ["window", 1],
      ],
      "both questions come in one round",
    );

    for (const refusal of [no(), decline(), cancel()]) {
      const refused = await deploy(refusal);
      assert.equal(textOf(refused), "Not approved. Nothing was deployed to production.");
    }
    const dismissed = await deploy(yes(), cancel());
    assert.equal(dismissed.isError, true, "an approval without a time is no deployment");
    assert.deepEqual((await status()).deployments, after.deployments);
  } finally {
    await client.close();
  }
}
