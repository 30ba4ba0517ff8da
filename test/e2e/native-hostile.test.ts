/** The native mount under clients that mean harm: each gets the right status, memory stays bounded, honest calls are served. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, it, vi } from "vitest";
import { z } from "zod";
import { createParley, type HandlerOptions, tool } from "../../src/index.ts";
import { listen } from "../helpers/http.ts";
import { nativeOptions } from "../helpers/mounts.ts";
import { type Face, good, META, overHttp, throughFetch } from "../helpers/raw.ts";

vi.setConfig({ testTimeout: 30_000 });
/** A generous bound: the machine may be busy. */
const until = (reached: () => boolean | Promise<boolean>) => vi.waitUntil(reached, { timeout: 20_000 });
const MiB = 1024 * 1024;
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const flows = [
  tool("echo", { inputSchema: z.object({ word: z.string() }) }, async ({ word }) => text(word)),
  tool("anything", { inputSchema: z.looseObject({}) }, async (args) => text(String(Object.keys(args).length))),
];
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function serve(options: Partial<HandlerOptions> = {}) {
  const parley = createParley({ keys: [Buffer.from("0123456789abcdef0123456789abcdef")], callers: "anonymous" });
  const handler = parley.handler({ ...nativeOptions(flows), ...options });
  const http: Server = createServer(handler.listener);
  const server = await listen(http, () => handler.close());
  closing.push(server.close);
  const { port } = http.address() as AddressInfo;
  return { port, http, listener: overHttp(server.url), fetch: throughFetch(handler.fetch) };
}

const honest = async (send: Face) => {
  const { json } = await send(good("tools/call", { name: "echo", arguments: { word: "hello" } }));
  expect(json?.["result"]).toMatchObject(text("hello"));
};
const calling = (name: string, args: unknown) => good("tools/call", { name, arguments: args });

/** Raw bytes on a socket, and all that comes back. */
async function raw(port: number, bytes = "") {
  const socket = connect(port, "127.0.0.1");
  closing.push(() => socket.destroy());
  const came = { text: "", closed: false };
  socket.on("data", (chunk) => {
    came.text += chunk;
  });
  socket.on("close", () => {
    came.closed = true;
  });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  socket.write(bytes);
  return { socket, came, status: () => Number(/^HTTP\/1\.1 (\d+)/.exec(came.text)?.[1]) };
}

const HEAD = "POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n";

it.each(["listener", "fetch"] as const)("a body beyond maxBodyBytes is 413, announced or not (%s)", async (face) => {
  const server = await serve({ maxBodyBytes: 1_000 });
  const send = server[face];
  await honest(send);
  const within = calling("anything", { filler: "x".repeat(500) });
  expect((await send(within)).status).toBe(200);
  expect((await send(calling("anything", { filler: "x".repeat(1_000) }))).status).toBe(413);
  await honest(send);
});

it("a body that only turns out too long is 413 as well, and its client gets to read that", async () => {
  const { port, listener } = await serve({ maxBodyBytes: 1_000 });
  const { came, status, socket } = await raw(port, `${HEAD}transfer-encoding: chunked\r\n\r\n`);
  socket.write(`3e8\r\n${"x".repeat(1_000)}\r\n`);
  await honest(listener);
  expect(came.text).toBe("");
  socket.write(`1\r\nx\r\n`);
  await until(() => status() === 413);
  await honest(listener);
});

it("megabytes without end: 413 at once, and the connection is cut", async () => {
  const { port, listener } = await serve({ maxBodyBytes: 1_000 });
  const { came, status, socket } = await raw(port, `${HEAD}content-length: 1000000000000\r\n\r\n`);
  await until(() => status() === 413);
  const before = process.memoryUsage().rss;
  const chunk = "x".repeat(64 * 1024);
  while (!came.closed) {
    socket.write(chunk);
    await new Promise((resolve) => setImmediate(resolve));
    if (socket.writableLength > MiB) await Promise.race([once(socket, "drain"), once(socket, "close")]);
  }
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * MiB);
  await honest(listener);
});

