// The work of one request, the same on every side: a tool that asks at once, and answers when it was answered.
import { createHash } from "node:crypto";
import { z } from "zod";

export const INFO = { name: "deployer", version: "1.0.0" };
export const TOOL = "deploy";
export const KEY = "window";
export const config = { description: "Deploy a service", inputSchema: z.object({ env: z.string() }) };

export const messageFor = (env) => `Deploy to ${env}. When?`;
export const schema = { type: "object", properties: { when: { type: "string" } }, required: ["when"] };
export const question = (env) => ({
  method: "elicitation/create",
  params: { mode: "form", message: messageFor(env), requestedSchema: schema },
});
export const text = (value) => ({ content: [{ type: "text", text: value }] });

/** What a step gives: about 100 bytes of JSON, half of which does not repeat. */
export function finding(number) {
  const id = createHash("sha256").update(`step ${number}`).digest("hex").slice(0, 48);
  return { path: `src/part-${number}/index.ts`, id, verdict: "keep" };
}

/** Tools that are never called. */
export function others(count) {
  return Array.from({ length: count - 1 }, (_, at) => ({
    name: `tool-${at}`,
    config: {
      description: `Tool number ${at}`,
      inputSchema: z.object({ path: z.string(), depth: z.number().optional() }),
    },
    run: async ({ path }) => text(path),
  }));
}
