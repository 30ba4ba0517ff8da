/** The lean transport: what it sends, over which connections, and what it leaves to the SDK's. */
import { createServer as createTcpServer, type Socket } from "node:net";
import { Client } from "@modelcontextprotocol/client";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { leanHttpTransport } from "../../src/client.ts";
import { httpTransport, type TransportName } from "../helpers/http.ts";
import { answering, json, ok, open, request, started } from "./transport-server.ts";

describe("what it sends", () => {
  /** What fetch and Node add of their own accord. */
  const THEIRS = /^(host|connection|content-length|user-agent|accept-language|accept-encoding|sec-fetch-mode)$/;
  const own = (headers: object) => Object.fromEntries(Object.entries(headers).filter(([name]) => !THEIRS.test(name)));

  test("G17 to G20, G22: the same headers and body as the SDK's transport, whatever the method and the name", async () => {
    const { url, seen } = await answering(json);
    const open = async (name: TransportName) => {
      const { transport } = await started(httpTransport(name, url, { authorization: "Bearer a", "X-Tenant": "7" }));
      transport.setProtocolVersion?.("2026-07-28");
      return transport;
    };
    const [sdk, lean] = [await open("sdk"), await open("lean")];
    const unit = fc.constantFrom(..."aZ9 \t~=?/é😀\u007f\u0000\ud800", "=?base64?", "?=");
    const mixed = fc.array(unit).map((parts) => parts.join(""));
    const marked = fc.oneof(
      mixed.map((inner) => `=?base64?${inner}?=`),
      fc.constant("=?base64?="),
    );
    const name = fc.oneof(fc.string(), mixed, marked);
    const message = fc.oneof(
      fc
        .tuple(fc.constantFrom("tools/call", "prompts/get", "tools/list"), name)
        .map(([method, name]) => request(method, { name })),
      name.map((uri) => request("resources/read", { uri })),
      name.map((taskId) => request("tasks/get", { taskId })),
      fc.constant({ jsonrpc: "2.0" as const, method: "notifications/progress", params: {} }),
    );
    const extra = fc.constantFrom(undefined, {
      "Mcp-Param-Env": "prod",
      Authorization: "Bearer b",
      "mcp-name": "other",
    });
    await fc.assert(
      fc.asyncProperty(message, extra, async (message, headers) => {
        seen.length = 0;
        for (const transport of [sdk, lean]) await transport.send(message, headers && { headers });
        const [theirs, ours] = seen;
        expect(own(ours?.headers ?? {})).toEqual(own(theirs?.headers ?? {}));
        expect(ours?.body).toEqual(theirs?.body);
      }),
      { numRuns: 150 },
    );
  });

  test("B15: headers of a function are asked for each request, and its failure is that request's", async () => {
    const { url, seen } = await answering(json);
    let token = 0;
    const headers = async () => {
      token += 1;
      if (token === 3) throw new Error("no token");
      return { authorization: `Bearer ${token}` };
    };
    const { transport } = await open(url, { headers });
    for (const id of [1, 2]) await transport.send(request("tools/list", {}, id));
    await expect(transport.send(request("tools/list", {}, 3))).rejects.toThrow("no token");
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(["Bearer 1", "Bearer 2"]);
  });

  test("what cannot be sent is refused by name, and a value that may be a secret is not repeated", async () => {
    const of =
      (options: object, url = "http://127.0.0.1/mcp") =>
      () =>
        leanHttpTransport(url, options);
    expect(of({ headers: { authorization: "Bearer x" } })).not.toThrow();
    const refused = (option: string) => expect.objectContaining({ code: "configuration", details: { option } });
    expect(of({}, "ftp://127.0.0.1")).toThrow(refused("url"));
    expect(of({}, "http://me:secret@127.0.0.1")).toThrow(refused("url"));
    expect(of({ headers: { "MCP-Name": "x" } })).toThrow(refused("headers.MCP-Name"));
    expect(of({ headers: { a: "secret\n" } })).toThrow(refused("headers.a"));
    expect(of({ headers: { a: "secret\n" } })).not.toThrow(/secret/);
    expect(of({ maxConnections: 0 })).toThrow(refused("maxConnections"));
    expect(of({ timeout: 1 })).toThrow(refused("timeout"));
    const { transport } = await open("http://127.0.0.1:9/mcp", { headers: () => ({ "content-length": "1" }) });
    await expect(transport.send(request("tools/list"))).rejects.toEqual(refused("headers.content-length"));
  });
});

