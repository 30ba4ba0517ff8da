/** Tasks as bytes on the wire. */
import type { TaskStore } from "../../src/index.ts";
import { rpc } from "./http.ts";
import { until } from "./until.ts";

export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
export const EVERYTHING = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {}, ...TASKS };

export type Answered = Awaited<ReturnType<typeof rpc>>;
export type Wire = Record<string, unknown>;

/** One caller's view of a server of tasks. */
export class TaskWire {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  capabilities: object;

  constructor(url: string, { token, capabilities = EVERYTHING }: { token?: string; capabilities?: object } = {}) {
    this.#url = url;
    this.#headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    this.capabilities = capabilities;
  }

  call(name: string, args: object = {}, more: object = {}): Promise<Answered> {
    return this.#send("tools/call", { name, arguments: args, ...more }, name);
  }

  /** Calls a tool that becomes a task at once. */
  async begin(name: string, args: object = {}): Promise<string> {
    const { result, error } = await this.call(name, args);
    if (result?.["resultType"] !== "task")
      throw new Error(`${name} became no task: ${JSON.stringify(result ?? error)}`);
    return String(result["taskId"]);
  }

  get(taskId: string): Promise<Answered> {
    return this.#send("tasks/get", { taskId }, taskId);
  }

  update(taskId: string, inputResponses: unknown): Promise<Answered> {
    return this.#send("tasks/update", { taskId, inputResponses }, taskId);
  }

  cancel(taskId: string): Promise<Answered> {
    return this.#send("tasks/cancel", { taskId }, taskId);
  }

  /** Looks until the task is as `holds` wants it. */
  async when(taskId: string, holds: (task: Wire) => boolean): Promise<Wire> {
    return until(async () => {
      const { result, error } = await this.get(taskId);
      if (result === undefined) throw new Error(`tasks/get: ${JSON.stringify(error)}`);
      return holds(result) ? result : undefined;
    });
  }

  ended(taskId: string): Promise<Wire> {
    return this.when(taskId, ({ status }) => ["completed", "failed", "cancelled"].includes(String(status)));
  }

  /** The questions that are out, once there are any. */
  async questions(taskId: string): Promise<Record<string, { method: string; params: Wire }>> {
    const { inputRequests } = await this.when(taskId, ({ status }) => status === "input_required");
    return inputRequests as Record<string, { method: string; params: Wire }>;
  }

  send(method: string, params: Wire, headers: Record<string, string> = {}): Promise<Answered> {
    return rpc(this.#url, method, params, {
      capabilities: this.capabilities,
      headers: { ...this.#headers, ...headers },
    });
  }

  #send(method: string, params: Wire, name: string): Promise<Answered> {
    return this.send(method, params, { "mcp-name": name });
  }
}

/** The text of a tool's result, or of the result inside a task. */
export function textIn(result: unknown): string | undefined {
  return (result as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text;
}

export const yes = { action: "accept", content: { confirm: true } };
export const no = { action: "accept", content: { confirm: false } };

/** A store as a process sees it that can die: from then on nothing comes back. */
export function mortal(store: TaskStore): { store: TaskStore; die(): void } {
  let dead = false;
  const never = new Promise<never>(() => {});
  const handler: ProxyHandler<TaskStore> = {
    get: (target, name) => {
      const own = Reflect.get(target, name) as (...args: unknown[]) => unknown;
      return typeof own === "function" ? (...args: unknown[]) => (dead ? never : own.apply(target, args)) : own;
    },
  };
  return {
    store: new Proxy(store, handler),
    die: () => {
      dead = true;
    },
  };
}
