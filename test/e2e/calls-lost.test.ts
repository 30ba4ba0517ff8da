import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { type CallEvent, createCalls } from "../../src/client.ts";
import { TRANSPORTS } from "../helpers/http.ts";
import { serve } from "./calls-server.ts";

const accept = { action: "accept" as const, content: { when: "now" } };
const form = async (_: unknown, { key }: { key: string }) => (key === "ok" ? { action: "accept" as const } : accept);
const deploy = { name: "deploy", arguments: { env: "x" } };
const pacing = { initialMs: 1 };
const stream = { "content-type": "text/event-stream" };

const breaks: [string, (res: ServerResponse) => void][] = [
  ["ends an event stream without a response", (res) => res.writeHead(200, stream).end(": ping\n\n")],
  ["drops an event stream", (res) => void res.writeHead(200, stream).write(": ping\n\n", () => res.destroy())],
  ["drops the connection before any byte", (res) => void res.destroy()],
  [
    "drops a JSON body half way",
    (res) => void res.writeHead(200, { "content-type": "application/json" }).write('{"jso', () => res.destroy()),
  ],
];

describe.each(TRANSPORTS)("over the %s transport", (transport) => {
  test.each(breaks)(
    "B24: a server that %s gets the leg again, as a new request with the same answers",
    async (_, cut) => {
      const { client, legs } = await serve({
        transport,
        before: (_, res, count) => {
          if (count !== 1 && count !== 3) return false;
          cut(res);
          return true;
        },
      });
      await client.listTools();
      const events: CallEvent[] = [];
      const onEvent = (event: CallEvent) => events.push(event);
      const calls = createCalls(client, { server: "prod", responders: { form }, pacing, onEvent });
      const result = await calls.callTool(deploy);
      expect(result.structuredContent).toEqual({ deployed: "x now" });
      const [first, again, lost, resent] = legs().map(({ body }) => body);
      expect(again?.params).toEqual(first?.params);
      expect(lost?.params).toMatchObject({ requestState: "1", inputResponses: { ok: { action: "accept" } } });
      expect(resent?.params).toEqual(lost?.params);
      expect(new Set(legs().map(({ body }) => body.id)).size).toBe(6);
      expect(events.filter(({ type }) => type === "resent")).toHaveLength(2);
    },
  );

  test.each(breaks)("B24: with resendLostLegs 0 a server that %s fails the call at once", async (_, cut) => {
    const { client, legs } = await serve({
      transport,
      before: (_, res) => {
        cut(res);
        return true;
      },
    });
    await client.listTools();
    const calls = createCalls(client, { server: "prod", responders: { form }, pacing, resendLostLegs: 0 });
    const startedAt = Date.now();
    const failure = await calls.callTool(deploy).catch((error) => error);
    // An ended stream is named; what the transport threw is passed on.
    if (failure instanceof TypeError) expect(failure.message).toMatch(/fetch failed|terminated/);
    else expect(failure.code).toMatch(/^(CONNECTION_CLOSED|connection_lost)$/);
    expect(Date.now() - startedAt).toBeLessThan(2000);
    expect(legs()).toHaveLength(1);
  });

  test("B24: in a call that is open, answers survive a lost leg and are sent when the owner tries again", async () => {
    const { client, legs } = await serve({
      transport,
      before: (_, res, count) => {
        if (count !== 2) return false;
        res.destroy();
        return true;
      },
    });
    await client.listTools();
    const calls = createCalls(client, { server: "prod", responders: { form }, pacing, resendLostLegs: 0 });
    const call = await calls.open("tools/call", deploy);
    call.answer("ok", { action: "accept" });
    await expect(call.continue()).rejects.toThrow();
    expect(call.status).toBe("asking");
    const { answers } = call.toJSON();
    expect(answers).toEqual({ ok: { action: "accept", content: {} } });
    await expect(call.run()).resolves.toMatchObject({ structuredContent: { deployed: "x now" } });
    expect(legs()).toHaveLength(5);
  });

  test("B24: a server's own error, a bad gateway and a stop at the host are not lost legs", async () => {
    const { client, legs } = await serve({
      transport,
      before: (_, res, count) => {
        res.writeHead(count === 1 ? 502 : 500).end("no");
        return true;
      },
    });
    await client.listTools();
    const calls = createCalls(client, { server: "prod", responders: { form }, pacing });
    await expect(calls.callTool(deploy)).rejects.toMatchObject({ status: 502 });
    await expect(calls.callTool(deploy)).rejects.toMatchObject({ status: 500 });
    expect(legs()).toHaveLength(2);
  });

  test.each(["null", "[]", "7", '"text"', '{"resultType":', "<html>"])(
    "B1: a JSON body whose result is %s is an invalid result, told once, and never the parser's own error",
    async (result) => {
      const { client, legs } = await serve({
        transport,
        before: ({ body }, res) => {
          res.writeHead(200, { "content-type": "application/json" });
          res.end(`{"jsonrpc":"2.0","id":${JSON.stringify(body.id)},"result":${result}}`);
          return true;
        },
      });
      await client.listTools();
      const failure = await createCalls(client, { server: "prod", pacing })
        .callTool(deploy)
        .catch((error) => error);
      expect(failure).toMatchObject({ code: "invalid_result", details: { server: "prod", method: "tools/call" } });
      expect(failure.message.length).toBeLessThan(200);
      expect(legs()).toHaveLength(1);
    },
  );
});
