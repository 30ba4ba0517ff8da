import { type Dispatcher, Pool } from "undici";
import type { Signal } from "../internal/lazy-signal.ts";
import type { ResolvedLeanHttpOptions } from "./options.ts";

/** What stands before a response's body. Names of headers are in lower case. */
export interface ResponseHead {
  readonly status: number;
  readonly statusText: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Takes a response in. */
export interface Receiver {
  /** What it throws ends the response and its connection. */
  take(chunk: Buffer): void;
  /** The response is over: whole, or `broken` by what it says. What it throws, the request fails with. */
  end(broken: unknown): void | Promise<void>;
}

/** Decides who takes the response in. `close` gives it up, and its connection with it. */
export type Receive = (head: ResponseHead, close: () => void) => Receiver;

/** A request that had not left whole when its connection turned out to be dead: nobody can have acted on it. */
class Unsent extends Error {}

/** Connections to one address, kept and used again. */
export class Connection {
  readonly #pool: Pool;
  readonly #path: string;

  constructor({ url, maxConnections, idleConnectionMs, tls }: ResolvedLeanHttpOptions) {
    this.#path = url.pathname + url.search;
    this.#pool = new Pool(url.origin, {
      connections: maxConnections,
      keepAliveTimeout: idleConnectionMs,
      keepAliveMaxTimeout: idleConnectionMs,
      // Time is for whoever sends a request to limit: by its signal.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: { ...tls, timeout: 0 },
    });
  }

  /**
   * Sends one POST. When its connection turns out to be dead before the request has left whole, another is tried, once; a
   * request that may have arrived is never sent twice (C8).
   * @param signal ends the request and, if it is there already, its response.
   * @throws what is said of the connection, before there is a response; the signal's reason; what the receiver throws.
   */
  async post(headers: string[], body: string, signal: Signal | undefined, receive: Receive): Promise<void> {
    try {
      await this.#attempt(headers, body, signal, receive);
    } catch (error) {
      if (!(error instanceof Unsent)) throw error;
      await this.#attempt(headers, body, signal, receive).catch((again: unknown) => {
        throw again instanceof Unsent ? again.cause : again;
      });
    }
  }

  /** Ends every request and closes every connection. */
  close(): void {
    this.#pool.destroy().catch(() => undefined);
  }

  #attempt(headers: string[], body: string, signal: Signal | undefined, receive: Receive): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const exchange = new Exchange(receive, signal, resolve, reject);
      this.#pool.dispatch({ path: this.#path, method: "POST", headers, body }, exchange);
    });
  }
}

/** One request on its way, as undici tells of it. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #receive: Receive;
  readonly #signal: Signal | undefined;
  readonly #resolve: (end: void | Promise<void>) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #receiver: Receiver | undefined;

  constructor(
    receive: Receive,
    signal: Signal | undefined,
    resolve: (end: void | Promise<void>) => void,
    reject: (error: unknown) => void,
  ) {
    this.#receive = receive;
    this.#signal = signal;
    this.#resolve = resolve;
    this.#reject = reject;
    signal?.addEventListener("abort", this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It may have waited for a connection until now.
    if (this.#signal?.aborted) this.#onAbort();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: ResponseHead["headers"],
    statusText = "",
  ): void {
    if (status < 200) return;
    const close = (): void => controller.abort(new Error("The response was given up."));
    try {
      this.#receiver = this.#receive({ status, statusText, headers }, close);
    } catch (error) {
      controller.abort(error as Error);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    try {
      this.#receiver?.take(chunk);
    } catch (error) {
      controller.abort(error as Error);
    }
  }

  onResponseEnd(): void {
    this.#end(undefined);
  }

  onResponseError(_: unknown, error: Error & { syscall?: string }): void {
    if (this.#receiver !== undefined) {
      this.#end(error);
      return;
    }
    this.#leave();
    this.#reject(error.syscall === "write" ? new Unsent("The connection was dead.", { cause: error }) : error);
  }

  readonly #onAbort = (): void => {
    const reason = this.#signal?.reason;
    this.#controller?.abort(reason instanceof Error ? reason : new Error(String(reason)));
    this.#leave();
    this.#reject(reason);
  };

  #end(broken: unknown): void {
    this.#leave();
    try {
      this.#resolve(this.#receiver?.end(broken));
    } catch (error) {
      this.#reject(error);
    }
  }

  #leave(): void {
    this.#signal?.removeEventListener("abort", this.#onAbort);
  }
}
