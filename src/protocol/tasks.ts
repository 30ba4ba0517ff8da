/** The tasks extension on the wire (section H). */
import type { ClientCapabilities, InputRequests, JsonObject } from "./types.ts";

export const TASKS_EXTENSION = "io.modelcontextprotocol/tasks";

export const TASK_METHODS = ["tasks/get", "tasks/update", "tasks/cancel"] as const;
export type TaskMethod = (typeof TASK_METHODS)[number];

export function isTaskMethod(method: string): method is TaskMethod {
  return (TASK_METHODS as readonly string[]).includes(method);
}

export type TaskStatus = "working" | "input_required" | "completed" | "failed" | "cancelled";

/** H8. Times are ISO 8601. */
export interface Task {
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly statusMessage?: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  /** How long the task lives from `createdAt`, in ms. */
  readonly ttlMs: number | null;
  readonly pollIntervalMs?: number;
}

/** The error of a request, as JSON-RPC has it. */
export interface TaskError {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** What `tasks/get` tells besides (H10). */
export interface DetailedTask extends Task {
  readonly inputRequests?: InputRequests;
  readonly result?: JsonObject;
  readonly error?: TaskError;
}

/** Instead of a call's result (H7). */
export interface CreateTaskResult extends Task {
  readonly resultType: "task";
}

/** H14 */
export function isTerminal(status: TaskStatus): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** Whether this very request declared the extension (H1, H3). */
export function declaresTasks(capabilities: ClientCapabilities | undefined): boolean {
  const declared = capabilities?.extensions?.[TASKS_EXTENSION];
  return typeof declared === "object" && declared !== null;
}
