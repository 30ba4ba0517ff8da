/** Clients that send bytes, so that a round can be sent twice. */
import { randomBytes } from "node:crypto";
import { Agent, request } from "node:http";
import type { Replica } from "./replicas-world.ts";

const agent = new Agent({ keepAlive: true });

/** Sends the bytes of one request; gives back the bytes of its response. */
export function post(url: string, body: string): Promise<string> {
  const { name } = JSON.parse(body).params;
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: "POST",
        agent,
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/call",
          "mcp-name": name,
        },
      },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve(text));
        response.on("error", reject);
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

export interface Reply {
  readonly result?: {
    readonly resultType: string;
    readonly requestState?: string;
    readonly inputRequests?: Record<string, unknown>;
    readonly content?: { readonly text: string }[];
    readonly isError?: boolean;
  };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly reason?: string } };
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
  "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
};
const ANSWERS: Record<string, object> = {
  ok: { action: "accept", content: { confirm: true } },
  note: { action: "accept", content: { note: "thanks" } },
};

/** A client that answers every question, round by round; what it sends twice is the same bytes, JSON-RPC id included. */
export class Caller {
  readonly call: string;
  readonly #tool: string;
  readonly #args: object;
  readonly #callId = randomBytes(16).toString("base64url");
  #last: Reply | undefined;
  rounds = 0;

  constructor(tool: "pay" | "ship", call: string, args: object = {}) {
    this.#tool = tool;
    this.#args = { call, ...args };
    this.call = call;
  }

  /** The next round's bytes. */
  body(): string {
    const { requestState, inputRequests } = this.#last?.result ?? {};
    const answers = Object.keys(inputRequests ?? {}).map((key) => [key, ANSWERS[key]]);
    const params = {
      name: this.#tool,
      arguments: this.#args,
      _meta: { ...META, "mcp-parley/call-id": this.#callId },
      ...(answers.length > 0 && { inputResponses: Object.fromEntries(answers) }),
      ...(requestState !== undefined && { requestState }),
    };
    return JSON.stringify({ jsonrpc: "2.0", id: this.rounds + 1, method: "tools/call", params });
  }

  /** Takes a round's response as the one that counts. */
  take(response: string): Reply {
    this.#last = JSON.parse(response) as Reply;
    this.rounds += 1;
    return this.#last;
  }

  /** One round at one replica. */
  async round(at: Replica): Promise<Reply> {
    return this.take(await post(at.url, this.body()));
  }

  get result(): string | undefined {
    return this.#last?.result?.content?.[0]?.text;
  }
}

/** Runs `work` for every item, `width` at a time. */
export async function crowd<T>(items: readonly T[], width: number, work: (item: T, index: number) => Promise<void>) {
  let next = 0;
  const one = async () => {
    while (next < items.length) {
      const index = next++;
      await work(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: width }, one));
}
