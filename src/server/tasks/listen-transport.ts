/**
 * Task notifications over one pipe (stdio), in front of the SDK's transport.
 *
 * As over HTTP the SDK answers `subscriptions/listen` first. Its acknowledgement is held until it is known which tasks the
 * client may listen for; what the SDK tells meanwhile comes after it. A subscription ends when the client cancels it, or with
 * the pipe.
 */
import {
  type JSONRPCMessage,
  SUBSCRIPTION_ID_META_KEY,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/server";
import { isObject } from "../../internal/json.ts";
import { type RequestId, thrownAnswer } from "../native/answer.ts";
import { acknowledgementOf, type TaskListen, taskListenOf, withTaskIds } from "./listen-messages.ts";
import type { TaskSubscription } from "./subscription.ts";
import type { TaskWatch } from "./watch.ts";

export class TaskTransport implements Transport {
  readonly #wire: Transport;
  readonly #watch: TaskWatch;
  readonly #listeners = new Map<RequestId, Listener>();
  onmessage?: Transport["onmessage"];
  onclose?: () => void;
  onerror?: (error: Error) => void;

  constructor(wire: Transport, watch: TaskWatch) {
    this.#wire = wire;
    this.#watch = watch;
    wire.onmessage = (message, extra) => {
      this.#hear(message);
      this.onmessage?.(message, extra);
    };
    wire.onclose = () => {
      this.#endAll();
      this.onclose?.();
    };
    wire.onerror = (error) => this.onerror?.(error);
  }

  start(): Promise<void> {
    return this.#wire.start();
  }

  close(): Promise<void> {
    this.#endAll();
    return this.#wire.close();
  }

  setProtocolVersion(version: string): void {
    this.#wire.setProtocolVersion?.(version);
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const id = subscriptionOf(message);
    const listener = id === undefined ? undefined : this.#listeners.get(id);
    if (id === undefined || listener === undefined) return this.#wire.send(message, options);
    if ("method" in message) {
      listener.pass(message);
      return Promise.resolve();
    }
    // The SDK has refused it, or ends it.
    this.#end(id);
    return this.#wire.send(message, options);
  }

  #hear(message: JSONRPCMessage): void {
    const asked = taskListenOf(message);
    if (asked !== undefined) {
      this.#end(asked.id);
      const onFault = (error: unknown) => this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      const forget = () => {
        this.#listeners.delete(asked.id);
        this.onmessage?.({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: asked.id } });
      };
      this.#listeners.set(asked.id, new Listener(asked, this.#wire, this.#watch, { onFault, forget }));
    } else if ("method" in message && message.method === "notifications/cancelled") {
      this.#end(message.params?.["requestId"] as RequestId);
    }
  }

  #end(id: RequestId): void {
    this.#listeners.get(id)?.end();
    this.#listeners.delete(id);
  }

  #endAll(): void {
    for (const id of this.#listeners.keys()) this.#end(id);
  }
}

interface ListenerOptions {
  onFault(error: unknown): void;
  /** Makes the SDK forget a subscription that it has taken in. */
  forget(): void;
}

/** One subscription on the pipe. */
class Listener {
  readonly #asked: TaskListen;
  readonly #wire: Transport;
  readonly #watch: TaskWatch;
  readonly #options: ListenerOptions;
  #subscription: TaskSubscription | undefined;
  /** What the SDK sends goes out in its order. */
  #sent: Promise<void> | undefined;
  #isPumping = false;
  #ended = false;

  constructor(asked: TaskListen, wire: Transport, watch: TaskWatch, options: ListenerOptions) {
    this.#asked = asked;
    this.#wire = wire;
    this.#watch = watch;
    this.#options = options;
  }

  /** The SDK's first message is its acknowledgement. It must not wait for this one: all that it serves would. */
  pass(message: JSONRPCMessage): void {
    const send = () => (this.#ended ? undefined : this.#wire.send(message));
    this.#sent = (this.#sent?.then(send) ?? this.#open(message)).catch(this.#options.onFault);
  }

  end(): void {
    this.#ended = true;
    this.#subscription?.close();
  }

  async #open(message: JSONRPCMessage): Promise<void> {
    const acknowledged = acknowledgementOf(message);
    const { taskIds, capabilities } = this.#asked;
    try {
      this.#subscription = await this.#watch.open({ taskIds, capabilities, authInfo: undefined });
    } catch (error) {
      return this.#refuse(error);
    }
    if (this.#ended) return this.#subscription.close();
    await this.#wire.send(withTaskIds(acknowledged, this.#subscription.accepted) as unknown as JSONRPCMessage);
    this.#subscription.onNews = () => void this.#pump().catch(this.#options.onFault);
    this.#subscription.onNews();
  }

  /** One message at a time, so that a client which does not read gets the latest later. */
  async #pump(): Promise<void> {
    if (this.#isPumping || this.#ended) return;
    this.#isPumping = true;
    try {
      await this.#sendNews(this.#subscription as TaskSubscription);
    } finally {
      this.#isPumping = false;
    }
  }

  async #sendNews(subscription: TaskSubscription): Promise<void> {
    while (!this.#ended) {
      const text = subscription.next();
      if (text === undefined) break;
      const params = { ...JSON.parse(text), _meta: { [SUBSCRIPTION_ID_META_KEY]: this.#asked.id } };
      await this.#wire.send({ jsonrpc: "2.0", method: "notifications/tasks", params });
    }
    if (subscription.refusal !== undefined) await this.#refuse(subscription.refusal);
    // Its place is free when all its tasks have ended.
    if (subscription.isOver) subscription.close();
  }

  async #refuse(thrown: unknown): Promise<void> {
    if (this.#ended) return;
    this.end();
    this.#options.forget();
    await this.#wire.send(JSON.parse(thrownAnswer(this.#asked.id, thrown).text));
  }
}

/** Which subscription a message to the client belongs to: a notification by its mark, an answer by its id. */
function subscriptionOf(message: JSONRPCMessage): RequestId | undefined {
  if (!("method" in message)) return message.id;
  const meta = message.params?.["_meta"];
  return isObject(meta) ? (meta[SUBSCRIPTION_ID_META_KEY] as RequestId | undefined) : undefined;
}
