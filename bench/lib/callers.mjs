// Ways to make the whole call: whose client, over whose transport. Nobody thinks: the question is answered at once.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createCalls, leanHttpTransport } from "../../dist/client.js";
import { TOOL } from "../http/work.mjs";

const transports = {
  lean: (url) => leanHttpTransport(url),
  sdk: (url) => new StreamableHTTPClientTransport(new URL(url)),
};
const answer = async () => ({ action: "accept", content: { when: "now" } });
const params = { name: TOOL, arguments: { env: "prod" } };

async function connected(url, transport, options = {}) {
  const client = new Client(
    { name: "bench", version: "1.0.0" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } }, ...options },
  );
  await client.connect(transports[transport](url));
  return client;
}

/** Our driver. */
export async function driver(url, transport) {
  const client = await connected(url, transport);
  const calls = createCalls(client, { server: "bench", responders: { form: answer } });
  return () => calls.callTool(params);
}

/** The SDK's client, which answers by itself what it has a handler for. */
export async function automatic(url, transport) {
  const client = await connected(url, transport, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler("elicitation/create", answer);
  return () => client.callTool(params);
}
