/** Serving on `Request` and `Response`. */
import type { AuthInfo } from "@modelcontextprotocol/server";
import { LazySignal } from "../../internal/lazy-signal.ts";
import { type Answer, errorAnswer } from "./answer.ts";
import { NO_ROOM, type PendingBytes, TOO_SLOW, textOf } from "./body.ts";
import type { Core } from "./core.ts";
import { HANDED_OVER } from "./dispatch.ts";
import type { Exchange } from "./exchange.ts";
import { authenticated, checkForm, type HttpRefusal, refusalText, STOPPING, tooLarge } from "./guard.ts";
import { parseMessage } from "./message.ts";
import type { HandlerLimits } from "./options.ts";
import { acceptsStream, eventText, KEEP_ALIVE, STREAM_HEADERS } from "./stream.ts";

export class WebExchange implements Exchange {
  readonly #core: Core;
  readonly #request: Request;
  authInfo: AuthInfo | undefined;
  readonly signal = new LazySignal();
  /** Set by the first notification. */
  #stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  #onStream: (response: Response) => void = () => {};
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(core: Core, request: Request, authInfo: AuthInfo | undefined) {
    this.#core = core;
    this.#request = request;
    this.authInfo = authInfo;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers.get(name);
    if (value === null && name === "host") return new URL(this.#request.url).host;
    return value ?? undefined;
  }

  async serve(): Promise<Response> {
    const { guard, options, closed, callersRequired, pending } = this.#core;
    if (closed) return refused(STOPPING);
    const unwelcome = guard.check(this);
    if (unwelcome !== undefined) return refused(unwelcome);
    if (options.authenticate !== undefined) {
      try {
        this.authInfo = await authenticated(options, this.#request.headers, callersRequired);
      } catch (response) {
        return response as Response;
      }
    }
    const malformed = checkForm(this.#request.method, this, options.limits.maxBodyBytes);
    if (malformed !== undefined) return refused(malformed);
    const body = await readWebBody(this.#request, options.limits, pending);
    if (typeof body !== "string") return refused(body);
    const parsed = parseMessage(body, options.limits.maxDepth);
    if ("refusal" in parsed) return answered(errorAnswer(null, parsed.refusal));
    const streaming = new Promise<Response>((resolve) => {
      this.#onStream = resolve;
    });
    return Promise.race([streaming, this.#answer(parsed.message)]);
  }

  notify(message: string): void {
    if (this.signal.aborted || !acceptsStream(this.header("accept"))) return;
    this.#stream ??= this.#open();
    // A reader that is slower than the flow misses progress, and never the answer.
    if ((this.#stream.desiredSize ?? 0) > 0) this.#enqueue(eventText(message));
  }

  /** Nobody waits any more, or nobody is to be answered. */
  abort(): void {
    clearInterval(this.#keepAlive);
    this.signal.abort();
    this.#stream?.error(this.signal.reason);
  }

  async #answer(message: unknown): Promise<Response> {
    const { open, dispatcher, sdk } = this.#core;
    const { signal } = this.#request;
    const gone = () => this.abort();
    signal.addEventListener("abort", gone, { once: true });
    if (signal.aborted) this.abort();
    open.add(this);
    try {
      const answer = await dispatcher.answer(message, this);
      if (answer === HANDED_OVER) {
        // The SDK's from here on, also to end.
        open.delete(this);
        const given = this.authInfo === undefined ? {} : { authInfo: this.authInfo };
        return await sdk.handler.fetch(this.#request, { ...given, parsedBody: message });
      }
      if (this.signal.aborted) return refused(STOPPING);
      if (this.#stream !== undefined) {
        clearInterval(this.#keepAlive);
        this.#enqueue(eventText(answer.text));
        this.#stream.close();
      }
      return answered(answer);
    } finally {
      signal.removeEventListener("abort", gone);
      open.delete(this);
    }
  }

  #open(): ReadableStreamDefaultController<Uint8Array> {
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (made) => {
          controller = made;
        },
        cancel: () => this.abort(),
      },
      { highWaterMark: 64 },
    );
    const { keepAliveMs } = this.#core.options.limits;
    if (keepAliveMs > 0) this.#keepAlive = setInterval(() => this.#enqueue(KEEP_ALIVE), keepAliveMs).unref();
    this.#onStream(new Response(body, { status: 200, headers: pairs(STREAM_HEADERS) }));
    return controller as ReadableStreamDefaultController<Uint8Array>;
  }

  #enqueue(text: string): void {
    this.#stream?.enqueue(new TextEncoder().encode(text));
  }
}

async function readWebBody(
  request: Request,
  { maxBodyBytes, bodyTimeoutMs }: HandlerLimits,
  pending: PendingBytes,
): Promise<string | HttpRefusal> {
  if (request.body === null) return "";
  const reader = request.body.getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void reader.cancel().catch(() => undefined);
  }, bodyTimeoutMs);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (late) return TOO_SLOW;
      if (done) return textOf(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
      if (size + value.byteLength > maxBodyBytes) return tooLarge(maxBodyBytes);
      if (!pending.take(value.byteLength)) return NO_ROOM;
      size += value.byteLength;
      chunks.push(value);
    }
  } catch {
    return late ? TOO_SLOW : "";
  } finally {
    clearTimeout(timer);
    pending.give(size);
    reader.releaseLock();
  }
}

function answered({ status, text }: Answer): Response {
  if (text === "") return new Response(null, { status });
  return new Response(text, { status, headers: { "content-type": "application/json" } });
}

function refused({ status, message, headers = [] }: HttpRefusal): Response {
  const type: [string, string] = ["content-type", "application/json"];
  return new Response(refusalText(message), { status, headers: [type, ...pairs(headers)] });
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, raw[at + 1] as string]] : []));
}
