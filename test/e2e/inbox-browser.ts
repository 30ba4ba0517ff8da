/** What a browser does, without the drawing: cookie, session token and the routes. Every body it was sent is kept. */
import { request } from "node:http";
import { expect } from "vitest";
import type { CallView, DecisionRequest, InboxEvent, InboxView, Problem, StartRequest } from "../../src/inbox/api.ts";

export interface Reply<T = unknown> {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
  readonly body: T;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A request with exactly these headers: `fetch` would not let a test forge `Host`. */
export function raw(url: string, { method = "GET", headers = {}, body }: RawRequest = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const req = request(url, { method, headers }, (res) => {
      let text = "";
      res.setEncoding("utf8");
      res.on("data", (chunk: string) => {
        text += chunk;
      });
      res.on("end", () => {
        const isJson = String(res.headers["content-type"]).startsWith("application/json");
        resolve({
          status: res.statusCode ?? 0,
          headers: res.headers,
          text,
          body: isJson && text !== "" ? JSON.parse(text) : undefined,
        });
      });
    });
    req.on("error", reject);
    req.end(body);
  });
}

export class Browser {
  readonly base: string;
  readonly bodies: string[] = [];
  cookie = "";
  csrf = "";

  private constructor(link: string) {
    this.base = new URL(link).origin;
  }

  /** Opens a one-time link. */
  static async open(link: string): Promise<Browser> {
    const browser = new Browser(link);
    const reply = await raw(link);
    expect(reply.status, "the link opens").toBe(303);
    browser.cookie = String(reply.headers["set-cookie"]).split(";")[0] as string;
    browser.csrf = ((await browser.get("/api/session")).body as { csrf: string }).csrf;
    return browser;
  }

  get headers(): Record<string, string> {
    return {
      cookie: this.cookie,
      origin: this.base,
      "x-parley-csrf": this.csrf,
      "content-type": "application/json",
    };
  }

  async get<T>(path: string): Promise<Reply<T>> {
    return this.#keep(await raw(this.base + path, { headers: { cookie: this.cookie } })) as Reply<T>;
  }

  async post<T = CallView & Problem>(path: string, body: unknown = {}): Promise<Reply<T>> {
    const reply = await raw(this.base + path, { method: "POST", headers: this.headers, body: JSON.stringify(body) });
    return this.#keep(reply) as Reply<T>;
  }

  async start(server: string, target: string, more: Partial<StartRequest> = {}): Promise<CallView> {
    const reply = await this.post<CallView>("/api/calls", { server, method: "tools/call", target, ...more });
    expect(reply.status, reply.text).toBe(201);
    return reply.body;
  }

  decide(call: CallView, decision: DecisionRequest, question = 0) {
    return this.post(`/api/calls/${call.id}/questions/${call.questions[question]?.id}`, decision);
  }

  async inbox(): Promise<InboxView> {
    return (await this.get<InboxView>("/api/inbox")).body;
  }

  /** The call, once it is as wanted. */
  async until(id: string, wanted: (call: CallView) => boolean): Promise<CallView> {
    let last: CallView | undefined;
    await expect
      .poll(
        async () => {
          last = (await this.get<CallView>(`/api/calls/${id}`)).body;
          return wanted(last);
        },
        { timeout: 15_000, interval: 20, message: "the call does not get there" },
      )
      .toBe(true)
      .catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(last)}`);
      });
    return last as CallView;
  }

  /** Starts a call and waits for its questions. */
  async asked(server: string, target: string, more: Partial<StartRequest> = {}): Promise<CallView> {
    const { id } = await this.start(server, target, more);
    return this.until(id, ({ state }) => state !== "sending");
  }

  /** Events as they come; `stop` leaves. */
  async events(): Promise<{ seen: InboxEvent[]; stop: () => void }> {
    const seen: InboxEvent[] = [];
    const aborter = new AbortController();
    const response = await fetch(`${this.base}/api/events`, {
      headers: { cookie: this.cookie },
      signal: aborter.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    void (async () => {
      let rest = "";
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        rest += Buffer.from(chunk).toString();
        this.bodies.push(rest);
        const parts = rest.split("\n\n");
        rest = parts.pop() ?? "";
        for (const part of parts) if (part.startsWith("data: ")) seen.push(JSON.parse(part.slice(6)) as InboxEvent);
      }
    })().catch(() => {});
    return { seen, stop: () => aborter.abort() };
  }

  #keep(reply: Reply): Reply {
    this.bodies.push(reply.text);
    return reply;
  }
}

export const waiting = ({ state }: CallView) => state === "waiting";
export const over = ({ state }: CallView) => state !== "waiting" && state !== "sending";
