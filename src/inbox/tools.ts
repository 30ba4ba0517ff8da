/** What a person can start: the tools a server lists. */
import type { Tool } from "@modelcontextprotocol/client";
import { describeField } from "../present/field-view.ts";
import { MAX_FIELDS, MAX_OPTIONS } from "../present/model.ts";
import { pretty } from "../present/sampling-view.ts";
import { inert, visible } from "../present/text.ts";
import { readForm } from "../protocol/form/index.ts";
import type { ToolItem } from "./api.ts";
import type { Connections } from "./connections.ts";

export async function toolItems(connections: Connections, server: string): Promise<readonly ToolItem[]> {
  const tools = await connections.tools(server);
  return [...tools.values()].map(toolItem);
}

function toolItem({ name, title, description, inputSchema, annotations }: Tool): ToolItem {
  const label = title ?? annotations?.title;
  return {
    method: "tools/call",
    target: name,
    label: inert(label === undefined || label === name ? name : `${label} (${name})`, 200),
    ...(description !== undefined && { description: described(description) }),
    destructive: !(annotations?.readOnlyHint === true || annotations?.destructiveHint === false),
    ...argumentsForm(inputSchema),
  };
}

function described(text: string) {
  return visible(text, { maxLength: 2000, multiline: true, maxLines: 20, inertLinks: true });
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
