/** A model behind the chat completions format, on real HTTP: answers what a test tells it to, and remembers. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import { listen } from "./http.ts";

export interface ModelRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: {
    model: string;
    messages: { role: string; content: unknown; tool_calls?: unknown; tool_call_id?: string }[];
    [member: string]: unknown;
  };
}
/** A body to answer with status 200, or the response itself. */
export type ModelReply = object | ((response: ServerResponse) => void);

export interface ModelServer {
  /** The base URL, as `openAiModel` takes it. */
  readonly url: string;
  readonly requests: ModelRequest[];
  close(): Promise<void>;
}

export async function modelServer(reply: (request: ModelRequest, count: number) => ModelReply): Promise<ModelServer> {
  const requests: ModelRequest[] = [];
  const http = createServer(async (req, res) => {
    let text = "";
    for await (const chunk of req.setEncoding("utf8")) text += chunk;
    const request = { path: req.url ?? "", headers: req.headers, body: JSON.parse(text) };
    requests.push(request);
    const answer = reply(request, requests.length);
    if (typeof answer === "function") answer(res);
    else res.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  const { url, close } = await listen(http);
  return { url: url.replace(/\/mcp$/, "/v1"), requests, close };
}

/** A completion with one choice. */
export function completion(message: object, more: { finish?: string; choice?: object; usage?: object } = {}): object {
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    model: "served-model",
    choices: [
      { index: 0, message: { role: "assistant", ...message }, finish_reason: more.finish ?? "stop", ...more.choice },
    ],
    ...(more.usage && { usage: more.usage }),
  };
}

/** An error response, with a body that repeats what must not come out. */
export function refusal(status: number, body: string, headers: Record<string, string> = {}): ModelReply {
  return (response) => response.writeHead(status, headers).end(body);
}
