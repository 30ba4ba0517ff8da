import type { ServerResponse } from "node:http";
import type { InboxEvent } from "../api.ts";
import type { Inbox } from "../inbox.ts";
import { problem } from "./problems.ts";

/** Pages that listen at once. */
const MAX_STREAMS = 32;
/** Events kept for a page that does not read; with more, it is told to look at everything. */
const MAX_WAITING = 500;
/** A line now and then shows both sides that the connection is alive. */
const PING_MS = 20_000;

/** Server-sent events. A slow page costs a bounded amount of memory, and misses nothing it would not fetch anyway. */
export class Streams {
  /** What each needs no more once it is ending. */
  readonly #open = new Map<ServerResponse, () => void>();
  readonly #inbox: Inbox;

  constructor(inbox: Inbox) {
    this.#inbox = inbox;
  }

  /** @throws HttpProblem 503 when too many listen. */
  open(res: ServerResponse): void {
    if (this.#open.size >= MAX_STREAMS) throw problem(503, "limit_exceeded", "Too many pages are open.");
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    const waiting = new Map<string, InboxEvent>();
    let flowing = true;
    const flush = (): void => {
      for (const [key, event] of waiting) {
        if (!flowing) return;
        waiting.delete(key);
        flowing = res.write(`data: ${JSON.stringify(event)}\n\n`);
      }
    };
    const unsubscribe = this.#inbox.subscribe((event) => {
      if (waiting.size >= MAX_WAITING) {
        waiting.clear();
        waiting.set("servers", { type: "servers" });
      }
      // One entry for each call: the newest version is the one to fetch.
      waiting.set(event.type === "call" ? event.id : event.type, event);
      flush();
    });
    const ping = setInterval(() => {
      if (flowing) flowing = res.write(": here\n\n");
    }, PING_MS);
    res.on("drain", () => {
      flowing = true;
      flush();
    });
    const stop = () => {
      this.#open.delete(res);
      unsubscribe();
      clearInterval(ping);
    };
    this.#open.set(res, stop);
    res.on("close", stop);
    flowing = res.write(": here\n\n");
  }

  close(): void {
    for (const [res, stop] of this.#open) {
      // First: calls go on until the inbox itself is closed, and what is written after the end is an error.
      stop();
      res.end();
    }
  }
}
