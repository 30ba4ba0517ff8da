/** What the SDK serves for us: earlier revisions, subscriptions, and what is asked of it once. */
import { toNodeHandler } from "@modelcontextprotocol/node";
import {
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  type McpHttpHandler,
  McpServer,
  PROTOCOL_VERSION_META_KEY,
} from "@modelcontextprotocol/server";
import type { AnyFlow } from "../../flow/define.ts";
import { REVISION } from "./envelope.ts";
import type { ResolvedHandler } from "./options.ts";

/** What `parley` does to the SDK's own. */
export interface OnSdk {
  /** As `parley.register`. */
  register(mcpServer: McpServer, flows: readonly AnyFlow[]): void;
  /** As `parley.taskSubscriptions`. */
  taskSubscriptions(handler: McpHttpHandler, options: { readonly keepAliveMs: number }): McpHttpHandler;
}

/** The same definitions behind the SDK's own handler, which is made when it is first needed. */
export class SdkSide {
  readonly #options: ResolvedHandler;
  readonly #parley: OnSdk;
  #handler: McpHttpHandler | undefined;
  #listener: ReturnType<typeof toNodeHandler> | undefined;

  constructor(options: ResolvedHandler, parley: OnSdk) {
    this.#options = options;
    this.#parley = parley;
  }

  /** @throws what the SDK says of definitions that cannot be registered, such as a name used twice. */
  makeServer(): McpServer {
    const { info, server, flows } = this.#options;
    const mcpServer = new McpServer(info, server);
    this.#parley.register(mcpServer, flows);
    return mcpServer;
  }

  get handler(): McpHttpHandler {
    this.#handler ??= this.#makeHandler();
    return this.#handler;
  }

  get listener(): ReturnType<typeof toNodeHandler> {
    this.#listener ??= toNodeHandler(this.handler, { onerror: this.#options.onError });
    return this.#listener;
  }

  /** What the SDK answers to a request of this revision, as a value. */
  async ask(method: string): Promise<{ status: number; body: Record<string, unknown> }> {
    const meta = { [PROTOCOL_VERSION_META_KEY]: REVISION, [CLIENT_CAPABILITIES_META_KEY]: {} };
    const message = { jsonrpc: "2.0", id: 0, method, params: { _meta: meta } };
    const request = new Request("http://localhost/", {
      method: "POST",
      headers: { "content-type": "application/json", "mcp-protocol-version": REVISION, "mcp-method": method },
      body: JSON.stringify(message),
    });
    const response = await this.handler.fetch(request);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  #makeHandler(): McpHttpHandler {
    const { legacy, onError, limits } = this.#options;
    const { keepAliveMs, maxBodyBytes: maxRequestBodySize } = limits;
    const options = { legacy, onerror: onError, keepAliveMs, maxRequestBodySize };
    const handler = createMcpHandler(() => this.makeServer(), options);
    return this.#parley.taskSubscriptions(handler, { keepAliveMs });
  }

  async close(): Promise<void> {
    await this.#handler?.close();
  }
}
