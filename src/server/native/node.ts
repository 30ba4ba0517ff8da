/** Serving on `node:http`. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { NodeIncomingMessageLike } from "@modelcontextprotocol/node";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { LazySignal } from "../../internal/lazy-signal.ts";
import { type Answer, errorAnswer } from "./answer.ts";
import { readBody } from "./body.ts";
import type { Core } from "./core.ts";
import { HANDED_OVER } from "./dispatch.ts";
import type { Exchange } from "./exchange.ts";
import { authenticated, checkForm, type HttpRefusal, refusalText, STOPPING } from "./guard.ts";
import { checkedMessage, type Parsed, parseMessage } from "./message.ts";
import { acceptsStream, eventText, KEEP_ALIVE, STREAM_HEADERS } from "./stream.ts";

/** How long a refused client may go on sending, in ms. */
const LINGER_MS = 1_000;

/** One request on Node's own objects: no Web object is made for it. */
export class NodeExchange implements Exchange {
  readonly #core: Core;
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  authInfo: AuthInfo | undefined;
  readonly signal = new LazySignal();
  #keepAlive: NodeJS.Timeout | undefined;

  constructor(core: Core, req: IncomingMessage, res: ServerResponse) {
    this.#core = core;
    this.#req = req;
    this.#res = res;
  }

  header(name: string): string | undefined {
    const value = this.#req.headers[name];
    return typeof value === "string" ? value : value?.[0];
  }

  serve(): void {
    const { closed, guard, options, callersRequired } = this.#core;
    const refusal = closed ? STOPPING : guard.check(this);
    if (refusal !== undefined) {
      this.#refuse(refusal);
    } else if (options.authenticate === undefined) {
      this.authInfo = (this.#req as { auth?: AuthInfo }).auth;
      this.#read();
    } else {
      const headers = { get: (name: string) => this.header(name.toLowerCase()) ?? null };
      authenticated(options, headers, callersRequired).then(
        (caller) => {
          this.authInfo = caller;
          this.#read();
        },
        (response: Response) => void this.#challenge(response),
      );
    }
  }

  /** A notification makes the answer a stream. To a client that takes none, or is slower than the flow, it is not sent. */
  notify(message: string): void {
    const res = this.#res;
    if (res.destroyed || res.writableEnded || res.writableNeedDrain || !acceptsStream(this.header("accept"))) return;
    if (!res.headersSent) {
      res.writeHead(200, [...STREAM_HEADERS]);
      const { keepAliveMs } = this.#core.options.limits;
      if (keepAliveMs > 0)
        this.#keepAlive = setInterval(() => res.destroyed || res.write(KEEP_ALIVE), keepAliveMs).unref();
    }
    res.write(eventText(message));
  }

  /** Nobody waits any more, or nobody is to be answered. */
  abort(): void {
    this.signal.abort();
    this.#res.destroy();
  }

  #read(): void {
    const { limits } = this.#core.options;
    const refusal = checkForm(this.#req.method ?? "", this, limits.maxBodyBytes);
    if (refusal !== undefined) {
      this.#refuse(refusal);
      return;
    }
    const { body } = this.#req as { body?: unknown };
    if (this.#req.readableEnded && body !== undefined) {
      // A middleware was here first.
      this.#take(checkedMessage(body, limits.maxDepth));
      return;
    }
    readBody(this.#req, limits, this.#core.pending, (body) => {
      if (typeof body === "string") this.#take(parseMessage(body, limits.maxDepth));
      else if (body !== undefined) this.#refuse(body);
    });
  }

  #take(parsed: Parsed): void {
    if ("refusal" in parsed) {
      this.#send(errorAnswer(null, parsed.refusal));
      return;
    }
    this.#core.open.add(this);
    this.#res.on("close", () => {
      this.#core.open.delete(this);
      clearInterval(this.#keepAlive);
      if (!this.#res.writableFinished) this.abort();
    });
    this.#answer(parsed.message).catch((error: unknown) => {
      this.#core.options.onError(error);
      this.#res.destroy();
    });
  }

  async #answer(message: unknown): Promise<void> {
    const answer = await this.#core.dispatcher.answer(message, this);
    if (this.signal.aborted) return;
    if (answer !== HANDED_OVER) return this.#send(answer);
    // The SDK's from here on, also to end.
    this.#core.open.delete(this);
    const req = Object.assign(this.#req, this.authInfo && { auth: this.authInfo });
    await this.#core.sdk.listener(req as NodeIncomingMessageLike, this.#res, message);
  }

  #send({ status, text }: Answer): void {
    const res = this.#res;
    if (res.headersSent) {
      clearInterval(this.#keepAlive);
      res.end(eventText(text));
    } else if (text === "") {
      res.writeHead(status, ["content-length", "0"]).end();
    } else {
      const bytes = Buffer.byteLength(text);
      res.writeHead(status, ["content-type", "application/json", "content-length", String(bytes)]);
      // The same bytes where all is ASCII, and Node copies them without encoding each character.
      res.end(text, bytes === text.length ? "latin1" : "utf8");
    }
  }

  #refuse({ status, message, headers = [] }: HttpRefusal): void {
    const text = refusalText(message);
    const length = String(Buffer.byteLength(text));
    this.#res.writeHead(status, ["content-type", "application/json", "content-length", length, ...headers]).end(text);
    this.#dropRest();
  }

  async #challenge(response: Response): Promise<void> {
    this.#res.writeHead(response.status, [...response.headers].flat()).end(await response.text());
    this.#dropRest();
  }

  /**
   * A client that is still sending must get to read its answer, which closing at once would take from it. What it sends
   * meanwhile goes nowhere.
   */
  #dropRest(): void {
    const req = this.#req;
    if (req.complete) return;
    req.resume();
    setTimeout(() => req.complete || req.socket.destroy(), LINGER_MS).unref();
  }
}
