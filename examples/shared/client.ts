/** What the self-checking clients of all stories share. */
import { type CallToolResult, Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

export interface ConnectOptions {
  /** Who calls: a name of `tokens.json`. Default: nobody in particular. */
  readonly as?: "ada" | "eve";
  /** Default: the global `fetch`. */
  readonly fetch?: typeof fetch;
}

/** An SDK client of revision 2026-07-28, connected to `url`. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Client> {
  const client = new Client(
    { name: "example-host", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } } },
  );
  const headers: Record<string, string> =
    options.as === undefined ? {} : { authorization: `Bearer ${options.as}-dev-token` };
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    ...(options.fetch && { fetch: options.fetch }),
  });
  await client.connect(transport);
  return client;
}

/** The text blocks of a result, one per line. */
export function textOf(result: CallToolResult): string {
  return result.content.map((block) => (block.type === "text" ? block.text : `[${block.type}]`)).join("\n");
}
