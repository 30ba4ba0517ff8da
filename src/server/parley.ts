import type { AuthInfo, McpHttpHandler, McpServer, Transport } from "@modelcontextprotocol/server";
import { ParleyError } from "../errors.ts";
import type { AnyFlow } from "../flow/define.ts";
import { mount } from "./mount.ts";
import { createHandler, type ParleyHandler } from "./native/handler.ts";
import type { HandlerOptions } from "./native/options.ts";
import { type ParleyOptions, resolveOptions } from "./options.ts";
import { RoundServer } from "./serve.ts";
import { TaskDesk } from "./tasks/desk.ts";
import { listening, type TaskSubscriptionOptions } from "./tasks/listen.ts";
import { TaskTransport } from "./tasks/listen-transport.ts";
import { TaskMethods } from "./tasks/methods.ts";
import { mountTasks } from "./tasks/mount.ts";
import { TaskRunner } from "./tasks/runner.ts";
import { TaskWatch } from "./tasks/watch.ts";
import { createTickets, type TicketOptions, type Tickets } from "./tickets.ts";

export interface Parley {
  /**
   * Adds flows to an `McpServer`. Call it wherever you register tools: under `createMcpHandler` that is once per
   * request, and it is cheap. Existing tools, prompts and resources stay as they are.
   * @throws ParleyError `configuration`, `sdk_incompatible`
   */
  register(mcpServer: McpServer, flows: readonly AnyFlow[]): void;
  /**
   * Serves flows over HTTP without an `McpServer`, several times as fast. Clients of earlier revisions and subscriptions
   * are handed to the SDK, on the same definitions.
   * @throws ParleyError `configuration`, `sdk_incompatible`
   */
  handler(options: HandlerOptions): ParleyHandler;
  /**
   * Runs tasks of these tools here, from now on. `register` and `handler` do it, too: call it where a process must go on
   * with tasks before its first request, or serves none. Needs the option `tasks`.
   * @throws ParleyError `configuration`
   */
  runTasks(flows: readonly AnyFlow[]): void;
  /**
   * Puts task notifications on what serves an `McpServer`, which has no way for them: clients that name `taskIds` in
   * `subscriptions/listen` are sent `notifications/tasks` (H30). `parley.handler` does it by itself. Use, and close, what this
   * returns; without the option `tasks` it is what was given.
   * @param served What `createMcpHandler` made; or a transport for `serveStdio`.
   * @throws ParleyError `configuration`
   */
  taskSubscriptions(served: McpHttpHandler, options?: TaskSubscriptionOptions): McpHttpHandler;
  taskSubscriptions(served: Transport): Transport;
  /**
   * Lets running tasks end (`tasks.drainMs`), gives back the rest, and takes no more; then ends task subscriptions. Call it on
   * SIGTERM.
   */
  close(): Promise<void>;
  /**
   * Links that only the call's own caller can complete. Needs the option `ledger`.
   * @throws ParleyError `configuration`
   */
  tickets(options: TicketOptions): Tickets;
  /** Ids of the keys in use, newest first. Ids are public. */
  readonly keyIds: readonly string[];
}

/**
 * Parley for one service: keys, limits and an observer. Make one per process and share it.
 * @throws ParleyError `configuration` for an option that is missing or wrong, with the option named.
 */
export function createParley(options: ParleyOptions = {}): Parley {
  const resolved = resolveOptions(options);
  const { tasks } = resolved;
  const desk = tasks && new TaskDesk({ ...resolved, tasks });
  const runner = tasks && desk && new TaskRunner(desk, { ...resolved, tasks });
  const rounds = new RoundServer(resolved, desk);
  const principal = (authInfo: AuthInfo | undefined) => rounds.principal(authInfo);
  const watch = tasks && desk && new TaskWatch(desk, { ...resolved, tasks, principal });
  const methods = desk && new TaskMethods(desk, principal);
  const prefixes = resolved.ring.ids.map((id) => `p1.${id}.`);
  const isOurs = (state: string) => prefixes.some((prefix) => state.startsWith(prefix));
  const register = (mcpServer: McpServer, flows: readonly AnyFlow[]) => {
    mount(mcpServer, flows, rounds, isOurs);
    if (methods === undefined) return checkNoneIsTask(flows);
    mountTasks(mcpServer, methods);
    runner?.add(flows);
  };
  function taskSubscriptions(served: McpHttpHandler, own?: TaskSubscriptionOptions): McpHttpHandler;
  function taskSubscriptions(served: Transport): Transport;
  function taskSubscriptions(served: McpHttpHandler | Transport, own?: TaskSubscriptionOptions) {
    if (watch === undefined) return served;
    return isTransport(served) ? new TaskTransport(served, watch) : listening(served, watch, resolved.holdClock, own);
  }
  return {
    register,
    handler: (own) => createHandler(own, rounds, { register, taskSubscriptions }, methods),
    taskSubscriptions,
    runTasks: (flows) => {
      if (runner === undefined)
        throw new ParleyError("configuration", "runTasks: createParley needs the option tasks.");
      if (!Array.isArray(flows))
        throw new ParleyError("configuration", "runTasks: the argument must be an array of flows: runTasks([flow]).");
      runner.add(flows);
    },
    close: async () => {
      await runner?.close();
      await watch?.close();
    },
    tickets: (own) => createTickets(resolved, own),
    keyIds: resolved.ring.ids,
  };
}

/** Said where the server starts, not to its first caller. @throws ParleyError `configuration` */
function checkNoneIsTask(flows: readonly AnyFlow[]): void {
  for (const flow of flows) {
    if (flow.type !== "tool") continue;
    const { background } = flow.config;
    if (background === undefined || background.otherwise === "foreground") continue;
    const remedy = `Give createParley the option tasks, or the tool background: { otherwise: "foreground" }.`;
    throw new ParleyError(
      "configuration",
      `tool "${flow.name}" starts as a task, and nothing runs tasks here. ${remedy}`,
    );
  }
}

function isTransport(served: McpHttpHandler | Transport): served is Transport {
  return typeof (served as Partial<Transport> | undefined)?.send === "function";
}