it("a body that does not come in time is 408, byte by byte or not at all, and the connection ends", async () => {
  const { port, listener } = await serve({ bodyTimeoutMs: 150 });
  const silent = await raw(port, `${HEAD}content-length: 50\r\n\r\n`);
  const dripping = await raw(port, `${HEAD}content-length: 5000\r\n\r\n`);
  const drip = setInterval(() => dripping.socket.write("x"), 10);
  closing.push(() => clearInterval(drip));
  await honest(listener);
  await until(() => silent.came.closed && dripping.came.closed);
  expect([silent.status(), dripping.status()]).toEqual([408, 408]);
  await honest(listener);
});

it("many bodies at once may hold maxPendingBytes in all; the next is 503 with Retry-After, and room comes back", async () => {
  const { port, listener } = await serve({ maxBodyBytes: 100_000, maxPendingBytes: 200_000 });
  const holding: Socket[] = [];
  for (let at = 0; at < 3; at++) {
    const { socket } = await raw(port, `${HEAD}content-length: 70000\r\n\r\n${"x".repeat(60_000)}`);
    holding.push(socket);
  }
  const big = calling("anything", { filler: "x".repeat(50_000) });
  await until(async () => (await listener(big)).status === 503);
  const refused = await listener(big);
  expect(refused.headers["retry-after"]).toBe("1");
  for (const socket of holding) socket.destroy();
  await until(async () => (await listener(big)).status === 200);
});

it.each(["listener", "fetch"] as const)(
  "nesting beyond maxDepth is 400 and never a stack overflow (%s)",
  async (face) => {
    const send = (await serve())[face];
    const nested = (levels: number, [open, close]: [string, string]) => {
      const { headers, body } = calling("anything", { deep: "@" });
      return {
        headers,
        body: JSON.stringify(body).replace('"@"', open.repeat(levels) + (close ? `0${close.repeat(levels)}` : "")),
      };
    };
    const kinds: [string, string][] = [
      ["[", "]"],
      ['{"a":', "}"],
    ];
    for (const kind of kinds) {
      expect((await send(nested(90, kind))).status).toBe(200);
      for (const levels of [130, 5_000, 200_000]) {
        const { status, json } = await send(nested(levels, kind));
        expect({ status, error: json?.["error"] }).toMatchObject({ status: 400, error: { code: -32600 } });
      }
      expect((await send(nested(200_000, [kind[0], ""]))).status).toBe(400);
    }
    const inMeta = good("tools/list", {});
    const deep = JSON.stringify({ ...(inMeta.body as object), params: { _meta: { ...META, x: "@" } } });
    const body = deep.replace('"@"', "[".repeat(500) + "]".repeat(500));
    expect((await send({ ...inMeta, body })).status).toBe(400);
    await honest(send);
  },
);

it("wide JSON, long names, __proto__ and doubled keys are data like any other", async () => {
  const { listener } = await serve();
  const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]));
  expect((await listener(calling("anything", wide))).json?.["result"]).toMatchObject(text("50000"));
  const long = { ["n".repeat(MiB)]: 1 };
  expect((await listener(calling("anything", long))).json?.["result"]).toMatchObject(text("1"));
  const { headers, body } = calling("anything", { a: 1 });
  const poisoned = JSON.stringify(body).replace(
    '"a":1',
    '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}',
  );
  expect((await listener({ headers, body: poisoned })).status).toBe(200);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  const doubled = JSON.stringify(body).replace('"a":1', '"a":1,"a":2');
  expect((await listener({ headers, body: doubled })).json?.["result"]).toMatchObject(text("1"));
});

it("a flood of headers is Node's own 431, two lengths are its 400, and neither reaches us", async () => {
  const { port, listener } = await serve();
  const flood = await raw(port, `${HEAD}${"x-a: b\r\n".repeat(5_000)}content-length: 2\r\n\r\n{}`);
  await until(() => flood.status() === 431);
  const smuggled = await raw(port, `${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`);
  await until(() => smuggled.status() === 400);
  await honest(listener);
});

