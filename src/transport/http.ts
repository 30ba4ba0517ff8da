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
import type { Signal } from "../internal/lazy-signal.ts";
import { errorIn, httpError, unexpectedContent } from "./answer.ts";
import { Connection, type Receive, type Receiver, type ResponseHead } from "./connection.ts";
import { DIRECT, type Direct } from "./direct.ts";
import { headersOf } from "./headers.ts";
import { type LeanHttpOptions, type ResolvedLeanHttpOptions, resolveLeanHttpOptions } from "./options.ts";
import { type Deliver, eventStream, excerpt, jsonBody } from "./receivers.ts";

/**
 * Streamable HTTP for any SDK `Client`, on undici with kept connections: what revision 2026-07-28 asks for,
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

type SendOptions = Omit<TransportSendOptions, "requestSignal"> & { requestSignal?: Signal | undefined };

/** What a response is taken in with. */
interface Sent {
  readonly id: RequestId | undefined;
  readonly options: SendOptions;
  readonly deliver: Deliver;
}

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

  async #send(message: JSONRPCMessage, options: SendOptions, deliver: Deliver): Promise<void> {
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

  #exchange(message: JSONRPCMessage, headers: string[], options: SendOptions, deliver: Deliver): Promise<void> {
    const id = "method" in message && "id" in message ? message.id : undefined;
    let answered = false;
    const receive: Receive = (head, close) => {
      answered = true;
      return this.#receiverOf(head, close, { id, options, deliver });
    };
    return this.#connection.post(headers, JSON.stringify(message), options.requestSignal, receive).catch((error) => {
      if (answered) throw error;
      return this.#lost("was lost before an answer came", error);
    });
  }

  #receiverOf(head: ResponseHead, close: () => void, { id, options, deliver }: Sent): Receiver {
    if (head.status < 200 || head.status >= 300)
      return excerpt(close, (text) => this.#refused(head, text, id, deliver));
    if (id === undefined) return excerpt(close, () => {});
    const { maxMessageBytes: maxBytes } = this.#options;
    const contentType = String(head.headers["content-type"]);
    const type = contentType.split(";", 1)[0]?.trim().toLowerCase();
    if (type === "application/json") {
      return jsonBody(id, maxBytes, deliver, (broken) => this.#lost("was lost in the middle of the answer", broken));
    }
    if (type !== "text/event-stream") throw unexpectedContent(head.headers["content-type"]);
    const onLost = (broken: unknown): never => {
      if (options.requestSignal?.aborted !== true) options.onRequestStreamEnd?.();
      return this.#lost("ended its response stream without a response", broken);
    };
    return eventStream({ id, maxBytes, deliver, close, onLost, onError: (error) => this.onerror?.(error) });
  }

  /** What is not 2xx. */
  #refused(head: ResponseHead, text: string, id: RequestId | undefined, deliver: Deliver): void {
    const { status } = head;
    const spoken = status >= 400 && status < 500 && status !== 401 && status !== 403;
    const error = spoken && id !== undefined ? errorIn(text, id) : undefined;
    if (error === undefined) throw httpError(head, this.#options.url, text);
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
function refuseWhatIsElsewhere(message: JSONRPCMessage, { resumptionToken }: SendOptions): void {
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
