/** What is made of a response, by what it says it is. */
import { type JSONRPCMessage, type RequestId, SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import { ParleyError } from "../errors.ts";
import { isResponse, readMessage, readResponse } from "./answer.ts";
import type { Receiver } from "./connection.ts";
import { EventStreamReader, EventTooLong, type StreamEvent } from "./sse.ts";

export type Deliver = (message: JSONRPCMessage) => void;

/** Of a body that nobody needs whole, enough for a JSON-RPC error. */
const EXCERPT_BYTES = 64 * 1024;
/** How long what nobody needs may go on, a body or a stream after its response, before its connection is given up. */
const LINGER_MS = 1000;

/**
 * The whole body, as the response to request `id`.
 * @param lost throws what a broken connection is to whoever sent the request.
 */
export function jsonBody(
  id: RequestId,
  maxBytes: number,
  deliver: Deliver,
  lost: (broken: unknown) => never,
): Receiver {
  const chunks: Buffer[] = [];
  let length = 0;
  return {
    take(chunk) {
      length += chunk.length;
      if (length > maxBytes) throw tooLong(maxBytes);
      chunks.push(chunk);
    },
    end(broken) {
      if (broken !== undefined) lost(broken);
      deliver(readResponse(textOf(chunks), id));
    },
  };
}

/** The beginning of a body, whether or not the rest of it comes soon. */
export function excerpt(close: () => void, end: (text: string) => void): Receiver {
  const chunks: Buffer[] = [];
  let left = EXCERPT_BYTES;
  const linger = setTimeout(close, LINGER_MS);
  return {
    take(chunk) {
      chunks.push(chunk.subarray(0, Math.max(left, 0)));
      left -= chunk.length;
      if (left < 0) close();
    },
    end() {
      clearTimeout(linger);
      end(textOf(chunks));
    },
  };
}

export interface Stream {
  readonly id: RequestId;
  readonly maxBytes: number;
  readonly deliver: Deliver;
  readonly close: () => void;
  /** An event that is no message, or that its reader could not take. */
  readonly onError: (error: Error) => void;
  /** The stream ended without the response: throws what the request fails with. */
  readonly onLost: (broken: unknown) => never;
}

/** Messages as they come, up to the response. */
export function eventStream({ id, maxBytes, deliver, close, onError, onLost }: Stream): Receiver {
  const reader = new EventStreamReader(maxBytes);
  let linger: NodeJS.Timeout | undefined;
  let delivered = Promise.resolve();
  const onEvent = ({ type, data }: StreamEvent): void => {
    // The response is the last that is said here (A23).
    if (linger !== undefined || type !== "message" || data === "") return;
    const message = readMessage(data);
    if (message === undefined) {
      onError(new SdkError(SdkErrorCode.InvalidResult, "An event of the stream is not a JSON-RPC message."));
      return;
    }
    if (isResponse(message) && message.id === id) linger = setTimeout(close, LINGER_MS);
    // The SDK handles a notification a microtask later: a response in the same packet must not overtake it. What it throws
    // over one message (it quotes those it does not know, however deep) must not reach the process: nobody awaits this yet.
    delivered = delivered.then(() => deliver(message)).catch(onError);
  };
  return {
    take(chunk) {
      try {
        for (const event of reader.read(chunk)) onEvent(event);
      } catch (error) {
        throw error instanceof EventTooLong ? tooLong(maxBytes) : error;
      }
    },
    async end(broken) {
      clearTimeout(linger);
      await delivered;
      if (linger === undefined) onLost(broken);
    },
  };
}

function textOf(chunks: readonly Buffer[]): string {
  return (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString();
}

function tooLong(maxBytes: number): ParleyError {
  return new ParleyError(
    "limit_exceeded",
    `A message of the server is longer than maxMessageBytes (${maxBytes}). Raise it if you expect such messages.`,
    { details: { limit: maxBytes } },
  );
}
