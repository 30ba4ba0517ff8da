/** What every task store's failures look like from outside. */
import { ParleyError, reasonOf } from "../errors.ts";
import type { Deadlines } from "../store/deadlines.ts";
import { Operations } from "../store/operations.ts";

export function asTasksUnavailable(message: string, cause?: unknown): ParleyError {
  return new ParleyError("tasks_unavailable", message, { cause });
}

/** Whatever a store was rejected with, by name: an author's own store may throw anything. */
export function named(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  return asTasksUnavailable(`The task store failed closed: ${reasonOf(error)}.`, error);
}

/** The operations of a task store: each rejects with `tasks_unavailable` for whatever goes wrong or comes too late. */
export function taskOperations(store: string, deadlines: Deadlines): Operations {
  return new Operations(store, deadlines, (_, operation, why, cause) =>
    asTasksUnavailable(`The ${store} task store failed closed at ${operation}: ${why}.`, cause),
  );
}
