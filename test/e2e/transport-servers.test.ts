/** The official client over either transport, against either way to serve flows: all four give the same calls. */
import { randomBytes } from "node:crypto";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { createCalls } from "../../src/client.ts";
import { createParley, tool } from "../../src/index.ts";
import { connect, TRANSPORTS } from "../helpers/http.ts";
import { MOUNTS, serveFlows } from "../helpers/mounts.ts";

const env = z.string().meta({ "x-mcp-header": "Env" });
const deploy = tool("deploy", { inputSchema: z.object({ env }) }, async ({ env }, flow) => {
  await flow.progress({ progress: 1, total: 2 });
  const who = flow.caller?.clientId ?? "nobody";
  const sure = await flow.confirm("ok", `Deploy to ${env}?`);
  return { content: [{ type: "text", text: sure ? `${who} deployed ${env}` : "kept" }] };
});
const answer = async () => ({ action: "accept" as const, content: { confirm: true } });
const params = { name: "deploy", arguments: { env: "größe" } };

describe.each(MOUNTS)("flows on the %s mount", (mount) => {
  const serve = async () => {
    const parley = createParley({ keys: [randomBytes(32)], callers: "authenticated", onEvent: () => {} });
    const callers = (token: string | undefined) =>
      token === undefined ? undefined : { token, clientId: token, scopes: [], extra: { sub: "1" } };
    const server = await serveFlows(mount, parley, [deploy], { callers });
    onTestFinished(() => server.close());
    return server.url;
  };

  test.each(TRANSPORTS)(
    "over the %s transport: driven, automatic, with progress, and for its caller",
    async (transport) => {
      const url = await serve();
      const options = { capabilities: { elicitation: { form: {} } } };
      const client = await connect(url, options, { authorization: "Bearer ada" }, transport);
      onTestFinished(() => client.close());
      client.setRequestHandler("elicitation/create", answer);
      expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(["deploy"]);
      const expected = [{ type: "text", text: "ada deployed größe" }];
      const onProgress = vi.fn();
      const calls = createCalls(client, { server: "test", responders: { form: answer } });
      expect((await calls.callTool(params, { onProgress })).content).toEqual(expected);
      expect(onProgress.mock.calls.map(([{ progress }, round]) => [progress, round])).toEqual([
        [1, 1],
        [1, 2],
      ]);
      expect((await client.callTool(params)).content).toEqual(expected);
      await expect(calls.callTool({ name: "nope" })).rejects.toMatchObject({ code: -32602 });
    },
  );

  test.each(TRANSPORTS)("over the %s transport: a subscription opens and ends", async (transport) => {
    const url = await serve();
    const client = await connect(url, {}, { authorization: "Bearer ada" }, transport);
    onTestFinished(() => client.close());
    const subscription = await client.listen({ toolsListChanged: true });
    expect(subscription.honoredFilter).toEqual({ toolsListChanged: true });
    await subscription.close();
    expect((await client.listTools()).tools).toHaveLength(1);
  });
});
