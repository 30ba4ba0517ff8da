import type { Client, Tool } from "@modelcontextprotocol/client";

/**
 * For `destructive` of `policyResponders`: whether a tool may do harm by what its server says of it. Only
 * `readOnlyHint: true` or `destructiveHint: false` makes it harmless; an unknown tool, no annotations, or a server
 * that does not answer mean that it may. The list is read when the first question comes, and kept.
 */
export function toolHarm(client: Client): (tool: string) => Promise<boolean> {
  let harmless: Promise<ReadonlySet<string>> | undefined;
  return async (tool) => {
    harmless ??= harmlessTools(client).catch(() => new Set<string>());
    return !(await harmless).has(tool);
  };
}

async function harmlessTools(client: Client): Promise<ReadonlySet<string>> {
  const { tools } = await client.listTools();
  const harmful = new Set(tools.filter(mayHarm).map(({ name }) => name));
  // A name that is listed twice is as harmful as its worst entry.
  return new Set(tools.map(({ name }) => name).filter((name) => !harmful.has(name)));
}

/** By what the server says of the tool: its own words. */
export function mayHarm({ annotations }: Pick<Tool, "annotations">): boolean {
  return annotations?.readOnlyHint !== true && annotations?.destructiveHint !== false;
}
