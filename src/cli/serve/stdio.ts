import type { Writable } from "node:stream";
import type { McpServerFactory } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Parley } from "../../server/parley.ts";

/** Serves one client until its end of the pipe closes, or `signal` fires. */
export async function runStdio(
  factory: McpServerFactory,
  parley: Parley,
  wire: Writable,
  signal: AbortSignal,
  onError: (error: Error) => void,
): Promise<void> {
  const transport = parley.taskSubscriptions(new StdioServerTransport(process.stdin, wire));
  const handle = serveStdio(factory, { transport, onerror: onError });
  await new Promise<void>((resolve) => {
    const { onclose } = transport;
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await handle.close();
}
