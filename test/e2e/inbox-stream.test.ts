/** Server-sent events for a page that does not read: bounded memory here, and nothing missed that it would not fetch. */
import { createServer, request, type ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import type { InboxEvent } from "../../src/inbox/api.ts";
import { Streams } from "../../src/inbox/http/stream.ts";
import type { Inbox } from "../../src/inbox/inbox.ts";
import { listen } from "../helpers/http.ts";

/** One stream whose events come when told to, and the server that sends it. */
async function streaming() {
  const told = {
    emit: (_event: InboxEvent): void => {},
    left: false,
    response: undefined as ServerResponse | undefined,
  };
  const subscribe: Inbox["subscribe"] = (listener) => {
    told.emit = listener;
    return () => {
      told.left = true;
    };
  };
  const streams = new Streams({ subscribe } as Inbox);
  const http = createServer((_req, res) => {
    told.response = res;
    streams.open(res);
  });
  const server = await listen(http);
  onTestFinished(() => server.close());
  return { told, streams, url: server.url };
}

it("an event that comes while the inbox closes is not written after the end", async () => {
  const { told, streams, url } = await streaming();
  const read = fetch(url).then((response) => response.text());
  await expect.poll(() => told.response !== undefined).toBe(true);
  const errors: unknown[] = [];
  told.response?.on("error", (error) => errors.push(error));
  told.emit({ type: "call", id: "before", version: 1 });
  streams.close();
  expect(told.left, "nobody listens to the inbox any more").toBe(true);
  expect(await read).toContain('"id":"before"');
  expect(errors).toEqual([]);
});

it("a page that does not read costs a bounded amount of memory, and is told to look at everything", async () => {
  const { told, url } = await streaming();
  let text = "";
  const req = request(url, (res) => {
    res.setEncoding("utf8");
    res.on("data", (chunk: string) => {
      text += chunk;
    });
    res.pause();
    req.on("read", () => res.resume());
  });
  req.end();
  await expect.poll(() => told.response !== undefined).toBe(true);
  const calls = 200_000;
  for (let at = 0; at < calls; at += 1) {
    told.emit({ type: "call", id: `call-${at}`.padEnd(200, "x"), version: 1 });
    // Turns of the loop, so that what can be written is.
    if (at % 10_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(told.response?.writableLength, "not the 40 MB that were told").toBeLessThan(1024 * 1024);
  told.emit({ type: "call", id: "last", version: 7 });
  req.emit("read");
  await expect.poll(() => text, { timeout: 15_000 }).toContain('{"type":"call","id":"last","version":7}');
  expect(text).toContain('{"type":"servers"}');
  expect(text.length, "most of it was never sent").toBeLessThan(30 * 1024 * 1024);
  req.destroy();
  await expect.poll(() => told.left).toBe(true);
});
