import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { listen, type TestServer } from "../../helpers/http.ts";

/** What a server that treats all retries alike answers to a retry. */
export const REJECT = {
  error: { code: -32602, message: "Invalid or expired requestState", data: { reason: "invalid_request_state" } },
};
export const ACCEPT = {
  result: {
    resultType: "complete",
    content: [{ type: "text", text: "state-ok: true integrity-ok: true" }],
    messages: [{ role: "user", content: { type: "text", text: "tests" } }],
  },
};

/** `server`, with one and the same answer to every retry: the two ways for a security check to test nothing (B12). */
export function answeringRetries(server: TestServer, answer: object): Promise<TestServer> {
  const http = createServer(async (req, res) => {
    const body = await text(req);
    const { id, params } = JSON.parse(body) as { id: number; params: object };
    if ("inputResponses" in params || "requestState" in params) {
      res.writeHead(200, { "content-type": "application/json" });
      res.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
      return;
    }
    const headers = Object.entries(req.headers).filter(([name]) => /^(mcp-|accept|content-type)/.test(name));
    const response = await fetch(server.url, { method: "POST", headers: headers as [string, string][], body });
    res.writeHead(response.status, { "content-type": response.headers.get("content-type") ?? "" });
    res.end(await response.text());
  });
  return listen(http);
}
