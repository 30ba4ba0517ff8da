/** What a server lists, over all pages, bounded: one that lists without end must not keep an inbox busy. */
import type { Client, Prompt, Resource, Tool } from "@modelcontextprotocol/client";

const MAX_LISTED = 2000;

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string | undefined;
}

export async function listTools(client: Client): Promise<Tool[]> {
  if (client.getServerCapabilities()?.tools === undefined) return [];
  return all(async (at) => {
    const { tools, nextCursor } = await client.listTools(at);
    return { items: tools, nextCursor };
  });
}

export async function listPrompts(client: Client): Promise<Prompt[]> {
  if (client.getServerCapabilities()?.prompts === undefined) return [];
  return all(async (at) => {
    const { prompts, nextCursor } = await client.listPrompts(at);
    return { items: prompts, nextCursor };
  });
}

export async function listResources(client: Client): Promise<Resource[]> {
  if (client.getServerCapabilities()?.resources === undefined) return [];
  return all(async (at) => {
    const { resources, nextCursor } = await client.listResources(at);
    return { items: resources, nextCursor };
  });
}

async function all<T>(list: (at: { cursor?: string }) => Promise<Page<T>>): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await list(cursor === undefined ? {} : { cursor });
    found.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined && found.length < MAX_LISTED);
  return found.slice(0, MAX_LISTED);
}
