import type { IncomingMessage } from "node:http";
import { isObject } from "../../internal/json.ts";
import { problem } from "./problems.ts";

/** Longest body of a request, in bytes: a sampling request that was edited is the longest there is. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** @throws HttpProblem 413, 415 or 400; it does not repeat what was sent. */
export async function readObject(req: IncomingMessage): Promise<Record<string, unknown>> {
  const type = req.headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") throw problem(415, "invalid_request", "The body must be application/json.");
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of req as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw problem(413, "invalid_request", "The body is too large.");
    chunks.push(chunk);
  }
  let value: unknown;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  } catch {
    throw problem(400, "invalid_request", "The body is not JSON.");
  }
  if (!isObject(value)) throw problem(400, "invalid_request", "The body is not a JSON object.");
  return value;
}
