import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { urlToHttpOptions } from "node:url";
import type { ResolvedLeanHttpOptions } from "./options.ts";

/** A request that had not left whole when its connection turned out to be dead: nobody can have acted on it. */
class Unsent extends Error {}

/** Connections to one address, kept and used again. */
export class Connection {
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #target: object;
  readonly #host: string;
  readonly #request: typeof httpRequest;
  readonly #open = new Set<ClientRequest>();

  constructor({ url, maxConnections, idleConnectionMs, tls }: ResolvedLeanHttpOptions) {
    const secure = url.protocol === "https:";
    const options = { keepAlive: true, maxSockets: maxConnections, timeout: idleConnectionMs, ...(secure && tls) };
    this.#agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
    this.#request = secure ? httpsRequest : httpRequest;
    const { protocol, hostname, port, path } = urlToHttpOptions(url);
    this.#target = { method: "POST", protocol, hostname, path, agent: this.#agent, ...(port && { port }) };
    this.#host = url.host;
  }

  /**
   * Sends one POST. When a kept connection turns out to be dead before the request has left whole, another is tried,
   * once; a request that may have arrived is never sent twice (C8).
   * @param signal ends the request and, if it is there already, its response.
   * @throws what Node says of the connection; the signal's reason.
   */
  async post(headers: readonly string[], body: string, signal: AbortSignal | undefined): Promise<IncomingMessage> {
    try {
      return await this.#attempt(headers, body, signal);
    } catch (error) {
      if (!(error instanceof Unsent)) throw error;
    }
    try {
      return await this.#attempt(headers, body, signal);
    } catch (error) {
      throw error instanceof Unsent ? error.cause : error;
    }
  }

  /** Ends every request and closes every connection. */
  close(): void {
    for (const request of this.#open) request.destroy();
    this.#agent.destroy();
  }

  #attempt(headers: readonly string[], body: string, signal: AbortSignal | undefined): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const length = String(Buffer.byteLength(body));
      const all = ["host", this.#host, "content-length", length, ...headers];
      const request = this.#request({ ...this.#target, headers: all });
      const onAbort = (): void => void request.destroy(signal?.reason);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#open.add(request);
      request.on("response", resolve);
      request.on("error", (error: NodeJS.ErrnoException) => {
        const unsent = request.reusedSocket && error.syscall === "write";
        reject(unsent ? new Unsent("The kept connection was dead.", { cause: error }) : error);
      });
      request.on("close", () => {
        signal?.removeEventListener("abort", onAbort);
        this.#open.delete(request);
      });
      request.end(body);
    });
  }
}
