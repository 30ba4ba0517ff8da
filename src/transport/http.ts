import type { IncomingMessage } from "node:http";
import {
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  type RequestId,
  SdkError,
  SdkErrorCode,
  type Transport,
  type TransportSendOptions,
} from "@modelcontextprotocol/client";
import { ParleyError, reasonOf } from "../errors.ts";
import { errorIn, httpError, isResponse, readMessage, readResponse, unexpectedContent } from "./answer.ts";
import { readEvents, readExcerpt, readText } from "./body.ts";
import { Connection } from "./connection.ts";
import { DIRECT, type Direct } from "./direct.ts";
import { headersOf } from "./headers.ts";
import { type LeanHttpOptions, type ResolvedLeanHttpOptions, resolveLeanHttpOptions } from "./options.ts";
import type { StreamEvent } from "./sse.ts";

/** Of a refusal's body, enough for a JSON-RPC error. */
const REFUSAL_BYTES = 64 * 1024;
/** How long a stream may stay open after its response, before its connection is given up. */
const LINGER_MS = 1000;

/**
 * Streamable HTTP for any SDK `Client`, on Node's own client with kept connections: what revision 2026-07-28 asks for,
 * and little else, so that a request costs little. One POST per message; JSON and event streams; closing the connection
 * is cancelling (I5).
 *
 * `send` settles when the exchange is over. A response that cannot come any more rejects it, so a request never waits for
 * its timeout: ParleyError `connection_lost`. Nothing is sent twice, but for a request that had not left whole when its
 * kept connection turned out to be dead. Redirects are told, not followed. A 4xx with a JSON-RPC error is that error; 401,
 * 403 and every other status are the SDK's `SdkHttpError`.
 *
 * Not here: OAuth, the 2025 era (`initialize`, sessions, the GET stream) and resumption. A host that needs one of them
 * keeps the SDK's `StreamableHTTPClientTransport`.
 *
 * @throws ParleyError `configuration`, naming the option.
 */
export function leanHttpTransport(url: string | URL, options: LeanHttpOptions = {}): Transport {
  return new LeanHttpTransport(resolveLeanHttpOptions(url, options));
}

type Deliver = (message: JSONRPCMessage) => void;

class LeanHttpTransport implements Transport {
  /** Tells the SDK to cancel by `requestSignal` instead of a notification. */
  readonly hasPerRequestStream = true;
  onclose: (() => void) | undefined;
  onerror: ((error: Error) => void) | undefined;
  onmessage: Transport["onmessage"];
  readonly #options: ResolvedLeanHttpOptions;
  readonly #connection: Connection;
  #status: "new" | "open" | "closed" = "new";
  #version: string | undefined;
  #clientInfo: unknown;

  constructor(options: ResolvedLeanHttpOptions) {
    this.#options = options;
    this.#connection = new Connection(options);
  }