it("a thousand idle connections, and as many that stop after their headers, hold little and keep nobody out", async () => {
  const { port, listener, http } = await serve();
  await honest(listener);
  const before = process.memoryUsage().rss;
  // In waves: more at once than the listen queue holds would be turned away by the system.
  for (let wave = 0; wave < 10; wave++) {
    await Promise.all(
      Array.from({ length: 200 }, (_, at) => raw(port, at % 2 ? `${HEAD}content-length: 1000\r\n\r\n{` : "")),
    );
  }
  const connections = () => new Promise<number>((resolve) => http.getConnections((_, count) => resolve(count)));
  await until(async () => (await connections()) >= 2_000);
  for (let at = 0; at < 20; at++) await honest(listener);
  // Both ends of every connection are in this process.
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * MiB);
});

it("a slow reader of a stream costs no memory: progress it does not take is not kept", async () => {
  const parley = createParley({ keys: [Buffer.from("0123456789abcdef0123456789abcdef")], callers: "anonymous" });
  let sent = 0;
  const chatty = tool("chatty", {}, async (_args, flow) => {
    const message = "m".repeat(10_000);
    for (; sent < 20_000; sent++) {
      await flow.progress({ progress: sent + 1, message });
      if (sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return text("done");
  });
  const handler = parley.handler(nativeOptions([chatty]));
  const http = createServer(handler.listener);
  closing.push((await listen(http, () => handler.close())).close);
  const { port } = http.address() as AddressInfo;
  const params = { name: "chatty", _meta: { ...META, progressToken: 1 } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const names = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: chatty\r\n";
  const before = process.memoryUsage().rss;
  const { socket } = await raw(port);
  socket.pause();
  socket.write(`${HEAD}${names}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  await until(() => sent === 20_000);
  // Two hundred megabytes, were they kept.
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * MiB);
});

it("I5: requests sent behind another wait for their turn, and none begins once the connection is gone", async () => {
  const slow = { started: 0, aborted: 0 };
  const wait = tool("wait", { inputSchema: z.object({}) }, async (_args, { signal }) => {
    slow.started += 1;
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    slow.aborted += 1;
    return text("never");
  });
  const { port, listener } = await serve({ tools: [...flows, wait] });
  const bytes = (name: string, args: object, id: number) => {
    const { headers, body } = good("tools/call", { name, arguments: args }, id);
    const content = JSON.stringify(body);
    const lines = Object.entries(headers).map(([header, value]) => `${header}: ${value}\r\n`);
    return `${HEAD}${lines.join("")}content-length: ${content.length}\r\n\r\n${content}`;
  };
  const honestOnes = [1, 2, 3].map((id) => bytes("echo", { word: `w${id}` }, id)).join("");
  const { came } = await raw(port, honestOnes);
  await until(() => came.text.split("HTTP/1.1 200").length === 4);
  expect([...came.text.matchAll(/"text":"(w\d)"/g)].map(([, word]) => word)).toEqual(["w1", "w2", "w3"]);

  const rude = await raw(port, [1, 2, 3].map((id) => bytes("wait", {}, id)).join(""));
  await until(() => slow.started > 0);
  await honest(listener);
  rude.socket.destroy();
  await until(() => slow.aborted > 0);
  await honest(listener);
  expect(slow).toEqual({ started: 1, aborted: 1 });
});

it("G2: an id that JSON cannot write is answered as none, in JSON", async () => {
  const { listener, fetch } = await serve();
  const sent = good("tools/call", { name: "echo", arguments: { word: "hello" } });
  const body = JSON.stringify(sent.body).replace('"id":1', '"id":1e400');
  for (const face of [listener, fetch]) {
    const { status, json } = await face({ ...sent, body });
    expect([status, json]).toEqual([400, expect.objectContaining({ id: null, error: expect.anything() })]);
  }
});
