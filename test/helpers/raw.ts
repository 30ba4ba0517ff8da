/** HTTP requests that no client would send, to each face of a server. */
import { request } from "node:http";

export interface RawRequest {
  /** Default POST. */
  readonly method?: string;
  /** Replaces the usual ones; `null` leaves one out. */
  readonly headers?: Readonly<Record<string, string | null>>;
  /** A value to write as JSON, or the bytes themselves. */
  readonly body?: unknown;
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The JSON-RPC message: the body, or the last event of a stream. */
  readonly json: Record<string, unknown> | undefined;
}

export type Face = (sent: RawRequest) => Promise<RawAnswer>;

export const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};

/** A request of the revision, right in every way; `change` makes it wrong in one. */
export function good(method: string, params: Record<string, unknown> = {}, id: unknown = 1): Required<RawRequest> {
  const name = params["name"] ?? params["uri"];
  return {
    method: "POST",
    headers: {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...(name !== undefined && { "mcp-name": String(name) }),
    },
    body: { jsonrpc: "2.0", id, method, params: { ...params, _meta: META } },
  };
}

const USUAL = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function prepared({ method = "POST", headers = {}, body }: RawRequest) {
  const all = Object.entries({ ...USUAL, ...headers }).filter((pair): pair is [string, string] => pair[1] !== null);
  const bytes = typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body);
  return { method, headers: all, bytes: method === "GET" || method === "HEAD" ? undefined : bytes };
}

/** Over the wire; with `node:http`, because `fetch` sets some headers itself. */
export function overHttp(url: string): Face {
  return (sent) => {
    const { method, headers, bytes } = prepared(sent);
    return new Promise((resolve, reject) => {
      const req = request(url, { method, headers: Object.fromEntries(headers), agent: false }, async (res) => {
        let text = "";
        for await (const chunk of res) text += chunk;
        resolve(answer(res.statusCode ?? 0, res.headers as Record<string, string>, text));
      });
      req.on("error", reject).end(bytes);
    });
  };
}

/** Without a wire: the handler's `fetch`. */
export function throughFetch(fetch: (request: Request) => Promise<Response>): Face {
  return async (sent) => {
    const { method, headers, bytes } = prepared(sent);
    const body = bytes === undefined ? {} : { body: bytes as string };
    const response = await fetch(new Request("http://127.0.0.1/mcp", { method, headers, ...body }));
    return answer(response.status, Object.fromEntries(response.headers), await response.text());
  };
}

function answer(status: number, headers: Record<string, string>, text: string): RawAnswer {
  const last = text.split("\n").findLast((line) => line.startsWith("data: "));
  const json = text.startsWith("{") ? text : last?.slice("data: ".length);
  return { status, headers, text, json: json === undefined ? undefined : JSON.parse(json) };
}
