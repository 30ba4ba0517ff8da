import { setTimeout as sleep } from "node:timers/promises";
import { ProtocolError } from "@modelcontextprotocol/server";
import { z } from "zod";
import { type AnyFlow, tool } from "../../../src/index.ts";
import { text } from "./content.ts";

const OK = z.object({ confirm: z.boolean() });

/** The suite's fixtures for the tasks extension, as flows. Names, arguments and texts are the suite's. */
export const taskFlows: readonly AnyFlow[] = [
  tool("greet", { description: "Greets at once", inputSchema: z.object({ name: z.string() }) }, ({ name }) =>
    text(`Hello, ${name}!`),
  ),

  tool(
    "slow_compute",
    {
      description: "Takes its time, as a task where the client has them",
      inputSchema: z.object({ seconds: z.number(), label: z.string().optional() }),
      background: { otherwise: "foreground" },
    },
    async ({ seconds, label = "done" }, flow) => {
      await flow.step("compute", ({ signal }) => sleep(seconds * 1_000, undefined, { signal }));
      return text(`Computed ${label} in ${seconds} s`);
    },
  ),

  tool("failing_job", { description: "Fails, as a task only", background: {} }, async (_args, flow) => {
    await flow.step("work", ({ signal }) => sleep(500, undefined, { signal }));
    return { ...text("The job failed on purpose."), isError: true };
  }),

  tool("protocol_error_job", { description: "Ends as an error of the protocol", background: {} }, () => {
    throw new ProtocolError(-32_603, "The job broke on purpose");
  }),

  tool(
    "confirm_delete",
    { description: "Asks as a task", inputSchema: z.object({ filename: z.string() }), background: {} },
    async ({ filename }, flow) => {
      const { confirm } = await flow.form("confirm", { message: `Delete ${filename}?`, schema: OK });
      return text(confirm ? `Deleted ${filename}` : `Kept ${filename}`);
    },
  ),

  tool("multi_input", { description: "Asks two things at once, as a task", background: {} }, async (_args, flow) => {
    const [{ name }, { confirm }] = await Promise.all([
      flow.form("name", { message: "What is your name?", schema: z.object({ name: z.string() }) }),
      flow.form("ok", { message: "Go on?", schema: OK }),
    ]);
    return text(`${name}: ${confirm}`);
  }),

  tool("test_tool_with_task", { description: "Asks first, then becomes a task" }, async (_args, flow) => {
    const { name } = await flow.form("user_name", {
      message: "What is your name?",
      schema: z.object({ name: z.string() }),
    });
    await flow.background();
    return text(`Hello, ${name}!`);
  }),
];
