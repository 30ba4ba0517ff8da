/** Server-sent events for a page that does not read: bounded memory here, and nothing missed that it would not fetch. */
import { createServer, request, type ServerResponse } from "node:http";
import { expect, it, onTestFinished } from "vitest";
import type { InboxEvent } from "../../src/inbox/api.ts";
import { Streams } from "../../src/inbox/http/stream.ts";
import type { Inbox } from "../../src/inbox/inbox.ts";
import { listen } from "../helpers/http.ts";

it("a page that does not read costs a bounded amount of memory, and is told to look at everything", async () => {
  let emit: (event: InboxEvent) => void = () => {};
  let left = false;
  const subscribe: Inbox["subscribe"] = (listener) => {
    emit = listener;
    return () => {
      left = true;
    };
  };
  const streams = new Streams({ subscribe } as Inbox);
  let response: ServerResponse | undefined;
  const http = createServer((_req, res) => {
    response = res;
    streams.open(res);
  });
  const server = await listen(http);
  onTestFinished(() => server.close());
  let text = "";
  const req = request(server.url, (res) => {
    res.setEncoding("utf8");
    res.on("data", (chunk: string) => {
      text += chunk;
    });
    res.pause();
    req.on("read", () => res.resume());
  });
  req.end();
  await expect.poll(() => response !== undefined).toBe(true);
  const calls = 200_000;
  for (let at = 0; at < calls; at += 1) {
    emit({ type: "call", id: `call-${at}`.padEnd(200, "x"), version: 1 });
    // Turns of the loop, so that what can be written is.
    if (at % 10_000 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(response?.writableLength, "not the 40 MB that were told").toBeLessThan(1024 * 1024);
  emit({ type: "call", id: "last", version: 7 });
  req.emit("read");
  await expect.poll(() => text, { timeout: 15_000 }).toContain('{"type":"call","id":"last","version":7}');
  expect(text).toContain('{"type":"servers"}');
  expect(text.length, "most of it was never sent").toBeLessThan(30 * 1024 * 1024);
  req.destroy();
  await expect.poll(() => left).toBe(true);
});
