/** The lean transport under the official client: what it makes of every kind of answer, right and wrong. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { ProtocolError, SdkHttpError } from "@modelcontextprotocol/client";
import { describe, expect, test, vi } from "vitest";
import { type Answer, answering, connected, json, ok, open, request } from "./transport-server.ts";

describe("what it makes of an answer", () => {
  const done = { resultType: "complete", content: [{ type: "text", text: "done" }] };
  const begin = (res: ServerResponse) => res.writeHead(200, { "content-type": "Text/Event-Stream; charset=utf-8" });
  const lost = expect.objectContaining({ code: "connection_lost" });

  test("B23, G29: events come as they are sent, comments mean nothing, and the response frees the connection", async () => {
    let res: ServerResponse | undefined;
    let id: unknown;
    const { client } = await connected((response, body) => {
      begin(response);
      [res, id] = [response, body.id];
    });
    const seen: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => void seen.push(progress);
    const call = client.callTool({ name: "slow" }, { onprogress });
    await vi.waitFor(() => expect(res).toBeDefined());
    const step = (progress: number) =>
      JSON.stringify({ jsonrpc: "2.0", method: "notifications/progress", params: { progressToken: id, progress } });
    res?.write(`\ufeff: ping\r\n\r\ndata: ${step(1)}\r\n\r\n`);
    await vi.waitFor(() => expect(seen).toEqual([1]));
    res?.write(`event: other\ndata: ${step(2)}\n\ndata: ${step(3)}\n\ndata: ${ok(id, done)}\n\ndata: ${step(4)}\n\n`);
    expect(await call).toMatchObject({ content: done.content });
    expect(seen).toEqual([1, 3]);
    // The stream is still open at the server: it is given up, long before a kept connection would be.
    await vi.waitFor(() => expect([res?.closed, res?.writableFinished]).toEqual([true, false]), { timeout: 3_000 });
  });

  test.each<[string, Answer]>([
    ["a stream that ends", (res) => void begin(res).end(": ping\n\n")],
    ["a stream that breaks off in its response", (res, { id }) => void begin(res).end(`data: ${ok(id, done)}\n`)],
    ["a stream that is cut", (res) => void begin(res).write(": ping\n\n", () => res.destroy())],
    ["another request's response", (res) => void begin(res).end(`data: ${ok(77, done)}\n\n`)],
  ])("B24: %s without a response ends the request at once", async (_, answer) => {
    const { client } = await connected(answer);
    await expect(client.callTool({ name: "x" })).rejects.toEqual(lost);
  });

  test.each<[string, string]>([
    ["no JSON", "<html>secret</html>"],
    ["no message", '{"jsonrpc":"2.0","id":1}'],
    ["no object as result", '{"jsonrpc":"2.0","id":1,"result":7}'],
    ["another request's", '{"jsonrpc":"2.0","id":77,"result":{"resultType":"complete"}}'],
    ["a batch", '[{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}]'],
  ])("a JSON body that is %s fails the request at once, and is not repeated", async (_, body) => {
    const { client } = await connected(
      (res) => void res.writeHead(200, { "content-type": "application/json" }).end(body),
    );
    const failure = await client.callTool({ name: "x" }).catch((error) => error);
    expect(failure).toMatchObject({ code: "INVALID_RESULT" });
    expect(failure.message).not.toMatch(/secret/);
  });

  test("a message is bounded by maxMessageBytes, in a body and in an event, and the connection is closed", async () => {
    const padded = (id: unknown, length: number) => ok(id, { ...done, pad: "x".repeat(length) });
    let [kind, length] = ["json", 900];
    let connection: Socket | null = null;
    const { client } = await connected(
      (res, { id }) => {
        connection = res.socket;
        if (kind === "json") res.setHeader("content-type", "application/json").end(padded(id, length));
        else void begin(res).write(`data: ${padded(id, length)}\n\n`);
      },
      { maxMessageBytes: 1_100 },
    );
    for (kind of ["json", "sse"]) {
      length = 900;
      expect(await client.callTool({ name: "x" })).toMatchObject({ content: done.content });
      length = 1_100;
      const tooLong = expect.objectContaining({ code: "limit_exceeded", details: { limit: 1_100 } });
      await expect(client.callTool({ name: "x" })).rejects.toEqual(tooLong);
      await vi.waitFor(() => expect(connection?.destroyed).toBe(true), { timeout: 3_000 });
    }
  });

  test.each<[string, Answer]>([
    ["before any answer", () => {}],
    ["in a body", (res) => void res.writeHead(200, { "content-type": "application/json" }).write("{")],
    ["in a stream", (res) => void begin(res).write(": ping\n\n")],
  ])("I5: an abort %s closes that request's connection, and no other's", async (_, hang) => {
    let closed = 0;
    const held: ServerResponse[] = [];
    const { client, seen } = await connected((res, body) => {
      res.on("close", () => (closed += res.writableFinished ? 0 : 1));
      if ((body.params as { name: string }).name === "stays") held.push(res);
      else hang(res, body, {} as IncomingMessage);
    });
    const stays = client.callTool({ name: "stays" });
    const owner = new AbortController();
    const goes = client.callTool({ name: "goes" }, { signal: owner.signal });
    await vi.waitFor(() => expect(seen).toHaveLength(3));
    owner.abort(new Error("enough"));
    await expect(goes).rejects.toThrow("enough");
    await vi.waitFor(() => expect(closed).toBe(1));
    const { id } = seen.find(({ body }) => (body.params as { name?: string })?.name === "stays")?.body ?? {};
    held[0]?.setHeader("content-type", "application/json").end(ok(id, done));
    expect(await stays).toMatchObject({ content: done.content });
    expect(seen.map(({ body }) => body.method)).not.toContain("notifications/cancelled");
  });

  test("the end of a stream is told to who sent the request, and an abort is its own doing: no error is reported", async () => {
    const { url } = await answering((res, { id }) => {
      begin(res).write(": ping\n\n");
      if (id === 1) res.end();
    });
    const { transport } = await open(url);
    const [onerror, onRequestStreamEnd] = [vi.fn(), vi.fn()];
    transport.onerror = onerror;
    await expect(transport.send(request("tools/list", {}, 1), { onRequestStreamEnd })).rejects.toEqual(lost);
    expect([onRequestStreamEnd.mock.calls.length, onerror.mock.calls]).toEqual([1, [[lost]]]);
    const owner = new AbortController();
    const options = { requestSignal: owner.signal, onRequestStreamEnd };
    const aborted = expect(transport.send(request("tools/list", {}, 2), options)).rejects.toThrow("enough");
    owner.abort(new Error("enough"));
    await aborted;
    expect([onRequestStreamEnd.mock.calls.length, onerror.mock.calls.length]).toEqual([1, 1]);
  });

  test("close ends what is in flight, and the transport with it", async () => {
    const { client, seen } = await connected(() => {});
    const call = client.callTool({ name: "x" });
    await vi.waitFor(() => expect(seen).toHaveLength(2));
    await Promise.all([expect(call).rejects.toMatchObject({ code: "CONNECTION_CLOSED" }), client.close()]);
    await expect(client.callTool({ name: "x" })).rejects.toThrow();
  });

  test.each([
    ["400 with its id", 400, -32021, (id: unknown) => id],
    ["404 with its id", 404, -32601, (id: unknown) => id],
    ["400 with no id it could read", 400, -32700, () => null],
  ])("G26, G31: a refusal that is a JSON-RPC error, HTTP %s, is that error", async (_, status, code, idOf) => {
    const { client } = await connected((res, { id }) => {
      const error = { code, message: "no", data: { requiredCapabilities: {} } };
      res.writeHead(status).end(JSON.stringify({ jsonrpc: "2.0", id: idOf(id), error }));
    });
    const failure = await client.callTool({ name: "x" }).catch((error) => error);
    expect(failure).toBeInstanceOf(ProtocolError);
    expect(failure).toMatchObject({ code, data: { requiredCapabilities: {} } });
  });

  test.each([
    [401, "CLIENT_HTTP_AUTHENTICATION"],
    [403, "CLIENT_HTTP_FORBIDDEN"],
    [400, "CLIENT_HTTP_NOT_IMPLEMENTED"],
    [429, "CLIENT_HTTP_NOT_IMPLEMENTED"],
    [503, "CLIENT_HTTP_NOT_IMPLEMENTED"],
  ])("HTTP %i is an error by its status, with the server's words apart from the message", async (status, code) => {
    const challenge = 'Bearer resource_metadata="https://example.com/x"';
    let answered = "";
    const { client } = await connected((res, { id }) => {
      // Only another request's error is none of this one's at 400 and 429; at the others no error counts.
      const error = { code: 1, message: "secret" };
      answered = JSON.stringify({ jsonrpc: "2.0", id: status === 400 || status === 429 ? 77 : id, error });
      res.writeHead(status, { "www-authenticate": challenge }).end(answered);
    });
    const failure = await client.callTool({ name: "x" }).catch((error) => error);
    expect(failure).toBeInstanceOf(SdkHttpError);
    expect(failure).toMatchObject({ status, code, data: { text: answered, wwwAuthenticate: challenge } });
    expect(failure.message).toMatch(new RegExp(`HTTP ${status}`));
    expect(failure.message).not.toMatch(/secret/);
  });

  test.each([301, 302, 303, 307, 308])("a redirect (%i) is told and not followed", async (status) => {
    const elsewhere = await answering(json);
    const location = `${elsewhere.url}?token=secret`;
    const { client } = await connected((res) => void res.writeHead(status, { location }).end());
    const failure = await client.callTool({ name: "x" }).catch((error) => error);
    expect(failure).toMatchObject({ data: { status }, message: expect.stringContaining(elsewhere.url) });
    expect(failure.message).not.toMatch(/secret/);
    expect(elsewhere.seen).toHaveLength(0);
  });

  test("a body that nobody needs, and that does not end, holds nothing up: a notification's, a refusal's", async () => {
    const answers: ServerResponse[] = [];
    const { url } = await answering((res, { id }) => {
      answers.push(res);
      const refused = JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32602, message: "no" } });
      if (id === undefined) res.writeHead(202).write("taking my time");
      else res.writeHead(400).write(refused);
    });
    const { transport, messages } = await open(url);
    await transport.send({ jsonrpc: "2.0", method: "notifications/progress", params: {} });
    await transport.send(request("tools/list"));
    expect(messages).toMatchObject([{ error: { code: -32602 } }]);
    await vi.waitFor(() => expect(answers.map(({ closed }) => closed)).toEqual([true, true]), { timeout: 3_000 });
  });

  test("a 2xx that is neither JSON nor a stream is told, a 202 included", async () => {
    const { client } = await connected((res) => void res.writeHead(202).end());
    await expect(client.callTool({ name: "x" })).rejects.toMatchObject({ code: "CLIENT_HTTP_UNEXPECTED_CONTENT" });
  });
});
