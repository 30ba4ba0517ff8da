import { Client, InMemoryTransport, type JSONRPCMessage } from "@modelcontextprotocol/client";
import type { Clock } from "../../src/calls/clock.ts";
import type { CallEvent } from "../../src/calls/events.ts";
import { createCalls } from "../../src/calls/index.ts";
import type { CallsOptions } from "../../src/calls/options.ts";
import { isObject } from "../../src/internal/json.ts";

/** A request as the hand-written server sees it. */
export interface Seen {
  id: number;
  method: string;
  params: Record<string, unknown> & { _meta: Record<string, unknown> };
}
/** A raw result, `{ error }`, or "silence" for no answer. */
export type Reply = Record<string, unknown> | { error: object } | "silence";

export const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const done = (text = "done"): Reply => ({ resultType: "complete", content: [{ type: "text", text }] });
export const interim = (inputRequests?: unknown, requestState?: unknown): Reply => ({
  resultType: "input_required",
  ...(inputRequests !== undefined && { inputRequests }),
  ...(requestState !== undefined && { requestState }),
});
export const form = (properties: object = {}, required: string[] = []): object => ({
  method: "elicitation/create",
  params: { message: "Please", requestedSchema: { type: "object", properties, required } },
});
export const link = (url = "https://example.com/connect"): object => ({
  method: "elicitation/create",
  params: { mode: "url", message: "Open it", url },
});
export const sampling = (more: object = {}): object => ({
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "Hi" } }], maxTokens: 10, ...more },
});

/** A server written by hand on JSON-RPC, so that it can also be wrong. Not a stand-in for a right one. */
export async function scripted(reply: (request: Seen, count: number) => Reply | Promise<Reply>) {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const requests: Seen[] = [];
  const notifications: JSONRPCMessage[] = [];
  far.onmessage = async (message) => {
    const copy = JSON.parse(JSON.stringify(message)) as JSONRPCMessage;
    if (!("id" in copy)) return void notifications.push(copy);
    const request = copy as unknown as Seen;
    requests.push(request);
    const answer = await reply(request, requests.length);
    if (answer === "silence") return;
    const body = isObject(answer) && "error" in answer && !("resultType" in answer) ? answer : { result: answer };
    await far.send({ jsonrpc: "2.0", id: request.id, ...body } as JSONRPCMessage);
  };
  await far.start();
  const client = new Client({ name: "host", version: "1" }, { capabilities: { elicitation: { form: {}, url: {} } } });
  const discover = {
    resultType: "complete" as const,
    supportedVersions: ["2026-07-28"],
    capabilities: { tools: {}, prompts: {}, resources: {} },
    ttlMs: 0,
    cacheScope: "private" as const,
    _meta: { "io.modelcontextprotocol/serverInfo": { name: "claims-to-be", version: "9" } },
  };
  await client.connect(near, { prior: { kind: "modern", discover } });
  const events: CallEvent[] = [];
  const calls = (options: Partial<CallsOptions> = {}) =>
    createCalls(client, { server: "files", onEvent: (event) => events.push(event), ...options });
  return { client, calls, requests, notifications, events };
}

/** Answers the server in the order given; the last one repeats. */
export const inOrder =
  (...replies: Reply[]) =>
  (_: Seen, count: number): Reply =>
    replies[Math.min(count, replies.length) - 1]!;

/** Time that moves only when told to. */
export class HandClock implements Clock {
  #now = 1_000_000;
  #timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.#now;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  get pending(): number {
    return this.#timers.size;
  }

  /** Lets `ms` pass, timer by timer, and what each one starts settle. */
  async pass(ms: number): Promise<void> {
    await settle();
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#timers].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#now = next.at;
      this.#timers.delete(next);
      next.callback();
      await settle();
    }
    this.#now = end;
  }
}

/** A few turns of the event loop: enough for an in-memory round trip. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export const accept = (content: Record<string, string | number | boolean | string[]> = {}) => ({
  action: "accept" as const,
  content,
});
