import { type Clock, systemClock } from "../../calls/clock.ts";
import { ParleyError } from "../../errors.ts";

/** A model of the endpoint, with how it compares to the others listed, 0 to 1, for `modelPreferences`. */
export interface RatedModel {
  name: string;
  /** 1 is the cheapest. Default 0.5, like the others. */
  cheapness?: number;
  speed?: number;
  intelligence?: number;
}

/** Options of {@link openAiModel}. Durations are milliseconds. */
export interface OpenAiModelOptions {
  /** Up to and without `/chat/completions`, such as `https://api.openai.com/v1`. `http:` with a key only on loopback. */
  baseUrl: string;
  /** Used when the server's preferences choose no other. */
  model: string;
  /** What the server's hints and priorities may choose from (F17). Default: `model` alone. */
  models?: readonly (string | RatedModel)[];
  /** Sent as a bearer token. Never part of an error. */
  apiKey?: string;
  /** Sent with every request, such as an organization's id. */
  headers?: Readonly<Record<string, string>>;
  /** The member of the request that carries `maxTokens`. Default `max_tokens`, which every such endpoint knows. */
  tokenLimitField?: "max_tokens" | "max_completion_tokens";
  /** Longest wait for an answer, retries and the waits between them included. Default 120 000. */
  timeoutMs?: number;
  /** Longest answer accepted. Default 4 MiB. */
  maxResponseBytes?: number;
  /** How often a request is sent again after 429 or 503, as `Retry-After` says. Nothing else is retried. Default 2. */
  maxRetries?: number;
  /** Longest single wait before a retry; when the endpoint wants more, the request fails. Default 20 000. */
  maxRetryWaitMs?: number;
  /** Default: the global `fetch`. */
  fetch?: typeof fetch;
  /** Default: the system's. */
  clock?: Clock;
}

export interface Endpoint {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly model: string;
  readonly models: readonly Required<RatedModel>[];
  readonly tokenLimitField: "max_tokens" | "max_completion_tokens";
  readonly timeoutMs: number;
  readonly maxResponseBytes: number;
  readonly maxRetries: number;
  readonly maxRetryWaitMs: number;
  readonly fetch: typeof fetch;
  readonly clock: Clock;
}

/** @throws ParleyError `configuration`, naming the option; it repeats no value. */
export function resolveEndpoint(options: OpenAiModelOptions): Endpoint {
  const { apiKey, headers = {}, model, models = [model], tokenLimitField = "max_tokens" } = options;
  if (typeof model !== "string" || model === "") throw bad("model", "must be the name of a model");
  if (apiKey !== undefined && (typeof apiKey !== "string" || !/^[\x21-\x7e]+$/.test(apiKey))) {
    throw bad("apiKey", "must be visible ASCII without spaces");
  }
  const numbers = {
    timeoutMs: options.timeoutMs ?? 120_000,
    maxResponseBytes: options.maxResponseBytes ?? 4 * 1024 * 1024,
    maxRetries: options.maxRetries ?? 2,
    maxRetryWaitMs: options.maxRetryWaitMs ?? 20_000,
  };
  for (const [name, value] of Object.entries(numbers)) {
    const least = name === "maxRetries" || name === "maxRetryWaitMs" ? 0 : 1;
    if (!Number.isSafeInteger(value) || value < least) throw bad(name, `must be an integer from ${least}`);
  }
  return {
    ...numbers,
    url: readUrl(options.baseUrl, apiKey !== undefined),
    headers: { ...headers, ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }) },
    model,
    models: models.map(rated),
    tokenLimitField,
    fetch: options.fetch ?? globalThis.fetch,
    clock: options.clock ?? systemClock,
  };
}

function readUrl(baseUrl: string, withKey: boolean): URL {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw bad("baseUrl", "must be an http or https URL");
  if (url.username !== "" || url.password !== "") throw bad("baseUrl", "carries a user name or password: use apiKey");
  if (withKey && url.protocol === "http:" && !isLoopback(url.hostname)) {
    throw bad("baseUrl", "must be https, so that the key is not sent in the clear");
  }
  url.hash = "";
  url.pathname = `${url.pathname.replace(/\/$/, "")}/chat/completions`;
  return url;
}

function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}

function rated(given: string | RatedModel): Required<RatedModel> {
  const {
    name,
    cheapness = 0.5,
    speed = 0.5,
    intelligence = 0.5,
  } = typeof given === "string" ? { name: given } : given;
  const ratings = [cheapness, speed, intelligence];
  if (typeof name !== "string" || name === "" || !ratings.every((rating) => rating >= 0 && rating <= 1)) {
    throw bad("models", "must be names, or names with ratings from 0 to 1");
  }
  return { name, cheapness, speed, intelligence };
}

function bad(name: string, rule: string): ParleyError {
  return new ParleyError("configuration", `openAiModel: ${name} ${rule}.`, { details: { option: name } });
}
