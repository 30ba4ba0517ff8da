/** `subscriptions/listen` with `taskIds` (H30), whatever carries it: what is asked, and what the SDK answers. */
import { CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY } from "@modelcontextprotocol/server";
import { ParleyError } from "../../errors.ts";
import { isObject } from "../../internal/json.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import type { RequestId } from "../native/answer.ts";
import { REVISION } from "../native/envelope.ts";

export const LISTEN = "subscriptions/listen";

export interface TaskListen {
  readonly id: RequestId;
  readonly taskIds: unknown;
  readonly capabilities: ClientCapabilities;
}

/** What a request of this revision asks of tasks, if it does. That it is valid is the SDK's to say, before anybody acts on it. */
export function taskListenOf(message: unknown): TaskListen | undefined {
  if (!isObject(message) || message["method"] !== LISTEN || !isObject(message["params"])) return undefined;
  const { _meta: meta, notifications } = message["params"];
  if (!isObject(meta) || meta[PROTOCOL_VERSION_META_KEY] !== REVISION) return undefined;
  if (!isObject(notifications) || notifications["taskIds"] === undefined) return undefined;
  return {
    id: message["id"] as RequestId,
    taskIds: notifications["taskIds"],
    capabilities: meta[CLIENT_CAPABILITIES_META_KEY] as ClientCapabilities,
  };
}

/** `notifications/subscriptions/acknowledged`, as the SDK sends it. */
export interface Acknowledgement {
  readonly params: { readonly notifications: Readonly<Record<string, unknown>> };
}

/** @throws ParleyError `sdk_incompatible` */
export function acknowledgementOf(message: unknown): Acknowledgement {
  const params = isObject(message) ? message["params"] : undefined;
  if (isObject(params) && isObject(params["notifications"])) return message as unknown as Acknowledgement;
  throw new ParleyError(
    "sdk_incompatible",
    "This @modelcontextprotocol/server answers subscriptions/listen in a way Parley does not know. Install 2.4.x.",
  );
}

export function withTaskIds(message: Acknowledgement, taskIds: readonly string[]): Acknowledgement {
  const notifications = { ...message.params.notifications, taskIds };
  return { ...message, params: { ...message.params, notifications } };
}
