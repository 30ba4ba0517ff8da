/** What every task store's failures look like from outside. */
import { ParleyError, reasonOf } from "../errors.ts";

export function asTasksUnavailable(message: string, cause?: unknown): ParleyError {
  return new ParleyError("tasks_unavailable", message, { cause });
}

/** Whatever a store was rejected with, by name: an author's own store may throw anything. */
export function named(error: unknown): ParleyError {
  if (error instanceof ParleyError) return error;
  return asTasksUnavailable(`The task store failed closed: ${reasonOf(error)}.`, error);
}

/** Runs one operation: what goes wrong is named, and so is an answer that came after `timeoutMs`. */
export async function bounded<T>(
  store: string,
  operation: string,
  timeoutMs: number,
  run: () => Promise<T>,
): Promise<T> {
  const failed = (why: string, cause?: unknown) =>
    asTasksUnavailable(`The ${store} task store failed closed at ${operation}: ${why}.`, cause);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(failed(`no answer within ${timeoutMs} ms`)), timeoutMs);
  });
  try {
    return await Promise.race([run(), late]);
  } catch (cause) {
    throw cause instanceof ParleyError ? cause : failed(reasonOf(cause), cause);
  } finally {
    clearTimeout(timer);
  }
}
