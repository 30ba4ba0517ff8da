/**
 * Where tasks are kept: what a call became that goes on without its client (H11, C14, C15).
 *
 * A store keeps rows by id and nothing readable: all bytes arrive sealed, and ids, kinds and owners are digests. It decides
 * by its own clock. `test/contract/tasks-suite.ts` is the suite every store passes.
 */

export interface NewTask {
  readonly id: string;
  /** Which tool of which service: only those who know it can run the task. */
  readonly kind: string;
  /** Whose it is. */
  readonly owner: string;
  /** What never changes. */
  readonly head: Uint8Array;
  /** Where it stands. */
  readonly body: Uint8Array;
  /** How long it may live, in ms. */
  readonly lifeMs: number;
  /** How long it can be read after that, in ms. */
  readonly keepMs: number;
  /** Tasks of one owner that have not ended; one more is refused (B45). */
  readonly maxOpen: number;
}

export interface TaskAnswer {
  readonly key: string;
  readonly answer: Uint8Array;
}

/** `ready` to run, `waiting` for answers, or `ended`. */
export type TaskPhase = "ready" | "waiting" | "ended";

/** A task as anybody may look at it. */
export interface StoredTask {
  readonly owner: string;
  readonly head: Uint8Array;
  readonly body: Uint8Array;
  /** What the run in progress last said of itself: kept until it is settled, also when it is given back or taken over. */
  readonly note: Uint8Array | undefined;
  readonly phase: TaskPhase;
  /** Its end was asked for, and the run in progress has yet to come to it. */
  readonly cancelled: boolean;
  /** Answers that no run has taken up yet. */
  readonly answers: readonly TaskAnswer[];
  /** 0 or less once its life is over. */
  readonly lifeLeftMs: number;
}

/** One runner's hold on a task. `holder` is unguessable and made anew for every run. */
export interface TaskHold {
  readonly id: string;
  readonly holder: string;
}

export interface TaskClaimRequest {
  readonly holder: string;
  /** Kinds that this runner can run. */
  readonly kinds: readonly string[];
  readonly leaseMs: number;
  /** Tasks of one owner that run at the same time, over all runners. */
  readonly perOwner: number;
}

/** A task to run. `attempt` is 1, or more when an earlier runner went silent or failed. */
export interface ClaimedTask {
  readonly id: string;
  readonly kind: string;
  readonly head: Uint8Array;
  readonly body: Uint8Array;
  /** What earlier attempts at this run recorded, in order. */
  readonly steps: readonly Uint8Array[];
  readonly answers: readonly TaskAnswer[];
  readonly attempt: number;
  readonly cancelled: boolean;
  readonly lifeLeftMs: number;
}

export interface TaskSettlement {
  readonly body: Uint8Array;
  readonly phase: TaskPhase;
  /** With `ready`: not before this many ms. Default 0. */
  readonly wakeMs?: number;
  /** Keys that are open now. Answers to others are dropped; with one to these, the task is `ready` again. */
  readonly open: readonly string[];
}

/**
 * Each method is one atomic operation. One that cannot reach its store rejects, and then nothing is known: a runner must
 * treat its hold as lost.
 */
export interface TaskStore {
  /** Its tasks end with this process. Of any other store it is said when its tasks are sealed with a key that does. */
  readonly volatile?: true;
  /** `exists`: a task of this id is there, and stays as it is. `full`: the owner has `maxOpen` already. */
  create(task: NewTask): Promise<"created" | "exists" | "full">;
  read(id: string): Promise<StoredTask | undefined>;
  /** The first answer to a key counts. Wakes a task that waits; does nothing to one that ended. */
  answer(id: string, answers: readonly TaskAnswer[]): Promise<void>;
  /** Ends a task that nobody runs, with this body; asks the runner of one that runs. Does nothing to one that ended. */
  cancel(id: string, body: Uint8Array): Promise<"ended" | "asked" | "nothing">;
  /** Hands out the task that has been ready longest and that nobody runs. A run goes to the next runner when its lease is over. */
  claim(request: TaskClaimRequest): Promise<ClaimedTask | undefined>;
  /** Appends what a run finished and prolongs the lease. `false`: the hold is lost and nothing was written. */
  record(hold: TaskHold, entry: Uint8Array, leaseMs: number): Promise<boolean>;
  /** Prolongs the lease, and keeps what the run says of itself. */
  renew(hold: TaskHold, leaseMs: number, note?: Uint8Array): Promise<"held" | "cancelled" | "lost">;
  /** Ends the run. `false`: the hold is lost and nothing was written. A cancelled task that has not ended is `ready`. */
  settle(hold: TaskHold, settlement: TaskSettlement): Promise<boolean>;
  /**
   * Gives the task back in the middle of a run; what was recorded stays.
   * @param wakeMs The attempt does not count, and the next is not before this many ms. Without, it counts.
   */
  release(hold: TaskHold, wakeMs?: number): Promise<void>;
  /**
   * Calls `take` whenever a task may have become ready, wherever that happened, and no more than `slots` at the same time:
   * it claims a task, if there is one, and ends when its run does. A store that cannot tell is looked at from time to time.
   * @returns how to stop; it ends when the last `take` has.
   */
  watch?(take: () => Promise<void>, slots: number): () => Promise<void>;
  /** Ends what the store opened itself. */
  close(): Promise<void>;
}
