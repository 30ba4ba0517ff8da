/**
 * `subscriptions/listen` with `taskIds` (H30), in front of the SDK's handler.
 *
 * The SDK serves the method before any server sees it, reads no `taskIds`, and its bus carries the four kinds of change it
 * knows. So such a request is answered by the SDK first, checks and list changes included, and its stream is handed on with
 * what tasks tell besides. Everything else passes as it is.
 */
import { setImmediate as turn } from "node:timers/promises";
import { DEFAULT_MAX_REQUEST_BODY_SIZE, type McpHttpHandler, readRequestBody } from "@modelcontextprotocol/server";
import { ParleyError } from "../../errors.ts";
import { thrownAnswer } from "../native/answer.ts";
import { eventText } from "../native/stream.ts";
import type { HoldClock } from "../once.ts";
import { acknowledgementOf, LISTEN, type TaskListen, taskListenOf, withTaskIds } from "./listen-messages.ts";
import { Events, ListenStream, messageIn } from "./listen-stream.ts";
import type { TaskWatch } from "./watch.ts";

/** How tasks are told of on a handler of the SDK's. */
export interface TaskSubscriptionOptions {
  /** Pause between two comments that keep such a stream alive, in ms; 0 for none. Default 15,000. */
  readonly keepAliveMs?: number;
}

const KEEP_ALIVE_MS = 15_000;

/**
 * @param inner What `createMcpHandler` made.
 * @throws ParleyError `configuration`
 */
export function listening(
  inner: McpHttpHandler,
  watch: TaskWatch,
  clock: HoldClock,
  { keepAliveMs = KEEP_ALIVE_MS }: TaskSubscriptionOptions = {},
): McpHttpHandler {
  if (typeof inner?.fetch !== "function" || typeof inner.close !== "function") {
    throw wrong("the first argument must be what createMcpHandler made");
  }
  if (!Number.isSafeInteger(keepAliveMs) || keepAliveMs < 0) {
    throw wrong("option keepAliveMs must be an integer of at least 0");
  }
  const open = new Set<ListenStream>();
  let closed = false;
  return {
    ...inner,
    fetch: async (request, options) => {
      const asked = await taskListenIn(request, options?.parsedBody);
      const response = await inner.fetch(request, options);
      // What is no stream is the SDK's refusal.
      if (asked === undefined || response.body === null || !isStream(response)) return response;
      const { id, taskIds, capabilities } = asked;
      const sdk = new Events(response.body);
      try {
        const acknowledged = acknowledgementOf(messageIn((await sdk.next()) ?? ""));
        const subscription = await watch.open({ taskIds, capabilities, authInfo: options?.authInfo });
        const acknowledgement = eventText(JSON.stringify(withTaskIds(acknowledged, subscription.accepted)));
        const { signal } = request;
        const parts = { id, acknowledgement, sdk, subscription, signal, keepAliveMs, clock };
        const stream = new ListenStream({ ...parts, onEnd: (ended) => open.delete(ended) });
        open.add(stream);
        if (closed) stream.endTasks();
        if (signal.aborted) stream.drop();
        return new Response(stream.body, { status: response.status, headers: response.headers });
      } catch (error) {
        sdk.cancel();
        if (error instanceof ParleyError) throw error;
        const { status, text } = thrownAnswer(id, error);
        return new Response(text, { status, headers: { "content-type": "application/json" } });
      }
    },
    close: async () => {
      closed = true;
      for (const stream of open) stream.endTasks();
      await inner.close();
      // The last messages are on their way before anybody closes the connections.
      await turn();
    },
  };
}

/** The request, when it asks for tasks. It stays readable for the SDK. */
async function taskListenIn(request: Request, parsed: unknown): Promise<TaskListen | undefined> {
  // The header repeats the method, or the SDK refuses (G24).
  if (request.headers.get("mcp-method") !== LISTEN) return undefined;
  return taskListenOf(parsed ?? (await messageOf(request)));
}

/** `undefined` for a body that the SDK is going to refuse. */
async function messageOf(request: Request): Promise<unknown> {
  if (request.body === null || request.bodyUsed) return undefined;
  try {
    const read = await readRequestBody(request.clone(), DEFAULT_MAX_REQUEST_BODY_SIZE);
    return read.tooLarge ? undefined : JSON.parse(read.text);
  } catch {
    return undefined;
  }
}

function isStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") === true;
}

function wrong(rule: string): ParleyError {
  return new ParleyError("configuration", `taskSubscriptions: ${rule}.`);
}
