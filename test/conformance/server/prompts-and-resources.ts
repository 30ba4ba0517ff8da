import { completable, type GetPromptResult, type McpServer, ResourceTemplate } from "@modelcontextprotocol/server";
import { z } from "zod";
import { PNG } from "./content.ts";

type Content = GetPromptResult["messages"][number]["content"];

/** The suite's prompts and resources that ask nothing. */
export function registerPromptsAndResources(server: McpServer): void {
  server.registerPrompt("test_simple_prompt", { description: "No arguments" }, () => says(words("A simple prompt.")));
  const argument = completable(z.string(), (value) => ["alpha", "beta"].filter((word) => word.startsWith(value)));
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "Two arguments", argsSchema: z.object({ arg1: argument, arg2: z.string() }) },
    ({ arg1, arg2 }) => says(words(`arg1='${arg1}', arg2='${arg2}'`)),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "A resource inside", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri: uri }) =>
      says({ type: "resource", resource: { uri, mimeType: "text/plain", text: "Embedded." } }, words("Read this.")),
  );
  server.registerPrompt("test_prompt_with_image", { description: "An image inside" }, () =>
    says({ type: "image", data: PNG, mimeType: "image/png" }, words("Look at this.")),
  );

  server.registerResource("static-text", "test://static-text", { mimeType: "text/plain" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "text/plain", text: "A static text." }],
  }));
  server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, ({ href: uri }) => ({
    contents: [{ uri, mimeType: "image/png", blob: PNG }],
  }));
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { mimeType: "application/json" },
    ({ href: uri }, { id }) => ({ contents: [{ uri, mimeType: "application/json", text: JSON.stringify({ id }) }] }),
  );
}

const words = (value: string): Content => ({ type: "text", text: value });

function says(...contents: Content[]): GetPromptResult {
  return { messages: contents.map((content) => ({ role: "user", content })) };
}
