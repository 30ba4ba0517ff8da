import type { MrtrMethod } from "../protocol/types.ts";
import type { PendingCall, PendingState } from "./call.ts";

/** What a list shows of a call, without reading the whole of it. */
export interface PendingSummary {
  readonly id: string;
  readonly server: string;
  readonly method: MrtrMethod;
  readonly target: string;
  readonly state: PendingState;
  readonly version: number;
  readonly open: number;
  readonly round: number;
  readonly startedAt: number;
  readonly changedAt: number;
  readonly answerBy?: number;
  /** The status of the task it became; a server's word. */
  readonly task?: string;
  /** It is complete, and what it ended with is a tool's own failure. */
  readonly isError?: boolean;
}

export interface PendingPage {
  /** Calls that go on before ended ones; the newest change first. */
  readonly calls: readonly PendingSummary[];
  /** All calls in the store. */
  readonly total: number;
  /** Those that wait for an answer. */
  readonly waiting: number;
  /** Hand it to `list` for what follows; absent on the last page. */
  readonly next?: string;
}

/** What {@link PendingStore.update} makes of a call. */
export interface Change<T> {
  /** What the call becomes; absent: it stays as it is. `version` and `changedAt` are the store's. */
  readonly call?: PendingCall;
  /** Nothing that anybody sees has changed (a claim was renewed): `version` stays. */
  readonly quiet?: boolean;
  readonly value: T;
}

export interface PendingStoreOptions {
  /** Calls kept at once. A new one takes the place of the oldest ended one, or is refused (B45). Default 10,000. */
  readonly maxCalls?: number;
  /** How long ended calls are kept, in ms. Default 7 days. */
  readonly keepEndedMs?: number;
  /** Clock, in ms; processes that share a store share it. Default `Date.now`. */
  readonly now?: () => number;
}

/**
 * Where calls wait for people. Several processes may share one store.
 *
 * Everything that must happen once (a decision, a claim) is a `change` of {@link update}: the store guarantees that
 * nothing comes between what `change` saw and what it returned. A `change` is pure; a store may run it again.
 */
export interface PendingStore {
  /** @throws ParleyError `limit_exceeded` when it is full of calls that go on; `call_state` when the id is known. */
  add(call: PendingCall): Promise<void>;
  get(id: string): Promise<PendingCall | undefined>;
  /** `undefined`: no such call. What `change` throws is thrown, and nothing is written. */
  update<T>(id: string, change: (call: PendingCall) => Change<T>): Promise<T | undefined>;
  /**
   * @param limit at most 200
   * @throws ParleyError `configuration` for an `after` this store did not give out.
   */
  list(limit: number, after?: string): Promise<PendingPage>;
  /** Ids of calls of these servers that need somebody now, longest due first: see {@link dueAt}. */
  due(servers: readonly string[], limit: number): Promise<readonly string[]>;
  /** Calls that changed at `since` or later, in order of change. */
  changes(since: number, limit: number): Promise<readonly PendingSummary[]>;
  /** Servers a person wants to hear nothing more from (F6). */
  muted(): Promise<readonly string[]>;
  mute(server: string, muted: boolean): Promise<void>;
  close(): Promise<void>;
}

/** When a call needs somebody: to carry it on, to take it over from a process that is gone, or to let it expire. */
export function dueAt({ state, claim, pause, answerBy }: PendingCall): number | undefined {
  if (state === "waiting") return answerBy;
  if (state !== "sending") return undefined;
  if (claim !== undefined) return claim.until;
  if (pause?.type === "lost") return undefined;
  return pause?.type === "unreachable" || pause?.type === "task" ? pause.at : 0;
}
