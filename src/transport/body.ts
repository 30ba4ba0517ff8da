import type { IncomingMessage } from "node:http";
import { ParleyError } from "../errors.ts";
import { EventStreamReader, EventTooLong, type StreamEvent } from "./sse.ts";

/**
 * The whole body as text.
 * @throws ParleyError `limit_exceeded` above `maxBytes`, and the connection is closed; what broke the connection.
 */
export async function readText(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  await consume(response, (chunk) => {
    length += chunk.length;
    if (length > maxBytes) throw tooLong(maxBytes);
    chunks.push(chunk);
  });
  return (chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)).toString();
}

/**
 * Hands every event over as it comes. Resolves when the stream is over.
 * @throws as {@link readText}, the limit being for one event.
 */
export function readEvents(
  response: IncomingMessage,
  maxBytes: number,
  onEvent: (event: StreamEvent) => void,
): Promise<void> {
  const reader = new EventStreamReader(maxBytes);
  return consume(response, (chunk) => {
    try {
      for (const event of reader.read(chunk)) onEvent(event);
    } catch (error) {
      throw error instanceof EventTooLong ? tooLong(maxBytes) : error;
    }
  });
}

/** The beginning of a body that nobody needs whole. */
export async function readExcerpt(response: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let left = maxBytes;
  await consume(response, (chunk) => {
    chunks.push(chunk.subarray(0, left));
    left -= chunk.length;
    if (left < 0) throw new Error("enough");
  }).catch(() => {});
  return Buffer.concat(chunks).toString();
}

/** Reads to the end. What `take` throws ends the response and its connection. */
function consume(response: IncomingMessage, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    response.on("data", (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (error) {
        reject(error);
        response.destroy();
      }
    });
    response.on("end", resolve);
    response.on("error", reject);
    response.on("close", () => {
      if (!response.complete) reject(new Error("the connection closed"));
    });
  });
}

function tooLong(maxBytes: number): ParleyError {
  return new ParleyError(
    "limit_exceeded",
    `A message of the server is longer than maxMessageBytes (${maxBytes}). Raise it if you expect such messages.`,
    { details: { limit: maxBytes } },
  );
}
