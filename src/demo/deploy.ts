import { fromJsonSchema } from "@modelcontextprotocol/server";
import { type ToolFlow, tool } from "../flow/define.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/**
 * The demo's tool: an ordinary async function that asks three times and remembers three steps.
 * @param ran told of each step that really runs, for the demo to show that each runs once.
 */
export function deployTool(ran: (step: string) => void): ToolFlow {
  return tool(
    "deploy",
    {
      description: "Deploy a service",
      inputSchema: fromJsonSchema<{ service: string; env: string }>({
        type: "object",
        properties: { service: { type: "string" }, env: { type: "string" } },
        required: ["service", "env"],
      }),
    },
    async ({ service, env }, flow) => {
      const plan = await flow.step("plan", () => {
        ran("plan");
        return { from: "1.4.0", to: "1.5.0", hosts: 12 };
      });
      const [ok, window] = await Promise.all([
        flow.confirm("ok", `Deploy ${service} ${plan.from} -> ${plan.to} to ${plan.hosts} hosts in ${env}?`),
        flow.form("window", {
          message: "When should it start?",
          schema: {
            type: "object",
            properties: { when: { type: "string", enum: ["now", "tonight"] } },
            required: ["when"],
          },
        }),
      ]);
      if (!ok) return text("Not deployed.");
      const canary = await flow.step("canary", () => {
        ran("canary");
        return { host: "web-07", errors: 0 };
      });
      const rest = plan.hosts - 1;
      if (
        !(await flow.confirm("go", `${canary.host} runs ${plan.to}, ${canary.errors} errors. Go on with ${rest} more?`))
      ) {
        return text(`Stopped after ${canary.host}.`);
      }
      const { note } = await flow.form("note", {
        message: "A line for the deployment log?",
        schema: { type: "object", properties: { note: { type: "string", maxLength: 80 } }, required: ["note"] },
      });
      const id = await flow.step("rollout", ({ idempotencyKey }) => {
        ran("rollout");
        return `deploy-${idempotencyKey.slice(0, 6)}`;
      });
      return text(`${service} ${plan.to} goes to ${env} ${window.when} as ${id}: ${note}`);
    },
  );
}

/** What the scripted caller answers. */
export const SCRIPTED_ANSWERS = {
  ok: { action: "accept", content: { confirm: true } },
  window: { action: "accept", content: { when: "tonight" } },
  go: { action: "accept", content: { confirm: true } },
  note: { action: "accept", content: { note: "routine" } },
} as const;
