// The work by hand on the SDK, as its own example does it: its codec, bound to the caller and to the arguments.
import { createHash, randomBytes } from "node:crypto";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, createRequestStateCodec, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { config, finding, INFO, KEY, others, question, TOOL, text } from "./work.mjs";

const codec = createRequestStateCodec({ key: randomBytes(32), bind: ({ bound }) => bound });

function boundTo({ mcpReq, http }, name, args) {
  const digest = createHash("sha256").update(JSON.stringify(args)).digest("base64url");
  return { bound: [mcpReq.method, http?.authInfo?.clientId ?? "", name, digest].join("\0") };
}

export function listenerFor({ tools, entries }) {
  const deploy = async (args, ctx) => {
    const bound = boundTo(ctx, TOOL, args);
    const carried = ctx.mcpReq.requestState();
    const { results } = carried === undefined ? { results: [] } : await codec.verify(carried, bound);
    for (let number = results.length; number < entries; number++) results.push(finding(number));
    const answer = carried === undefined ? undefined : ctx.mcpReq.inputResponses?.[KEY];
    if (answer?.action === "accept" && typeof answer.content?.when === "string") {
      return text(`${args.env} ${answer.content.when}`);
    }
    const requestState = await codec.mint({ results }, bound);
    return inputRequired({ inputRequests: { [KEY]: question(args.env) }, requestState });
  };
  const rest = others(tools);
  return toNodeHandler(
    createMcpHandler(() => {
      const server = new McpServer(INFO);
      server.registerTool(TOOL, config, deploy);
      for (const { name, config, run } of rest) server.registerTool(name, config, run);
      return server;
    }),
  );
}
