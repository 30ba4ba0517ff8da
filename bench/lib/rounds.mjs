// Rounds in this process, without a transport: what is measured is Parley, not the SDK or HTTP.
import { randomBytes } from "node:crypto";
import { resolveOptions } from "../../dist/server/options.js";
import { RoundServer } from "../../dist/server/serve.js";

const KEY = randomBytes(32);
const signal = new AbortController().signal;
const capabilities = { elicitation: { form: {} } };

/** The part of a server that serves rounds, with one key for the whole run. */
export function roundServer(options = {}) {
  return new RoundServer(resolveOptions({ keys: [KEY], callers: "anonymous", onEvent: () => {}, ...options }));
}

/**
 * One call, from its first request to its result, by a client that names its call and repeats its request each round.
 * @param answer gives the content that accepts a form, by the question's key.
 * @param onState is told of every state on its way to the client; it comes back once.
 */
export async function playCall(server, flow, args, answer, onState) {
  const _meta = { "mcp-parley/call-id": randomBytes(16).toString("base64url") };
  const served = { version: undefined, run: (own) => flow.run(args, own) };
  let requestState;
  let inputResponses;
  for (let rounds = 1; ; rounds++) {
    const result = await server.serve(served, {
      method: "tools/call",
      target: flow.name,
      params: { name: flow.name, arguments: args, _meta },
      inputResponses,
      requestState,
      authInfo: undefined,
      capabilities,
      checkCapabilities: true,
      signal,
      sendProgress: async () => {},
    });
    if (result.resultType !== "input_required") return { result, rounds };
    requestState = result.requestState;
    onState?.(requestState);
    inputResponses = Object.fromEntries(
      Object.keys(result.inputRequests).map((key) => [key, { action: "accept", content: answer(key) }]),
    );
  }
}

/** What the wire calls a form with one text field. */
export const textForm = (name) => ({ type: "object", properties: { [name]: { type: "string" } }, required: [name] });
