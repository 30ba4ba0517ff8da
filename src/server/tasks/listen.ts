/**
 * `subscriptions/listen` with `taskIds` (H30), in front of the SDK's handler.
 *
 * The SDK serves the method before any server sees it, reads no `taskIds`, and its bus carries the four kinds of change it
 * knows. So such a request is answered by the SDK first, checks and list changes included, and its stream is handed on with
 * what tasks tell besides. Everything else passes as it is.
 */
import { setImmediate as turn } from "node:timers/promises";
import {
  CLIENT_CAPABILITIES_META_KEY,
  DEFAULT_MAX_REQUEST_BODY_SIZE,
  type McpHttpHandler,
  PROTOCOL_VERSION_META_KEY,
  readRequestBody,
} from "@modelcontextprotocol/server";
import { ParleyError } from "../../errors.ts";
import { isObject } from "../../internal/json.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import { type RequestId, thrownAnswer } from "../native/answer.ts";
import { REVISION } from "../native/envelope.ts";
import { eventText } from "../native/stream.ts";
import type { HoldClock } from "../once.ts";
import { Events, ListenStream, messageIn } from "./listen-stream.ts";
import type { TaskWatch } from "./watch.ts";

/** How tasks are told of on a handler of the SDK's. */
export interface TaskSubscriptionOptions {
  /** Pause between two comments that keep such a stream alive, in ms; 0 for none. Default 15,000. */
  readonly keepAliveMs?: number;
}

const METHOD = "subscriptions/listen";
const KEEP_ALIVE_MS = 15_000;

interface TaskListen {
  readonly id: RequestId;
  readonly taskIds: unknown;
  readonly capabilities: ClientCapabilities;
}

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
        const acknowledged = acknowledgementIn(await sdk.next());
        const subscription = await watch.open({ taskIds, capabilities, authInfo: options?.authInfo });
        const acknowledgement = withTaskIds(acknowledged, subscription.accepted);
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

/** The request, when it asks for tasks in this revision. It stays readable for the SDK. */
async function taskListenIn(request: Request, parsed: unknown): Promise<TaskListen | undefined> {
  // The header repeats the method, or the SDK refuses (G24).
  if (request.headers.get("mcp-method") !== METHOD) return undefined;
  const message = parsed ?? (await messageOf(request));
  if (!isObject(message) || message["method"] !== METHOD || !isObject(message["params"])) return undefined;
  const { _meta: meta, notifications } = message["params"];
  if (!isObject(meta) || meta[PROTOCOL_VERSION_META_KEY] !== REVISION) return undefined;
  if (!isObject(notifications) || notifications["taskIds"] === undefined) return undefined;
  return {
    id: message["id"] as RequestId,
    taskIds: notifications["taskIds"],
    capabilities: meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities,
  };
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

interface Acknowledged {
  readonly params: { readonly notifications: Readonly<Record<string, unknown>> };
}

/** @throws ParleyError `sdk_incompatible` */
function acknowledgementIn(event: string | undefined): Acknowledged {
  const message = event === undefined ? undefined : messageIn(event);
  const params = message?.["params"];
  if (isObject(params) && isObject(params["notifications"])) return message as unknown as Acknowledged;
  throw new ParleyError(
    "sdk_incompatible",
    "This @modelcontextprotocol/server answers subscriptions/listen in a way Parley does not know. Install 2.4.x.",
  );
}

function withTaskIds(message: Acknowledged, taskIds: readonly string[]): string {
  const notifications = { ...message.params.notifications, taskIds };
  return eventText(JSON.stringify({ ...message, params: { ...message.params, notifications } }));
}

function wrong(rule: string): ParleyError {
  return new ParleyError("configuration", `taskSubscriptions: ${rule}.`);
}
