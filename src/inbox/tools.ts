/** What a person can start: the tools, prompts and resources a server lists. */
import type { Prompt, Resource, Tool } from "@modelcontextprotocol/client";
import { mayHarm } from "../policy/harm.ts";
import { describeField } from "../present/field-view.ts";
import { MAX_FIELDS, MAX_OPTIONS } from "../present/model.ts";
import { pretty } from "../present/sampling-view.ts";
import { inert, type Safe, type SafeText, visible } from "../present/text.ts";
import { readForm } from "../protocol/form/index.ts";
import type { ToolItem } from "./api.ts";
import type { Connections } from "./connections.ts";
import { listPrompts, listResources, listTools } from "./listing.ts";

/** @throws what the connection reports */
export async function toolItems(connections: Connections, server: string): Promise<readonly ToolItem[]> {
  const client = await connections.client(server);
  const [tools, prompts, resources] = await Promise.all([
    listTools(client),
    listPrompts(client),
    listResources(client),
  ]);
  return [...tools.map(toolItem), ...prompts.map(promptItem), ...resources.map(resourceItem)];
}

function toolItem(tool: Tool): ToolItem {
  const { name, title, description, inputSchema, annotations } = tool;
  return {
    method: "tools/call",
    target: name,
    ...named(name, title ?? annotations?.title, description),
    destructive: mayHarm(tool),
    ...argumentsForm(inputSchema),
  };
}

/** Getting a prompt and reading a resource are not for effects, but nothing says that they have none. */
function promptItem({ name, title, description, arguments: given = [] }: Prompt): ToolItem {
  const texts = given.map((one) => [
    one.name,
    { type: "string", ...(one.description !== undefined && { description: one.description }) },
  ]);
  const required = given.filter((one) => one.required === true).map((one) => one.name);
  const schema = { type: "object", properties: Object.fromEntries(texts), required };
  return {
    method: "prompts/get",
    target: name,
    ...named(name, title, description),
    destructive: true,
    ...argumentsForm(schema),
  };
}

function resourceItem({ uri, name, title, description }: Resource): ToolItem {
  return { method: "resources/read", target: uri, ...named(uri, title ?? name, description), destructive: true };
}

function named(
  name: string,
  title: string | undefined,
  description: string | undefined,
): { label: Safe; description?: SafeText } {
  return {
    label: inert(title === undefined || title === name ? name : `${title} (${name})`, 300),
    ...(description !== undefined && {
      description: visible(description, { maxLength: 2000, multiline: true, maxLines: 20, inertLinks: true }),
    }),
  };
}

/** The schema as a form when it is as flat as one; else as text to write JSON by. */
function argumentsForm(schema: unknown): Pick<ToolItem, "form" | "json"> {
  try {
    const fields = readForm(schema, { maxFields: MAX_FIELDS, maxOptions: MAX_OPTIONS });
    return { form: { fields: fields.map((field) => describeField(field, false)) } };
  } catch {
    const text = visible(pretty(schema) ?? "{}", { maxLength: 10_000, multiline: true, maxLines: 300 });
    return { json: { schema: text } };
  }
}
