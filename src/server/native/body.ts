/** Reads a body within limits: its size, its time, and the sum of all that come in at once. */
import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type HttpRefusal, tooLarge } from "./guard.ts";
import type { HandlerLimits } from "./options.ts";

/** Bytes that are held for bodies which are not complete. */
export class PendingBytes {
  readonly #most: number;
  #held = 0;

  constructor(most: number) {
    this.#most = most;
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
  const { maxBodyBytes, bodyTimeoutMs } = limits;
  let chunks: Buffer[] | undefined;
  let first: Buffer | undefined;
  let size = 0;
  const end = (body: string | HttpRefusal | undefined) => {
    clearTimeout(timer);
    pending.give(size);
    req.off("data", take).off("end", complete).off("close", gone);
    done(body);
  };
  const refuse = (refusal: HttpRefusal) => {
    req.pause();
    end(refusal);
  };
  const take = (chunk: Buffer) => {
    if (size + chunk.length > maxBodyBytes) return refuse(tooLarge(maxBodyBytes));
    if (!pending.take(chunk.length)) return refuse(NO_ROOM);
    size += chunk.length;
    if (first === undefined) first = chunk;
    else {
      chunks ??= [first];
      chunks.push(chunk);
    }
  };
  const complete = () => end(textOf(chunks === undefined ? first : Buffer.concat(chunks)));
  const gone = () => end(undefined);
  const timer = setTimeout(() => refuse(TOO_SLOW), bodyTimeoutMs);
  req.on("data", take).on("end", complete).on("close", gone);
}

/** UTF-8, as JSON-RPC messages are (G1); what is not has no JSON in it. */
export function textOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined || !isUtf8(bytes)) return "";
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
