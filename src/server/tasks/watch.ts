/**
 * Tasks that somebody listens for (H30). Each is read from the store when this process has changed it, and at its own
 * `pollIntervalMs`, which is how changes of other processes are heard. What is told is always what was read: so it is never
 * older than what was told before, and an end is found even when nobody told of it.
 */
import { type AuthInfo, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { declaresTasks } from "../../protocol/tasks.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import { TASKS_MISSING } from "../../replay/background.ts";
import type { Principal } from "../../state/index.ts";
import { named } from "../../tasks/guard.ts";
import type { HoldClock } from "../once.ts";
import { missingCapability, serverFault } from "../refusals.ts";
import type { TaskDesk } from "./desk.ts";
import { ownerOf, rowId } from "./identity.ts";
import type { ResolvedTasks } from "./options.ts";
import { seen, TaskSubscription } from "./subscription.ts";

export interface TaskWatchOptions {
  readonly audience: string;
  readonly holdClock: HoldClock;
  readonly now: () => number;
  readonly tasks: ResolvedTasks;
  principal(authInfo: AuthInfo | undefined): Principal | null;
}

export interface ListenRequest {
  /** `params.notifications.taskIds`, as it came. */
  readonly taskIds: unknown;
  /** What this request declared. */
  readonly capabilities: ClientCapabilities;
  readonly authInfo: AuthInfo | undefined;
}

interface Watched {
  readonly taskId: string;
  readonly caller: Principal | null;
  readonly listeners: Set<TaskSubscription>;
  readonly stop: () => void;
  isRead: boolean;
}

/** A task is looked at this often at least, so that one which has expired is seen before it is dropped. */
const LONGEST_PAUSE_MS = 10_000;
/** Reads of the store at the same time; under more load the pauses grow. */
const READS_AT_ONCE = 8;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class TaskWatch {
  readonly #desk: Pick<TaskDesk, "get" | "onChange">;
  readonly #options: TaskWatchOptions;
  /** By what the store knows a task by. */
  readonly #watched = new Map<string, Watched>();
  readonly #due = new Set<Watched>();
  readonly #open = new Set<TaskSubscription>();
  readonly #perCaller = new Map<string, number>();
  readonly #reading = new Set<Promise<void>>();
  #closed = false;

  constructor(desk: Pick<TaskDesk, "get" | "onChange">, options: TaskWatchOptions) {
    this.#desk = desk;
    this.#options = options;
    desk.onChange = (id) => this.#changed(id);
  }

  /**
   * Ids that are unknown, gone, or somebody else's are left out, all alike (L36).
   * @throws ProtocolError
   */
  async open({ taskIds, capabilities, authInfo }: ListenRequest): Promise<TaskSubscription> {
    if (!declaresTasks(capabilities)) throw missingCapability(TASKS_MISSING);
    const ids = this.#checkedIds(taskIds);
    const caller = this.#options.principal(authInfo);
    const subscription = this.#admit(caller, capabilities, authInfo?.expiresAt);
    try {
      const found = await Promise.all(ids.map((taskId) => this.#desk.get(taskId, caller)));
      for (const task of found) {
        if (task === undefined || !subscription.accept(seen(task))) continue;
        this.#watch(task.taskId, caller, subscription, task.pollIntervalMs);
      }
    } catch (error) {
      subscription.close();
      throw serverFault(named(error));
    }
    if (subscription.refusal !== undefined) throw subscription.refusal;
    return subscription;
  }

  /** Takes no more, tells what is being read, and ends what is open. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#reading);
    for (const subscription of this.#open) subscription.close();
  }

  #checkedIds(taskIds: unknown): readonly string[] {
    const { idsPerSubscription } = this.#options.tasks;
    if (!Array.isArray(taskIds) || !taskIds.every((id) => typeof id === "string")) {
      throw invalid("params.notifications.taskIds must be an array of strings");
    }
    if (taskIds.length > idsPerSubscription) {
      throw invalid(`params.notifications.taskIds must have at most ${idsPerSubscription} ids`);
    }
    return [...new Set(taskIds as string[])];
  }

  /** @throws ProtocolError */
  #admit(caller: Principal | null, capabilities: ClientCapabilities, expiresAt: number | undefined): TaskSubscription {
    const { tasks, audience } = this.#options;
    const owner = ownerOf(audience, caller);
    const count = this.#perCaller.get(owner) ?? 0;
    if (this.#closed) throw refused("This server is stopping", "stopping");
    if (this.#open.size >= tasks.subscriptions || count >= tasks.subscriptionsPerCaller) {
      throw refused("Subscription limit reached", "limit_exceeded");
    }
    this.#perCaller.set(owner, count + 1);
    let stopExpiry = () => {};
    const subscription = new TaskSubscription(capabilities, () => {
      stopExpiry();
      this.#open.delete(subscription);
      const left = (this.#perCaller.get(owner) ?? 1) - 1;
      if (left > 0) this.#perCaller.set(owner, left);
      else this.#perCaller.delete(owner);
      for (const taskId of subscription.accepted) this.#unwatch(rowId(taskId), subscription);
    });
    this.#open.add(subscription);
    stopExpiry = this.#endAt(expiresAt, subscription);
    return subscription;
  }

  /** What was opened with credentials does not outlive them (H13). @param expiresAt in seconds since the epoch */
  #endAt(expiresAt: number | undefined, subscription: TaskSubscription): () => void {
    if (expiresAt === undefined) return () => {};
    const leftMs = Math.max(1, expiresAt * 1_000 - this.#options.now());
    return leftMs > LONGEST_TIMER_MS ? () => {} : this.#options.holdClock.every(leftMs, () => subscription.close());
  }

  #watch(
    taskId: string,
    caller: Principal | null,
    subscription: TaskSubscription,
    pollIntervalMs = LONGEST_PAUSE_MS,
  ): void {
    const id = rowId(taskId);
    const known = this.#watched.get(id);
    if (known !== undefined) {
      known.listeners.add(subscription);
      return;
    }
    const pauseMs = Math.min(pollIntervalMs, LONGEST_PAUSE_MS);
    const stop = this.#options.holdClock.every(pauseMs, () => this.#changed(id));
    this.#watched.set(id, { taskId, caller, listeners: new Set([subscription]), stop, isRead: false });
  }

  #unwatch(id: string, subscription: TaskSubscription): void {
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    watched.listeners.delete(subscription);
    if (watched.listeners.size > 0) return;
    watched.stop();
    this.#watched.delete(id);
    this.#due.delete(watched);
  }

  /** May have changed. */
  #changed(id: string): void {
    const watched = this.#watched.get(id);
    if (watched === undefined) return;
    this.#due.add(watched);
    this.#readDue();
  }

  /** One task is read once at a time: what was read later is told later. */
  #readDue(): void {
    for (const watched of this.#due) {
      if (this.#reading.size >= READS_AT_ONCE) return;
      if (watched.isRead) continue;
      this.#due.delete(watched);
      watched.isRead = true;
      const reading = this.#read(watched).finally(() => {
        this.#reading.delete(reading);
        watched.isRead = false;
        this.#readDue();
      });
      this.#reading.add(reading);
    }
  }

  async #read(watched: Watched): Promise<void> {
    const { taskId, caller } = watched;
    // Who comes while this is read may know better by then.
    const listeners = [...watched.listeners];
    const task = await this.#desk.get(taskId, caller).then(
      (found) => found && seen(found),
      // The store is away: the next look finds what this one did not.
      () => "unknown" as const,
    );
    if (task === "unknown") return;
    for (const listener of listeners) {
      if (!listener.tell(taskId, task)) this.#unwatch(rowId(taskId), listener);
    }
  }
}

function refused(message: string, reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message, { reason });
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