  async start(): Promise<void> {
    if (this.#status !== "new") throw new SdkError(SdkErrorCode.AlreadyConnected, "A transport is started once.");
    this.#status = "open";
  }

  setProtocolVersion(version: string): void {
    this.#version = version;
  }

  send(message: JSONRPCMessage, options: TransportSendOptions = {}): Promise<void> {
    this.#clientInfo ??= clientInfoIn(message);
    return this.#send(message, options, this.#deliver);
  }

  get [DIRECT](): Direct {
    return {
      clientInfo: this.#clientInfo,
      exchange: (request, { signal, headers, onMessage }) =>
        this.#send(request, { requestSignal: signal, headers }, onMessage),
    };
  }

  async #send(message: JSONRPCMessage, options: TransportSendOptions, deliver: Deliver): Promise<void> {
    const { requestSignal } = options;
    try {
      if (this.#status !== "open") throw new SdkError(SdkErrorCode.NotConnected, "The transport is not open.");
      refuseWhatIsElsewhere(message, options);
      const headers = await this.#options.headers();
      await this.#exchange(
        message,
        headersOf(message, { version: this.#version, headers, extra: options.headers }),
        options,
        deliver,
      );
    } catch (error) {
      if (requestSignal?.aborted) throw requestSignal.reason;
      if (this.#status === "open") this.onerror?.(error as Error);
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#status === "closed") return;
    this.#status = "closed";
    this.#connection.close();
    this.onclose?.();
  }

  async #exchange(
    message: JSONRPCMessage,
    headers: string[],
    options: TransportSendOptions,
    deliver: Deliver,
  ): Promise<void> {
    const response = await this.#connection
      .post(headers, JSON.stringify(message), options.requestSignal)
      .catch((error) => this.#lost("was lost before an answer came", error));
    const { statusCode = 0 } = response;
    const id = "method" in message && "id" in message ? message.id : undefined;
    if (statusCode < 200 || statusCode >= 300) return this.#refused(response, id, deliver);
    if (id === undefined) return void (await readExcerpt(response, REFUSAL_BYTES));
    const contentType = response.headers["content-type"];
    const type = contentType?.split(";", 1)[0]?.trim().toLowerCase();
    if (type === "text/event-stream") return this.#stream(response, id, options, deliver);
    if (type !== "application/json") {
      response.destroy();
      throw unexpectedContent(contentType);
    }
    const text = await readText(response, this.#options.maxMessageBytes).catch((error) =>
      this.#lost("was lost in the middle of the answer", error),
    );
    deliver(readResponse(text, id));
  }

  async #stream(
    response: IncomingMessage,
    id: RequestId,
    { requestSignal, onRequestStreamEnd }: TransportSendOptions,
    deliver: Deliver,
  ): Promise<void> {
    let linger: NodeJS.Timeout | undefined;
    let delivered = Promise.resolve();
    const onEvent = ({ type, data }: StreamEvent): void => {
      // The response is the last that is said here (A23).
      if (linger !== undefined || type !== "message" || data === "") return;
      const message = readMessage(data);
      if (message === undefined) {
        this.onerror?.(new SdkError(SdkErrorCode.InvalidResult, "An event of the stream is not a JSON-RPC message."));
        return;
      }
      if (isResponse(message) && message.id === id) linger = setTimeout(() => response.destroy(), LINGER_MS);
      // The SDK handles a notification a microtask later: a response in the same packet must not overtake it.
      delivered = delivered.then(() => deliver(message));
    };
    let broken: unknown;
    try {
      await readEvents(response, this.#options.maxMessageBytes, onEvent);
    } catch (error) {
      broken = error;
    }
    clearTimeout(linger);
    await delivered;
    if (linger !== undefined) return;
    if (requestSignal?.aborted !== true) onRequestStreamEnd?.();
    this.#lost("ended its response stream without a response", broken);
  }

  /** What is not 2xx. */
  async #refused(response: IncomingMessage, id: RequestId | undefined, deliver: Deliver): Promise<void> {
    const { statusCode = 0 } = response;
    const text = await readExcerpt(response, REFUSAL_BYTES);
    const spoken = statusCode >= 400 && statusCode < 500 && statusCode !== 401 && statusCode !== 403;
    const error = spoken && id !== undefined ? errorIn(text, id) : undefined;
    if (error === undefined) throw httpError(response, this.#options.url, text);
    deliver(error);
  }

  readonly #deliver: Deliver = (message) => {
    try {
      this.onmessage?.(message);
    } catch (error) {
      this.onerror?.(error as Error);
    }
  };

  #lost(what: string, cause: unknown): never {
    if (cause instanceof ParleyError) throw cause;
    if (this.#status === "closed") throw new SdkError(SdkErrorCode.ConnectionClosed, "The transport was closed.");
    const { host } = this.#options.url;
    const reason = cause === undefined ? "" : ` (${reasonOf(cause)})`;
    throw new ParleyError("connection_lost", `The connection to ${host} ${what}${reason}.`, {
      cause,
      details: { host },
    });
  }
}

function clientInfoIn(message: JSONRPCMessage): unknown {
  return "params" in message ? message.params?._meta?.[CLIENT_INFO_META_KEY] : undefined;
}

/** @throws SdkError rather than do by halves what this transport does not do. */
function refuseWhatIsElsewhere(message: JSONRPCMessage, { resumptionToken }: TransportSendOptions): void {
  if ("method" in message && message.method === "initialize") {
    throw new SdkError(
      SdkErrorCode.EraNegotiationFailed,
      "leanHttpTransport speaks revision 2026-07-28 only. For an older server use StreamableHTTPClientTransport.",
    );
  }
  if (resumptionToken !== undefined) {
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, "leanHttpTransport does not resume streams.");
  }
}
