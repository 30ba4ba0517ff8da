/** One client that listens for tasks: what it is still to hear, the latest of each task only (H30). */
import type { ProtocolError } from "@modelcontextprotocol/server";
import { type DetailedTask, isTerminal } from "../../protocol/tasks.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import { missingCapability } from "../refusals.ts";
import { undeclaredIn } from "./view.ts";

/** A task as it was read once, for everybody who listens for it. */
export interface SeenTask {
  readonly task: DetailedTask;
  /** JSON of it. */
  readonly text: string;
  /** The same without the time of its last change, which alone is no news. */
  readonly mark: string;
}

export function seen(task: DetailedTask): SeenTask {
  const text = JSON.stringify(task);
  return { task, text, mark: JSON.stringify({ ...task, lastUpdatedAt: undefined }) };
}

export class TaskSubscription {
  readonly #capabilities: ClientCapabilities;
  readonly #onClose: () => void;
  /** Marks of what was last heard of each task that has not ended. */
  readonly #heard = new Map<string, string>();
  /** JSON of what waits to be sent, by task. */
  readonly #news = new Map<string, string>();
  #closed = false;
  /** Ids that this caller may listen for, in the order they were asked for. */
  readonly accepted: string[] = [];
  /** Why it ended before its time. */
  refusal: ProtocolError | undefined;
  /** Called when there is something to send, or never again will be. */
  onNews: () => void = () => {};

  constructor(capabilities: ClientCapabilities, onClose: () => void) {
    this.#capabilities = capabilities;
    this.#onClose = onClose;
  }

  /** Takes a task in; how it stands is the first news of it, so that nothing is lost between its creation and this. */
  accept(first: SeenTask): boolean {
    if (this.#closed) return false;
    const { taskId } = first.task;
    this.accepted.push(taskId);
    this.#heard.set(taskId, "");
    return this.tell(taskId, first);
  }

  /**
   * @param now `undefined`: the task is not there any more.
   * @returns whether there is more to hear of this task.
   */
  tell(taskId: string, now: SeenTask | undefined): boolean {
    if (!this.#heard.has(taskId)) return false;
    if (now === undefined) {
      this.#heard.delete(taskId);
      this.onNews();
      return false;
    }
    // What tasks/get would answer here, too (L15, L18).
    const missing = undeclaredIn(now.task, this.#capabilities);
    if (missing !== undefined) {
      this.refusal = missingCapability(missing);
      this.close();
      return false;
    }
    if (this.#heard.get(taskId) === now.mark) return true;
    const hasEnded = isTerminal(now.task.status);
    if (hasEnded) this.#heard.delete(taskId);
    else this.#heard.set(taskId, now.mark);
    this.#news.set(taskId, now.text);
    this.onNews();
    return !hasEnded;
  }

  /** JSON of the next task to send. */
  next(): string | undefined {
    for (const [taskId, text] of this.#news) {
      this.#news.delete(taskId);
      return text;
    }
    return undefined;
  }

  /** Nothing is left to send, and nothing will come. */
  get isOver(): boolean {
    return this.#heard.size === 0 && this.#news.size === 0;
  }

  /** Hears nothing more; what it has heard can still be sent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#heard.clear();
    this.#onClose();
    this.onNews();
  }
}
