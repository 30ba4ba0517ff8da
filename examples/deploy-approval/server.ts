/**
 * Deploy approval. The plan is made once and remembered; a person then approves it and picks a time, in one round.
 * Only an explicit yes deploys: a no, a decline, a dismissed dialog and silence all end without a deployment.
 * Run: npx parley serve examples/dist/deploy-approval/server.js --port 3000 (see examples/README.md to build).
 */
import { tool } from "mcp-parley";
import { z } from "zod";

interface Plan {
  readonly id: number;
  readonly services: string[];
}

/** Stands for your deployment system. */
const system = { plans: 0, deployments: new Map<string, string>() };

function planDeployment(): Plan {
  system.plans += 1;
  return { id: system.plans, services: ["api", "web", "worker"] };
}

/** The key is the same on every replay and delivery, so that one approval is one deployment. */
function runDeployment(plan: Plan, environment: string, when: string, idempotencyKey: string): string {
  const known = system.deployments.get(idempotencyKey);
  if (known !== undefined) return known;
  const deployment = `plan ${plan.id} to ${environment}, ${when}`;
  system.deployments.set(idempotencyKey, deployment);
  return deployment;
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

export const deploy = tool(
  "deploy",
  {
    description: "Deploys the current build after a person approved the plan",
    inputSchema: z.object({ environment: z.enum(["staging", "production"]) }),
    annotations: { destructiveHint: true },
  },
  async ({ environment }, flow) => {
    // The person approves this plan, and this plan is what runs: a step is remembered over the rounds.
    const plan = await flow.step("plan", planDeployment);
    const [approved, { when }] = await Promise.all([
      flow.confirm("approve", `Deploy ${plan.services.join(", ")} (plan ${plan.id}) to ${environment}?`, {
        label: "Deploy this plan",
      }),
      flow.form("window", {
        message: "When should the deployment start?",
        schema: z.object({ when: z.enum(["now", "tonight"]).meta({ title: "Start" }) }),
      }),
    ]);
    if (!approved) return text(`Not approved. Nothing was deployed to ${environment}.`);
    const deployment = await flow.step("deploy", ({ idempotencyKey }) =>
      runDeployment(plan, environment, when, idempotencyKey),
    );
    return text(`Deployed: ${deployment}.`);
  },
);

/** Tools that do not ask are flows too. */
export const status = tool("status", { description: "Plans made and deployments run so far" }, () =>
  text(JSON.stringify({ plans: system.plans, deployments: [...system.deployments.values()] })),
);

export const name = "deploy-approval";
export const version = "1.0.0";
export const flows = [deploy, status];
export default flows;
