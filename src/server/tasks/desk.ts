/** Tasks from the request's side: begun, looked at, answered, cancelled. Nothing runs here. */
import { ParleyError } from "../../errors.ts";
import type { CallState, Entry, Pending } from "../../journal/entry.ts";
import type { CreateTaskResult, DetailedTask } from "../../protocol/tasks.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import type { BackgroundOptions } from "../../replay/types.ts";
import type { KeyRing, Principal } from "../../state/index.ts";
import type { StoredTask } from "../../tasks/contract.ts";
import { createVault } from "../vault.ts";
import { createTaskIds, kindOf, ownerOf, rowId } from "./identity.ts";
import type { ResolvedTasks } from "./options.ts";
import { type TaskBody, type TaskHead, TaskSeals } from "./record.ts";
import { endOf, type OpenedTask, outstanding, viewOf } from "./view.ts";

/** What the desk needs of the server's options. */
export interface DeskOptions {
  readonly audience: string;
  readonly ring: KeyRing;
  readonly random: (bytes: number) => Buffer;
  readonly now: () => number;
  readonly tasks: ResolvedTasks;
}

/** A call at the point where it becomes a task. */
export interface HandOver {
  readonly target: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly caller: Principal | null;
  readonly capabilities: ClientCapabilities;
  readonly options: BackgroundOptions;
  /** The call before this round. */
  readonly before: CallState;
  readonly version: string | undefined;
  readonly journal: readonly Entry[];
  readonly pending: readonly Pending[];
}

/** Told of what may want a run. */
export interface Waker {
  ready(): void;
  answered(id: string): void;
  cancelled(id: string): void;
}

/** A task that ended can be read as long as it could have lived, and one that expired a little longer than that. */
const KEEP_MS = 60_000;

export class TaskDesk {
  readonly seals: TaskSeals;
  readonly #options: DeskOptions;
  readonly #idsOf: ReturnType<typeof createTaskIds>;
  waker: Waker | undefined;
  /** Told of each task that this process has changed in the store, by what the store knows it by. */
  onChange: (id: string) => void = () => {};

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#idsOf = createTaskIds(options.ring);
    this.seals = new TaskSeals(createVault(options.ring, options.random));
  }

  /**
   * Stores the task, and only then says so (H11). A call that has become one before gets the one it became.
   * @throws ParleyError `limit_exceeded`, `tasks_unavailable`
   */
  async begin(handOver: HandOver): Promise<CreateTaskResult> {
    const { audience, now, tasks } = this.#options;
    const { before, caller } = handOver;
    const owner = ownerOf(audience, caller);
    const [taskId, ...earlier] = this.#idsOf(owner, before.callId) as [string, ...string[]];
    for (const id of earlier) {
      const begun = await this.#find(id, caller);
      if (begun !== undefined) return created(begun);
    }
    const id = rowId(taskId);
    const head = this.#head(taskId, handOver, now());
    const body: TaskBody = { state: stateOf(handOver), put: [], used: [], updatedAt: head.createdAt };
    const outcome = await tasks.store.create({
      id,
      kind: kindOf(audience, handOver.target),
      owner,
      head: this.seals.head(id, head),
      body: this.seals.body(id, body),
      lifeMs: head.ttlMs,
      keepMs: KEEP_MS,
      maxOpen: tasks.openPerCaller,
    });
    if (outcome === "full") throw tooManyTasks(tasks.openPerCaller);
    const begun = outcome === "exists" ? await this.#find(taskId, caller) : undefined;
    this.waker?.ready();
    const stored = { phase: "ready", cancelled: false, answers: [], lifeLeftMs: head.ttlMs } as const;
    return created(begun ?? { stored, head, body, note: undefined });
  }

  /** `undefined` for an id that is unknown, gone, or somebody else's. */
  async get(taskId: string, caller: Principal | null): Promise<DetailedTask | undefined> {
    const task = await this.#find(taskId, caller);
    return task && viewOf(task);
  }

  /**
   * Takes answers to questions that are out; others are ignored (H26). They are stored before this returns.
   * @returns `false` for an id that is unknown, gone, or somebody else's.
   */
  async update(taskId: string, caller: Principal | null, answers: Readonly<Record<string, unknown>>): Promise<boolean> {
    const task = await this.#find(taskId, caller);
    if (task === undefined) return false;
    if (task.stored.cancelled) return true;
    const id = rowId(taskId);
    const counted = outstanding(task)
      .filter(({ wireKey }) => Object.hasOwn(answers, wireKey))
      .map(({ wireKey: key }) => ({ key, answer: this.seals.seal(id, "task-answer", JSON.stringify(answers[key])) }));
    if (counted.length === 0) return true;
    await this.#options.tasks.store.answer(id, counted);
    this.waker?.answered(id);
    this.waker?.ready();
    this.onChange(id);
    return true;
  }

  /**
   * Ends a task that does not run, and asks one that does (H28). Ending what has ended does nothing.
   * @returns `false` for an id that is unknown, gone, or somebody else's.
   */
  async cancel(taskId: string, caller: Principal | null): Promise<boolean> {
    const task = await this.#find(taskId, caller);
    if (task === undefined) return false;
    if (endOf(task) !== undefined) return true;
    const id = rowId(taskId);
    const body: TaskBody = { ...task.body, put: [], updatedAt: this.#options.now(), end: { status: "cancelled" } };
    const outcome = await this.#options.tasks.store.cancel(id, this.seals.body(id, body));
    if (outcome === "asked") this.waker?.cancelled(id);
    this.onChange(id);
    return true;
  }

  async #find(taskId: string, caller: Principal | null): Promise<OpenedTask | undefined> {
    const id = rowId(taskId);
    const stored = await this.#options.tasks.store.read(id);
    if (stored === undefined || stored.owner !== ownerOf(this.#options.audience, caller)) return undefined;
    return this.#open(id, stored);
  }

  #open(id: string, stored: StoredTask): OpenedTask {
    const note = stored.note && this.seals.openNote(id, stored.note);
    const { seals } = this;
    return { stored, head: seals.openHead(id, stored.head), body: seals.openBody(id, stored.body), note };
  }

  #head(taskId: string, { target, params, caller, capabilities, options }: HandOver, createdAt: number): TaskHead {
    const { tasks } = this.#options;
    const { ttlMs = tasks.ttlMs, pollIntervalMs = tasks.pollIntervalMs } = options;
    // The answers and the state were this round's; what the flow runs on is the rest.
    const { inputResponses: _, requestState: __, _meta: ___, ...own } = params;
    return { taskId, target, params: own, caller, capabilities, createdAt, ttlMs, pollIntervalMs };
  }
}

function stateOf({ before, version, journal, pending }: HandOver): CallState {
  const { callId, round, polls } = before;
  return {
    callId,
    round,
    ...(polls !== undefined && { polls }),
    ...(version !== undefined && { version }),
    journal,
    pending,
  };
}

/** H7: the task itself, and nothing of what `tasks/get` tells besides. */
function created(task: OpenedTask): CreateTaskResult {
  const { inputRequests: _, result: __, error: ___, ...plain } = viewOf(task);
  return { resultType: "task", ...plain };
}

function tooManyTasks(limit: number): ParleyError {
  const message = `This caller has ${limit} tasks that have not ended; the limit is ${limit} (tasks.openPerCaller).`;
  return new ParleyError("limit_exceeded", message, { details: { limit } });
}
