import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, onTestFinished, test } from "vitest";
import { createCalls } from "../../src/client.ts";

const script = fileURLToPath(new URL("calls-stdio-server.mjs", import.meta.url));

async function connect() {
  const transport = new StdioClientTransport({ command: process.execPath, args: [script] });
  const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return { client, pid: transport.pid };
}

test("over stdio a call asks and completes", async () => {
  const { client, pid } = await connect();
  const responders = { form: async () => ({ action: "accept" as const, content: { name: "Ada" } }) };
  const result = await createCalls(client, { server: "local", responders }).callTool({ name: "whoami" });
  expect(result.content).toEqual([{ type: "text", text: `Ada, first asked by ${pid}` }]);
});

test("B30, L24: a call opened against one process is resumed against another", async () => {
  const first = await connect();
  const capabilities = { elicitation: { form: {} } };
  const open = await createCalls(first.client, { server: "local" }).open(
    "tools/call",
    { name: "whoami" },
    { capabilities },
  );
  const saved = JSON.stringify(open);
  await first.client.close();

  const second = await connect();
  const call = createCalls(second.client, { server: "local" }).resume(saved);
  call.answer("name", { action: "accept", content: { name: "Grace" } });
  await call.continue();
  expect(second.pid).not.toBe(first.pid);
  expect(call.result).toMatchObject({ content: [{ text: `Grace, first asked by ${first.pid}` }] });
});
