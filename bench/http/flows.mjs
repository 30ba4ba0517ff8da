// The work as flows.
import { randomBytes } from "node:crypto";
import { createParley, tool } from "../../dist/index.js";
import { config, finding, KEY, messageFor, others, schema, TOOL, text } from "./work.mjs";

export const parley = createParley({ keys: [randomBytes(32)], callers: "anonymous", onEvent: () => {} });

export function flowsFor({ tools, entries }) {
  const deploy = tool(TOOL, config, async ({ env }, flow) => {
    for (let number = 0; number < entries; number++) await flow.step(`step-${number}`, () => finding(number));
    const { when } = await flow.form(KEY, { message: messageFor(env), schema });
    return text(`${env} ${when}`);
  });
  return [deploy, ...others(tools).map((each) => tool(each.name, each.config, each.run))];
}
