/** `subscriptions/listen` as bytes on the wire. */
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { EVERYTHING, type Wire } from "./tasks.ts";
import { until } from "./until.ts";

export const SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId";

export interface ListenOptions {
  readonly id?: string | number;
  readonly token?: string;
  readonly capabilities?: object;
}

/** One open subscription. */
export class Listening {
  readonly #req: ClientRequest;
  readonly #res: IncomingMessage;
  readonly #read: Wire[] = [];
  #rest = "";
  #text = "";
  ended = false;

  constructor(req: ClientRequest, res: IncomingMessage) {
    this.#req = req;
    this.#res = res;
    res.setEncoding("utf8");
    res.on("data", (chunk: string) => {
      this.#text += chunk;
      this.#take(chunk);
    });
    res.on("end", () => {
      if (this.#text.startsWith("{")) this.#read.push(JSON.parse(this.#text));
      this.ended = true;
    });
    res.on("error", () => undefined);
  }

  get status(): number {
    return this.#res.statusCode ?? 0;
  }

  get headers(): IncomingMessage["headers"] {
    return this.#res.headers;
  }

  get text(): string {
    return this.#text;
  }

  /** Whole messages, so far. */
  get messages(): readonly Wire[] {
    return this.#read;
  }

  #take(chunk: string): void {
    const events = (this.#rest + chunk).split("\n\n");
    this.#rest = events.pop() ?? "";
    for (const event of events) {
      const data = event.split("\n").find((line) => line.startsWith("data: "));
      if (data !== undefined) this.#read.push(JSON.parse(data.slice("data: ".length)));
    }
  }

  /** Params of the messages of one method. */
  of(method: string): Wire[] {
    return this.messages.filter((message) => message["method"] === method).map(({ params }) => params as Wire);
  }

  /** Tasks as they were told of. */
  tasks(taskId?: string): Wire[] {
    return this.of("notifications/tasks").filter((task) => taskId === undefined || task["taskId"] === taskId);
  }

  statuses(taskId?: string): unknown[] {
    return this.tasks(taskId).map(({ status }) => status);
  }

  /** What was agreed to. */
  acknowledged(): Promise<Wire> {
    return until(() => {
      const [params] = this.of("notifications/subscriptions/acknowledged");
      return params && (params["notifications"] as Wire);
    });
  }

  /** The client goes away. */
  drop(): void {
    this.#req.destroy();
  }
}

export function listenRequest(notifications: unknown, options: ListenOptions = {}) {
  const { id = 7, token, capabilities = EVERYTHING } = options;
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "subscriptions/listen",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  return { headers, body: { jsonrpc: "2.0", id, method: "subscriptions/listen", params: { notifications, _meta } } };
}

export function openListen(url: string, notifications: unknown, options: ListenOptions = {}): Promise<Listening> {
  const { headers, body } = listenRequest(notifications, options);
  return new Promise((resolve, reject) => {
    const req = request(url, { method: "POST", headers, agent: false }, (res) => resolve(new Listening(req, res)));
    req.on("error", reject).end(JSON.stringify(body));
  });
}
