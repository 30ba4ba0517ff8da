/** `parley serve`. */
import { McpServer } from "@modelcontextprotocol/server";
import { messageOf } from "../../errors.ts";
import { isLoopback } from "../../internal/net.ts";
import { type ParleyEvent, taskFaults } from "../../server/events.ts";
import { createParley, type Parley } from "../../server/parley.ts";
import { EXIT, oneLine, usageError } from "../exit.ts";
import type { Io } from "../io.ts";
import { type EndpointOptions, nativeEndpoint, sdkEndpoint } from "./endpoints.ts";
import { type Endpoint, serveHttp } from "./http.ts";
import { loadModule, type ServedModule } from "./module.ts";
import { runStdio } from "./stdio.ts";
import { readTokens } from "./tokens.ts";

export type MountName = "native" | "sdk";

export interface ServeFlags {
  readonly port: number;
  readonly host: string;
  readonly stdio?: boolean;
  readonly bearerTokens?: string;
  /** Default: `native`, unless the module needs an `McpServer`. */
  readonly mount?: MountName;
}

/** Serves until `signal` fires (or, over stdio, the client is gone). */
export async function serve(specifier: string, flags: ServeFlags, io: Io, signal: AbortSignal): Promise<void> {
  // Before the module is loaded: over stdio only MCP may be there (G33), over HTTP only the line with the URL.
  const out = io.claimOut();
  const warn = (text: string) => io.err(oneLine(`parley: warning: ${text}`));
  const onError = ({ message }: Error) => warn(message);
  const verifier = flags.bearerTokens === undefined ? undefined : await readTokens(flags.bearerTokens, io.cwd);
  const module = await loadModule(specifier, io.cwd);
  const mount = mountFor(module, flags.mount);
  const parley = makeParley(module, { authenticated: verifier !== undefined, warn, io });
  signal.addEventListener("abort", leaveAtNextSignal, { once: true });
  if (flags.stdio === true) {
    await runStdio(await serverFactory(module, parley), parley, out, signal, onError);
    return parley.close();
  }

  const { host, port } = flags;
  const endpoint = await makeEndpoint(module, parley, mount, { host, onError, ...(verifier && { verifier }) });
  if (!isLoopback(host)) {
    const who = verifier === undefined ? "anybody there can call this server" : "tokens travel in the clear";
    warn(`${host} can be reached from other machines: ${who}; put TLS and authorization in front of it`);
  }
  const serving = await serveHttp({ host, port, endpoint }).catch((error: NodeJS.ErrnoException) => {
    throw usageError(
      `cannot listen on ${host}:${port} (${error.code ?? error.message})`,
      "choose another --port or --host",
    );
  });
  out.write(`${oneLine(`Serving ${module.name} at ${serving.url}`)}\n`);
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  await serving.stop();
  await parley.close();
}

/** npm passes on a signal that the terminal has sent already: two so close are one. */
const ONE_SIGNAL_MS = 500;

/** A second signal does not wait. What runs is taken over when its lease is over. */
function leaveAtNextSignal(): void {
  const firstAt = performance.now();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => performance.now() - firstAt < ONE_SIGNAL_MS || process.exit(EXIT.failed));
  }
}

function waitingFor(tasks: number): string {
  const what = tasks === 1 ? "a task that is running" : `${tasks} tasks that are running`;
  return `parley: waiting for ${what}; the signal again ends at once, and leaves the rest to another process`;
}

function makeParley(
  { options }: ServedModule,
  setting: { authenticated: boolean; warn: (text: string) => void; io: Io },
): Parley {
  if (options.callers === "authenticated" && !setting.authenticated) {
    throw usageError("the module serves authenticated callers only", "give --bearer-tokens FILE, over HTTP");
  }
  const faultOf = taskFaults();
  return createParley({
    callers: setting.authenticated ? "authenticated" : "anonymous",
    ...options,
    onEvent: (event) => {
      const text = warningOf(event) ?? faultOf(event);
      if (text !== undefined) setting.warn(text);
      if (event.type === "tasks_draining") setting.io.err(waitingFor(event.tasks));
      options.onEvent?.(event);
    },
  });
}

function mountFor({ register }: ServedModule, asked: MountName | undefined): MountName {
  if (register === undefined) return asked ?? "native";
  if (asked !== "native") return "sdk";
  throw usageError(
    "the module's export register needs an McpServer, which --mount native does not have",
    "give --mount sdk, or export flows",
  );
}

async function makeEndpoint(
  module: ServedModule,
  parley: Parley,
  mount: MountName,
  options: EndpointOptions,
): Promise<Endpoint> {
  if (mount === "sdk") return sdkEndpoint(await serverFactory(module, parley), parley, options);
  try {
    return nativeEndpoint(module, parley, options);
  } catch (error) {
    throw cannotRegister(error);
  }
}

/** Makes a server per request or connection. One is made at once, so that what cannot be registered is said at start-up. */
async function serverFactory(module: ServedModule, parley: Parley): Promise<() => Promise<McpServer>> {
  const { name, version, flows, register } = module;
  const factory = async (): Promise<McpServer> => {
    const server = new McpServer({ name, version });
    parley.register(server, flows);
    await register?.(server, parley);
    return server;
  };
  try {
    await factory();
  } catch (error) {
    throw cannotRegister(error);
  }
  return factory;
}

function cannotRegister(error: unknown): Error {
  const reason = messageOf(error);
  return usageError(`the module's flows cannot be registered: ${reason}`, "mend the module", error);
}

/** What the person who runs the server should read. The caller of a refused state is told the same for every reason. */
function warningOf(event: ParleyEvent): string | undefined {
  switch (event.type) {
    case "warning":
      return event.code === "anonymous_callers"
        ? "callers are anonymous, so states are not bound to a caller (over HTTP, --bearer-tokens tells callers apart)"
        : event.message;
    case "state_refused":
      return `a state was refused (${event.reason}): ${event.method} ${event.target}`;
    case "stray":
      return `${event.target}: ${event.operation} "${event.key}" came after its round was over; await every question and step`;
    case "round":
      return event.error && `${event.method} ${event.target} failed: ${event.error.message}`;
    case "ledger_unavailable":
      return `${event.method} ${event.target}: ${event.message}`;
    case "unawaited_question":
      return `${event.target}: returned while question "${event.key}" was open; await it`;
    case "unawaited_step":
      return `${event.target}: returned while step "${event.key}" was running; await it`;
    default:
      return undefined;
  }
}
