/**
 * Connecting an account by URL. The link leads to the server's own page, which checks who opens it; the credential goes
 * from the provider to the server and never passes the client. "Agreed to open" is not "done": the call waits for that.
 * Run: npx parley serve examples/dist/connect-account/server.js --port 3000 --bearer-tokens examples/tokens.json
 */
import type { McpServer } from "@modelcontextprotocol/server";
import { type Parley, type ParleyOptions, type ToolFlow, tool } from "mcp-parley";
import { memoryLedger } from "mcp-parley/ledger/memory";
import { servePage } from "./page.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const failed = (value: string) => ({ ...text(value), isError: true });

/** One round waits 30 s at most, half of what clients usually give a request; all of them together wait four minutes. */
export async function connectAccount(parley: Parley, { ttlMs = 240_000, pollMs = 30_000 } = {}): Promise<ToolFlow> {
  /** By user. Only the server's own calls to the provider read it. */
  const credentials = new Map<string, string>();
  const tickets = parley.tickets({ url: (ticket) => `${page.origin}/connect?ticket=${ticket}`, ttlMs });
  const page = await servePage(tickets, credentials);

  return tool(
    "connect_account",
    { description: "Connects your account at the provider, in the browser" },
    async (_args, flow) => {
      const user = flow.caller?.subject;
      // Without a caller there is nobody to compare the browser's user with: no link.
      if (user === undefined) return failed("Sign in to connect an account.");
      const before = await flow.step("before", () => credentials.has(user));
      if (before) return text(`The account of ${user} is connected already.`);

      await tickets.ask(flow, "connect", { message: "Connect your account on our page.", pollMs });
      return text(`The account of ${user} is connected.`);
    },
  );
}

/** `register` runs once per request; the page and its tickets are there once. */
const flows = new WeakMap<Parley, Promise<ToolFlow>>();

export async function register(mcpServer: McpServer, parley: Parley): Promise<void> {
  const flow = flows.get(parley) ?? connectAccount(parley);
  flows.set(parley, flow);
  parley.register(mcpServer, [await flow]);
}

export const name = "connect-account";
export const version = "1.0.0";
/** That a ticket opens once is written down here. For one process; for several, one of the other ledgers. */
export const options: ParleyOptions = { ledger: memoryLedger() };
