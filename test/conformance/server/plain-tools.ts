import { fromJsonSchema, type McpServer } from "@modelcontextprotocol/server";
import { PNG, text, WAV } from "./content.ts";

/** Tells clients that listen about a change. */
export interface Notify {
  toolsChanged(): void;
  promptsChanged(): void;
}

const image = { type: "image" as const, data: PNG, mimeType: "image/png" };

/** The suite's tools that ask nothing: ordinary SDK registrations, next to the flows. */
export function registerPlainTools(server: McpServer, notify: Notify): void {
  // The suite calls the first tool of the list without arguments, so it must need none.
  server.registerTool("test_simple_text", { description: "Text" }, () => text("Some text for the test."));
  server.registerTool("test_image_content", { description: "An image" }, () => ({ content: [image] }));
  server.registerTool("test_audio_content", { description: "A sound" }, () => ({
    content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  }));
  server.registerTool("test_embedded_resource", { description: "A resource" }, () => ({
    content: [resource("test://embedded-resource", "text/plain", "An embedded resource.")],
  }));
  server.registerTool("test_multiple_content_types", { description: "Text, an image and a resource" }, () => ({
    content: [
      { type: "text", text: "Several kinds of content:" },
      image,
      resource("test://mixed-content-resource", "application/json", '{"answer":42}'),
    ],
  }));
  server.registerTool("test_error_handling", { description: "Fails" }, () => {
    throw new Error("This tool fails on purpose.");
  });
  server.registerTool("test_logging_tool", { description: "Logs, when the request asks for logs" }, async (ctx) => {
    await ctx.mcpReq.log("info", "test_logging_tool runs");
    return text("logged");
  });
  server.registerTool("test_trigger_tool_change", { description: "Announces other tools" }, () => {
    notify.toolsChanged();
    return text("announced");
  });
  server.registerTool("test_trigger_prompt_change", { description: "Announces other prompts" }, () => {
    notify.promptsChanged();
    return text("announced");
  });
  server.registerTool(
    "test_x_mcp_header",
    { description: "Mirrors an argument into a header", inputSchema: fromJsonSchema<{ region?: string }>(HEADER) },
    ({ region }) => text(`region: ${region ?? "none"}`),
  );
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "Keeps its schema as written", inputSchema: fromJsonSchema(DRAFT_2020_12) },
    (args) => text(JSON.stringify(args)),
  );
}

function resource(uri: string, mimeType: string, content: string) {
  return { type: "resource" as const, resource: { uri, mimeType, text: content } };
}

const HEADER = {
  type: "object" as const,
  properties: { region: { type: "string" as const, "x-mcp-header": "Region" } },
};

const DRAFT_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};
