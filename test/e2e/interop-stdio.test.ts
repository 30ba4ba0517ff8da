/** Official clients of both eras over a real pipe (G33, K5). The server is test/fixtures/stdio-server.mjs, on the built package. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, it } from "vitest";

const command = { command: process.execPath, args: ["test/fixtures/stdio-server.mjs"], stderr: "inherit" as const };
const contents: Record<string, Record<string, string | boolean>> = {
  confirm: { confirm: true },
  when: { when: "tonight" },
  note: { note: "hi" },
};

/** The content for whichever form is asked, by its one property. */
function answerTo(params: { requestedSchema?: { properties: object } }) {
  const [property] = Object.keys(params.requestedSchema?.properties ?? {});
  return { action: "accept" as const, content: contents[property as string] as Record<string, string> };
}

describe("2026-07-28: the official client over stdio, in automatic mode", () => {
  it("drives a call of three rounds; the step ran once", async () => {
    const client = new Client(
      { name: "official", version: "1.0.0" },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode: "auto" } },
    );
    let asked = 0;
    client.setRequestHandler("elicitation/create", async (request) => {
      asked++;
      return answerTo(request.params as never);
    });
    await client.connect(new StdioClientTransport(command) as never);
    const result = await client.callTool({ name: "deploy", arguments: { env: "prod" } });
    expect(result.content).toEqual([{ type: "text", text: "prod plan 1 true tonight hi" }]);
    expect(asked).toBe(3);
    expect((await client.callTool({ name: "plain" })).content).toEqual([{ type: "text", text: "plain" }]);
    await client.close();
  });
});

describe("2025-11-25: a client of @modelcontextprotocol/sdk 1.x over stdio, through the SDK's shim", () => {
  const connect = async (capabilities: object) => {
    const client = new LegacyClient({ name: "legacy", version: "1.0.0" }, { capabilities });
    await client.connect(new LegacyTransport(command));
    return client;
  };

  it("K5 the same flow asks by real requests inside the call", async () => {
    const client = await connect({ elicitation: { form: {} } });
    const messages: string[] = [];
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
      messages.push(params.message);
      return answerTo(params as never);
    });
    const result = await client.callTool({ name: "deploy", arguments: { env: "prod" } });
    expect(result["content"]).toEqual([{ type: "text", text: "prod plan 1 true tonight hi" }]);
    expect(messages.sort()).toEqual(["Deploy to prod?", "Note?", "When?"]);
    await client.close();
  });

  it("sampling, roots, prompts and resources ask, too", async () => {
    const client = await connect({ elicitation: {}, sampling: {}, roots: {} });
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => answerTo(params as never));
    client.setRequestHandler(CreateMessageRequestSchema, async () => ({
      role: "assistant",
      model: "m",
      content: { type: "text", text: "short" },
    }));
    client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///w" }] }));
    const summary = await client.callTool({ name: "summary" });
    expect(summary["content"]).toEqual([{ type: "text", text: "short file:///w" }]);
    const greeted = await client.getPrompt({ name: "greet" });
    expect(greeted.messages[0]?.content).toEqual({ type: "text", text: "true" });
    const read = await client.readResource({ uri: "note://one" });
    expect(read.contents[0]).toMatchObject({ text: "true" });
    await client.close();
  });

  it("K11 B50 a client that cannot be asked gets an error result, never a yes", async () => {
    const client = await connect({});
    const result = await client.callTool({ name: "deploy", arguments: { env: "prod" } });
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain("did not declare");
    await client.close();
  });
});
