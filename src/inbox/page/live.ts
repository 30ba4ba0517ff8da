/** Whether the page hears of changes: server-sent events, and asking every few seconds while there are none. */
import { useEffect, useState } from "preact/hooks";
import type { Api } from "./client.ts";

/** "lost": the inbox does not answer. "ended": it does, but no longer knows this browser. */
export type Connection = "connecting" | "live" | "polling" | "lost" | "ended";

export interface Live {
  readonly connection: Connection;
  /** Grows with every change: fetch again what is shown. */
  readonly changes: number;
}

const POLL_MS = 3000;
/** Changes that come together are fetched together. */
const GATHER_MS = 50;

export function useLive(api: Api): Live {
  const [live, setLive] = useState<Live>({ connection: "connecting", changes: 0 });
  useEffect(() => {
    const line = new Line(api, setLive);
    line.start();
    return () => line.stop();
  }, [api]);
  return live;
}

type Update = (change: (live: Live) => Live) => void;

class Line {
  readonly #api: Api;
  readonly #update: Update;
  #events: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #gathering: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;

  constructor(api: Api, update: Update) {
    this.#api = api;
    this.#update = update;
  }

  start(): void {
    void this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#events?.close();
  }

  async #connect(): Promise<void> {
    const session = await this.#api.open();
    if (this.#stopped) return;
    if (session.ok) {
      this.#say("polling");
      this.#listen();
    } else {
      this.#say(session.problem.code === "unauthorized" ? "ended" : "lost");
    }
    this.#again();
  }

  #listen(): void {
    this.#events?.close();
    const events = new EventSource("/api/events");
    this.#events = events;
    events.onopen = () => {
      clearTimeout(this.#timer);
      this.#say("live");
    };
    events.onmessage = () => {
      this.#gathering ??= setTimeout(() => {
        this.#gathering = undefined;
        this.#say("live");
      }, GATHER_MS);
    };
    events.onerror = () => {
      // The browser's own retry would not learn a new session; ours asks for one first.
      events.close();
      if (!this.#stopped) this.#again(200);
    };
  }

  #again(afterMs = POLL_MS): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#connect(), afterMs);
  }

  #say(connection: Connection): void {
    if (this.#stopped) return;
    this.#update(({ changes }) => ({ connection, changes: changes + 1 }));
  }
}
