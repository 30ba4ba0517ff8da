/** One POST to the model, with its time, its size and its retries bounded. */
import { pause } from "../../calls/clock.ts";
import { ParleyError } from "../../errors.ts";
import type { Endpoint } from "./options.ts";

const FIRST_WAIT_MS = 500;

/** What a status means to who set the endpoint up. What the endpoint says itself may quote the prompt or the key. */
const REMEDIES: Readonly<Record<number, string | undefined>> = {
  400: "it does not take a request of this shape; check the model's name",
  401: "it does not accept the key",
  403: "it does not accept the key for this model",
  404: "check the base URL and the model's name",
  413: "the request is too large for it",
  429: "it is asked too often",
  503: "it is overloaded",
};

/** @throws ParleyError `model_failed` without the key, the prompt or the answer in it. */
export async function post(endpoint: Endpoint, body: object, signal: AbortSignal): Promise<unknown> {
  const { maxRetries, clock } = endpoint;
  for (let retry = 0; ; retry += 1) {
    const response = await send(endpoint, body, signal);
    if (response.ok) return readJson(response, endpoint);
    await response.body?.cancel();
    const { status } = response;
    if ((status !== 429 && status !== 503) || retry >= maxRetries) {
      const remedy = REMEDIES[status] ?? (status < 400 ? "it redirects, which is not followed" : "look at its log");
      throw failed(endpoint, `answered HTTP ${status}: ${remedy}`, { status });
    }
    await pause(clock, waitMs(response, retry, endpoint), signal);
  }
}

async function send(endpoint: Endpoint, body: object, signal: AbortSignal): Promise<Response> {
  try {
    return await endpoint.fetch(endpoint.url, {
      method: "POST",
      headers: { ...endpoint.headers, "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(body),
      // A redirect would carry prompt and headers to where nobody chose to send them.
      redirect: "manual",
      signal,
    });
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined;
    const code = typeof cause?.code === "string" ? ` (${cause.code})` : "";
    throw failed(endpoint, `cannot be reached${code}`);
  }
}

function waitMs(response: Response, retry: number, endpoint: Endpoint): number {
  const asked = response.headers.get("retry-after")?.trim();
  const date = Date.parse(asked ?? "");
  const ms =
    asked === undefined || asked === ""
      ? FIRST_WAIT_MS * 2 ** retry
      : /^\d+$/.test(asked)
        ? Number(asked) * 1000
        : Number.isNaN(date)
          ? FIRST_WAIT_MS * 2 ** retry
          : Math.max(0, date - endpoint.clock.now());
  if (ms <= endpoint.maxRetryWaitMs) return ms;
  throw failed(endpoint, `wants ${Math.ceil(ms / 1000)} s of quiet, longer than maxRetryWaitMs allows`, {
    status: response.status,
  });
}

async function readJson(response: Response, endpoint: Endpoint): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      // Leaving the loop ends the download.
      if (size > endpoint.maxResponseBytes) break;
      chunks.push(chunk);
    }
  } catch {
    throw failed(endpoint, "broke off in the middle of its answer");
  }
  if (size > endpoint.maxResponseBytes) {
    throw failed(endpoint, `answered more than ${endpoint.maxResponseBytes} bytes (maxResponseBytes)`);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
  } catch {
    // Without the parser's message, which quotes the text.
    throw failed(endpoint, "answered something that is not JSON");
  }
}

/** The endpoint is named by origin alone: a path or a query may hold a key. */
export function failed({ url }: Endpoint, what: string, details: Record<string, unknown> = {}): ParleyError {
  return new ParleyError("model_failed", `The model at ${url.origin} ${what}.`, { details });
}
