/** A stored task as its client sees it (H8, H10). */
import { ProtocolErrorCode } from "@modelcontextprotocol/server";
import { mergeCapabilities, missingCapabilities, requiredCapabilities } from "../../protocol/capabilities.ts";
import type { DetailedTask, Task, TaskStatus } from "../../protocol/tasks.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import type { StoredTask } from "../../tasks/contract.ts";
import type { PutQuestion, TaskBody, TaskEnd, TaskHead, TaskNote } from "./record.ts";

export interface OpenedTask {
  readonly stored: Pick<StoredTask, "phase" | "cancelled" | "answers" | "lifeLeftMs">;
  readonly head: TaskHead;
  readonly body: TaskBody;
  readonly note: TaskNote | undefined;
}

/** L35 */
export const EXPIRED: TaskEnd = {
  status: "failed",
  error: { code: ProtocolErrorCode.InternalError, message: "The task expired", data: { reason: "expired" } },
};

/** Every process that took it went silent: what it does may be what ends them. */
export const GIVEN_UP: TaskEnd = {
  status: "failed",
  error: { code: ProtocolErrorCode.InternalError, message: "The task was given up", data: { reason: "given_up" } },
};

/** Questions that nobody has answered yet. */
export function outstanding({ stored, body, note }: OpenedTask): readonly PutQuestion[] {
  if (endOf({ stored, body }) !== undefined) return [];
  const answered = new Set(stored.answers.map(({ key }) => key));
  return (note?.put ?? body.put).filter(({ wireKey }) => !answered.has(wireKey));
}

export function endOf({ stored, body }: Pick<OpenedTask, "stored" | "body">): TaskEnd | undefined {
  if (stored.phase === "ended") return body.end;
  return stored.lifeLeftMs <= 0 ? EXPIRED : undefined;
}

export function viewOf(task: OpenedTask): DetailedTask {
  const end = endOf(task);
  if (end !== undefined) return { ...base(task, end.status, messageOfEnd(end)), ...partOf(end) };
  const open = outstanding(task);
  const message = task.stored.cancelled ? "Cancellation was requested" : (task.note?.message ?? task.body.message);
  if (open.length === 0) return base(task, "working", message);
  const inputRequests = Object.fromEntries(open.map(({ wireKey, request }) => [wireKey, request]));
  return { ...base(task, "input_required", message), inputRequests };
}

/**
 * What a request lacks to be shown a task: all that is open must be listed (H17), and nothing that this request cannot be
 * asked (A11), so it is told what it lacks (L15).
 */
export function undeclaredIn(task: DetailedTask, declared: ClientCapabilities): ClientCapabilities | undefined {
  const required = Object.values(task.inputRequests ?? {}).map(requiredCapabilities);
  return missingCapabilities(mergeCapabilities(required), declared);
}

function base({ head, body, note }: OpenedTask, status: TaskStatus, statusMessage: string | undefined): Task {
  return {
    taskId: head.taskId,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: new Date(head.createdAt).toISOString(),
    lastUpdatedAt: new Date(Math.max(body.updatedAt, note?.at ?? 0)).toISOString(),
    ttlMs: head.ttlMs,
    pollIntervalMs: head.pollIntervalMs,
  };
}

function messageOfEnd(end: TaskEnd): string | undefined {
  if (end.status === "failed") return end.error.message;
  return end.status === "cancelled" ? "The task was cancelled" : undefined;
}

function partOf(end: TaskEnd): Pick<DetailedTask, "result" | "error"> {
  if (end.status === "completed") return { result: end.result };
  return end.status === "failed" ? { error: end.error } : {};
}
