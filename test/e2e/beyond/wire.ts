import { rpc } from "../../helpers/http.ts";

/** What one request came to: a question, a result, or an error. */
export interface Reply {
  readonly status: number;
  readonly code: number | undefined;
  readonly reason: unknown;
  /** Keys that are asked for; empty when nothing is. */
  readonly asks: readonly string[];
  readonly methods: readonly string[];
  readonly state: string;
  /** Text of the result's first block or message; `undefined` while it asks. */
  readonly text: string | undefined;
}
export interface Sent {
  readonly answers?: unknown;
  readonly state?: string;
  readonly capabilities?: object;
  readonly headers?: Record<string, string>;
  readonly arguments?: Record<string, unknown>;
}

export const tool = (url: string, name: string, sent: Sent = {}): Promise<Reply> =>
  send(url, "tools/call", { name, arguments: sent.arguments ?? {} }, sent);

export const read = (url: string, uri: string, sent: Sent = {}): Promise<Reply> =>
  send(url, "resources/read", { uri }, sent);

export const prompt = (url: string, name: string, sent: Sent = {}): Promise<Reply> =>
  send(url, "prompts/get", { name }, sent);

async function send(url: string, method: string, params: Record<string, unknown>, sent: Sent): Promise<Reply> {
  const { answers, state, capabilities, headers } = sent;
  const retry = {
    ...(answers !== undefined && { inputResponses: answers }),
    ...(state !== undefined && { requestState: state }),
  };
  const options = { ...(capabilities && { capabilities }), ...(headers && { headers }) };
  const { status, result, error } = await rpc(url, method, { ...params, ...retry }, options);
  const asking = result?.["resultType"] === "input_required";
  const requests = (asking ? (result?.["inputRequests"] ?? {}) : {}) as Record<string, { method: string }>;
  return {
    status,
    code: error?.code,
    reason: (error?.data as { reason?: unknown } | undefined)?.reason,
    asks: Object.keys(requests),
    methods: Object.values(requests).map((request) => request.method),
    state: String(result?.["requestState"] ?? ""),
    text: asking ? undefined : firstText(result ?? {}),
  };
}

function firstText(result: Record<string, unknown>): string | undefined {
  const { content, contents, messages } = result as Record<string, { text?: string; content?: { text?: string } }[]>;
  return content?.[0]?.text ?? contents?.[0]?.text ?? messages?.[0]?.content?.text;
}

export const accept = (content: Record<string, unknown>) => ({ action: "accept", content });
export const sampled = (words: string) => ({
  role: "assistant",
  model: "test-model",
  content: { type: "text", text: words },
});
export const roots = (...uris: string[]) => ({ roots: uris.map((uri) => ({ uri })) });