describe("connections", () => {
  test("are used again, and are never more than maxConnections", async () => {
    const { url, sockets, seen } = await answering((res, body, req) => void setImmediate(() => json(res, body, req)));
    const { transport } = await open(url, { maxConnections: 3 });
    for (const id of [1, 2, 3, 4, 5]) await transport.send(request("tools/list", {}, id));
    // A connection is used again a turn of the loop after its last answer: one after the other takes two.
    expect(sockets.size).toBeLessThanOrEqual(2);
    await Promise.all(Array.from({ length: 20 }, (_, id) => transport.send(request("tools/list", {}, id))));
    expect(seen).toHaveLength(25);
    expect(sockets.size).toBe(3);
  });

  /** A server that takes whole requests off its connections, and does with the second what it is told. */
  async function raw(second: (socket: Socket) => void) {
    const sockets: Socket[] = [];
    let requests = 0;
    const server = createTcpServer((socket) => {
      sockets.push(socket);
      let text = "";
      socket.on("error", () => {});
      socket.on("data", (chunk) => {
        text += chunk;
        const [head, length] = /^.*?content-length: (\d+).*?\r\n\r\n/s.exec(text) ?? [];
        if (head === undefined || text.length < head.length + Number(length)) return;
        const { id } = JSON.parse(text.slice(head.length)) as { id: number };
        text = "";
        requests += 1;
        if (requests === 2) second(socket);
        const body = ok(id);
        if (!socket.destroyed) {
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
          );
        }
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    const { port } = server.address() as { port: number };
    return { url: `http://127.0.0.1:${port}/mcp`, sockets, requests: () => requests };
  }

  test("a request that had not left whole when its kept connection was dead is sent on another", async () => {
    const { url, sockets, requests } = await raw(() => {});
    const { transport, messages } = await open(url);
    await transport.send(request("tools/list", {}, 1));
    // In one turn of the loop: the reset is in the kernel, and Node does not know of it yet.
    sockets[0]?.resetAndDestroy();
    await transport.send(request("tools/list", {}, 2));
    expect(messages.map((message) => "id" in message && message.id)).toEqual([1, 2]);
    expect([sockets.length, requests()]).toEqual([2, 2]);
  });

  test.each(["destroy", "resetAndDestroy"] as const)(
    "C8: a request that may have arrived (%s) is not sent again: its loss is told",
    async (end) => {
      const { url, requests } = await raw((socket) => socket[end]());
      const { transport, messages } = await open(url);
      await transport.send(request("tools/list", {}, 1));
      const lost = expect.objectContaining({ code: "connection_lost" });
      await expect(transport.send(request("tools/list", {}, 2))).rejects.toEqual(lost);
      expect([messages.length, requests()]).toEqual([1, 2]);
      await transport.send(request("tools/list", {}, 3));
      expect(messages).toHaveLength(2);
    },
  );

  test("a server that is not there is named, with the reason", async () => {
    const { transport } = await open("http://127.0.0.1:1/mcp");
    const lost = { code: "connection_lost", message: expect.stringMatching(/127\.0\.0\.1:1 .*ECONNREFUSED/) };
    await expect(transport.send(request("tools/list"))).rejects.toMatchObject(lost);
  });
});

describe("what it leaves to the SDK's", () => {
  test("an older server is refused with where to turn, before anything of its era is sent", async () => {
    const { url, seen } = await answering((res) => void res.writeHead(400).end("what?"));
    const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
    await expect(client.connect(leanHttpTransport(url))).rejects.toThrow(/StreamableHTTPClientTransport/);
    expect(seen.map(({ body }) => body.method)).toEqual(["server/discover"]);
  });

  test("a stream is not resumed: the request is not sent as a new one", async () => {
    const { url, seen } = await answering(json);
    const { transport } = await open(url);
    const resumed = transport.send(request("tools/list"), { resumptionToken: "7" });
    await expect(resumed).rejects.toMatchObject({ code: "CAPABILITY_NOT_SUPPORTED" });
    expect(seen).toHaveLength(0);
  });
});
