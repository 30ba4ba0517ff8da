// A server written by hand on the SDK, over stdio: one tool, two rounds, its state in clear.
import { inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

serveStdio(() => {
  const server = new McpServer({ name: "stdio-by-hand", version: "1.0.0" });
  server.registerTool("whoami", {}, async ({ mcpReq }) => {
    const answer = mcpReq.inputResponses?.name;
    if (answer) {
      return { content: [{ type: "text", text: `${answer.content.name}, first asked by ${mcpReq.requestState()}` }] };
    }
    const requestedSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
    const ask = { method: "elicitation/create", params: { message: "Who are you?", requestedSchema } };
    return inputRequired({ inputRequests: { name: ask }, requestState: String(process.pid) });
  });
  return server;
});
