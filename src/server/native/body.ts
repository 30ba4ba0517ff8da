/** Reads a body within limits: its size, its time, and the sum of all that come in at once. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { Deadlines, Waiting } from "../../store/deadlines.ts";
import { type HttpRefusal, tooLarge } from "./guard.ts";
import type { HandlerLimits } from "./options.ts";

/** What all bodies that are not complete share: the bytes that are held for them, and who watches their time. */
export class PendingBytes {
  readonly deadlines: Deadlines;
  readonly #most: number;
  #held = 0;

  constructor(most: number, timeoutMs: number) {
    this.#most = most;
    this.deadlines = new Deadlines(timeoutMs);
  }

  /** `false` when there is no room. */
  take(bytes: number): boolean {
    if (this.#held + bytes > this.#most) return false;
    this.#held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.#held -= bytes;
  }
}

export const TOO_SLOW: HttpRefusal = {
  status: 408,
  message: "The request body did not come in time.",
  headers: ["connection", "close"],
};
export const NO_ROOM: HttpRefusal = {
  status: 503,
  message: "Too many request bodies are coming in. Try again later.",
  headers: ["retry-after", "1"],
};

/** Calls `done` once: with the text, a refusal, or `undefined` when the client is gone. */
export function readBody(
  req: IncomingMessage,
  limits: HandlerLimits,
  pending: PendingBytes,
  done: (body: string | HttpRefusal | undefined) => void,
): void {
  new Reading(req, limits.maxBodyBytes, pending, done).begin();
}

class Reading extends Waiting {
  readonly #req: IncomingMessage;
  readonly #most: number;
  readonly #pending: PendingBytes;
  readonly #done: (body: string | HttpRefusal | undefined) => void;
  #first: Buffer | undefined;
  #chunks: Buffer[] | undefined;
  #size = 0;
  #ended = false;

  constructor(
    req: IncomingMessage,
    most: number,
    pending: PendingBytes,
    done: (body: string | HttpRefusal | undefined) => void,
  ) {
    super();
    this.#req = req;
    this.#most = most;
    this.#pending = pending;
    this.#done = done;
  }

  begin(): void {
    this.#pending.deadlines.add(this);
    this.#req
      .on("data", (chunk: Buffer) => this.#take(chunk))
      .on("end", () => this.#end(this.#text()))
      .on("close", () => this.#end(undefined));
  }

  /** Its time is over. */
  fail(): void {
    this.#refuse(TOO_SLOW);
  }

  #take(chunk: Buffer): void {
    if (this.#ended) return;
    if (this.#size + chunk.length > this.#most) this.#refuse(tooLarge(this.#most));
    else if (this.#pending.take(chunk.length)) this.#keep(chunk);
    else this.#refuse(NO_ROOM);
  }

  #keep(chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#first === undefined) this.#first = chunk;
    else {
      this.#chunks ??= [this.#first];
      this.#chunks.push(chunk);
    }
  }

  #text(): string {
    return textOf(this.#chunks === undefined ? this.#first : Buffer.concat(this.#chunks));
  }

  #refuse(refusal: HttpRefusal): void {
    this.#req.pause();
    this.#end(refusal);
  }

  /** The listeners stay where they are: taking three off takes longer than to ignore what still comes. */
  #end(body: string | HttpRefusal | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#pending.deadlines.remove(this);
    this.#pending.give(this.#size);
    this.#first = undefined;
    this.#chunks = undefined;
    this.#done(body);
  }
}

/** UTF-8, as JSON-RPC messages are (G1); what is not has no JSON in it. */
export function textOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined || !isUtf8(bytes)) return "";
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
