/** The two ways to serve flows over HTTP. What holds for one must hold for the other. */
import { createServer } from "node:http";
import { type AuthInfo, McpServer } from "@modelcontextprotocol/server";
import type { AnyFlow, HandlerOptions, Parley, ParleyHandler } from "../../src/index.ts";
import { byKind } from "../../src/server/native/options.ts";
import { listen, serveHttp, type TestServer } from "./http.ts";

export const MOUNTS = ["sdk", "native"] as const;
export type Mount = (typeof MOUNTS)[number];

/** Who a bearer token stands for. */
export type Callers = (token: string | undefined) => AuthInfo | undefined;

export interface MountOptions {
  readonly name?: string;
  readonly callers?: Callers;
  /** Given what serves: how to tell of list changes, and how to end. */
  readonly onHandler?: (handler: Pick<ParleyHandler, "notify" | "close" | "fetch">) => void;
  /** For the native handler only. */
  readonly handler?: Partial<HandlerOptions>;
}

/** Serves `flows`, and nothing else, on a mount. */
export function serveFlows(
  mount: Mount,
  parley: Parley,
  flows: readonly AnyFlow[],
  options: MountOptions = {},
): Promise<TestServer> {
  const { name = "s", callers } = options;
  if (mount === "native") return serveNative(parley, flows, options);
  const factory = () => {
    const mcp = new McpServer({ name, version: "1.0.0" });
    parley.register(mcp, flows);
    return mcp;
  };
  return serveHttp(factory, callers, (made) => {
    const handler = parley.taskSubscriptions(made);
    options.onHandler?.(handler);
    return handler;
  });
}

function serveNative(parley: Parley, flows: readonly AnyFlow[], options: MountOptions): Promise<TestServer> {
  const { callers } = options;
  const handler = parley.handler(nativeOptions(flows, options));
  options.onHandler?.(handler);
  const http = createServer((req, res) => {
    // As a middleware would leave it.
    const auth = callers?.(req.headers.authorization?.replace(/^Bearer /, ""));
    handler.listener(auth === undefined ? req : Object.assign(req, { auth }), res);
  });
  return listen(http, () => handler.close());
}

/** For `parley.handler`. */
export function nativeOptions(flows: readonly AnyFlow[], options: MountOptions = {}): HandlerOptions {
  return {
    name: options.name ?? "s",
    version: "1.0.0",
    ...byKind(flows),
    ...options.handler,
  };
}
