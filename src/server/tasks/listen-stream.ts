/** What the SDK's subscription tells and what tasks tell, as one stream of events. */
import { SUBSCRIPTION_ID_META_KEY } from "@modelcontextprotocol/server";
import { eventText, KEEP_ALIVE } from "../native/stream.ts";
import type { HoldClock } from "../once.ts";
import type { TaskSubscription } from "./subscription.ts";

/** Reads the events of a stream, as text. */
export class Events {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(body: ReadableStream<Uint8Array>) {
    this.#reader = body.getReader();
  }

  /** The next event, its empty line included; `undefined` at the end. */
  async next(): Promise<string | undefined> {
    for (;;) {
      const end = this.#rest.indexOf("\n\n") + 2;
      if (end >= 2) {
        const event = this.#rest.slice(0, end);
        this.#rest = this.#rest.slice(end);
        return event;
      }
      const { done, value } = await this.#reader.read();
      if (done) return undefined;
      this.#rest += this.#decoder.decode(value, { stream: true });
    }
  }

  cancel(): void {
    void this.#reader.cancel().catch(() => undefined);
  }
}

/** The message in an event of our own process; `undefined` for a comment. */
export function messageIn(event: string): Record<string, unknown> | undefined {
  const data = event.split("\n").find((line) => line.startsWith("data: "));
  return data === undefined ? undefined : (JSON.parse(data.slice("data: ".length)) as Record<string, unknown>);
}

export interface ListenStreamOptions {
  /** The request's id, which is the subscription's. */
  readonly id: unknown;
  /** The first event. */
  readonly acknowledgement: string;
  /** What the SDK tells after it, and its closing message. */
  readonly sdk: Events;
  readonly subscription: TaskSubscription;
  /** Fires when the client is gone. */
  readonly signal: AbortSignal;
  /** Pause between two comments that keep the stream alive once the SDK's part is over, in ms; 0 for none. */
  readonly keepAliveMs: number;
  readonly clock: HoldClock;
  onEnd(stream: ListenStream): void;
}

/**
 * One event is made when the reader has taken the last one: for a slow reader nothing piles up, and of each task it gets the
 * latest. The stream ends, with the SDK's closing message, when neither part can tell anything more.
 */
export class ListenStream {
  readonly #options: ListenStreamOptions;
  readonly #meta: string;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #wake: () => void = () => {};
  #fromSdk: string | undefined;
  #isReading = false;
  /** The SDK's closing message, once its part is over. */
  #closing: string | undefined;
  #sdkIsOver = false;
  #ended = false;
  #stopKeepAlive: () => void = () => {};
  readonly body: ReadableStream<Uint8Array>;

  constructor(options: ListenStreamOptions) {
    this.#options = options;
    this.#meta = JSON.stringify({ [SUBSCRIPTION_ID_META_KEY]: options.id });
    const { acknowledgement, subscription, signal } = options;
    this.body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#controller = controller;
        this.#send(acknowledgement);
      },
      pull: () => this.#pull(),
      cancel: () => this.#free(),
    });
    subscription.onNews = () => this.#wake();
    signal.addEventListener("abort", this.drop, { once: true });
  }

  /** Tells of tasks no more; what the SDK tells goes on until the SDK ends it. */
  endTasks(): void {
    this.#options.subscription.close();
  }

  async #pull(): Promise<void> {
    const { subscription } = this.#options;
    while (!this.#ended) {
      if (subscription.refusal !== undefined) return this.#end(this.#refusalEvent());
      const next = this.#next();
      if (next !== undefined) return this.#send(next);
      if (this.#sdkIsOver && subscription.isOver) return this.#end(this.#closing);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#read();
      });
    }
  }

  #next(): string | undefined {
    const event = this.#fromSdk;
    if (event !== undefined) {
      this.#fromSdk = undefined;
      return event;
    }
    const task = this.#options.subscription.next();
    if (task === undefined) return undefined;
    const params = `${task.slice(0, -1)},"_meta":${this.#meta}}`;
    return eventText(`{"jsonrpc":"2.0","method":"notifications/tasks","params":${params}}`);
  }

  /** One event ahead at most. */
  #read(): void {
    if (this.#isReading || this.#sdkIsOver) return;
    this.#isReading = true;
    void this.#readOne().finally(() => {
      this.#isReading = false;
      this.#wake();
    });
  }

  async #readOne(): Promise<void> {
    const event = await this.#options.sdk.next().catch(() => undefined);
    if (event === undefined) this.#sdkIsOver = true;
    else if (messageIn(event)?.["id"] === undefined) this.#fromSdk = event;
    else this.#closing = event;
    if (this.#sdkIsOver) this.#keepAlive();
  }

  /** The SDK did so while its part lasted. */
  #keepAlive(): void {
    const { keepAliveMs, clock } = this.#options;
    if (keepAliveMs === 0 || this.#ended) return;
    this.#stopKeepAlive = clock.every(keepAliveMs, () => {
      if ((this.#controller?.desiredSize ?? 0) > 0) this.#send(KEEP_ALIVE);
    });
  }

  #send(event: string): void {
    this.#controller?.enqueue(new TextEncoder().encode(event));
  }

  #refusalEvent(): string {
    const { code, message, data } = this.#options.subscription.refusal ?? {};
    return eventText(JSON.stringify({ jsonrpc: "2.0", id: this.#options.id, error: { code, message, data } }));
  }

  #end(last: string | undefined): void {
    if (last !== undefined) this.#send(last);
    this.drop();
  }

  /** Nobody reads any more, or nothing is left to read. */
  readonly drop = (): void => {
    if (this.#ended) return;
    this.#free();
    this.#controller?.close();
  };

  #free(): void {
    if (this.#ended) return;
    this.#ended = true;
    const { sdk, subscription, signal, onEnd } = this.#options;
    this.#stopKeepAlive();
    signal.removeEventListener("abort", this.drop);
    subscription.close();
    sdk.cancel();
    this.#wake();
    onEnd(this);
  }
}
