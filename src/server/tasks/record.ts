/** What a task is, as it is kept: sealed, in a part that never changes and one that does. */
import { decodeState, encodeState } from "../../journal/codec.ts";
import type { CallState, Pending } from "../../journal/entry.ts";
import type { TaskError } from "../../protocol/tasks.ts";
import type { ClientCapabilities, InputRequest, InputRequests, JsonObject } from "../../protocol/types.ts";
import type { Principal } from "../../state/index.ts";
import { asTasksUnavailable } from "../../tasks/guard.ts";
import type { Vault } from "../vault.ts";

export interface TaskHead {
  readonly taskId: string;
  readonly target: string;
  /** The call's params, as they came. */
  readonly params: Readonly<Record<string, unknown>>;
  readonly caller: Principal | null;
  /** What the request that became the task declared (A12). */
  readonly capabilities: ClientCapabilities;
  /** Ms since the epoch. */
  readonly createdAt: number;
  readonly ttlMs: number;
  readonly pollIntervalMs: number;
}

/** A question that is out, under a key that this task uses once (H24). */
export interface PutQuestion {
  readonly wireKey: string;
  readonly key: string;
  readonly digest: string;
  readonly attempts: number;
  readonly request: InputRequest;
}

export type TaskEnd =
  | { readonly status: "completed"; readonly result: JsonObject }
  | { readonly status: "failed"; readonly error: TaskError }
  | { readonly status: "cancelled" };

export interface TaskBody {
  readonly state: CallState;
  readonly put: readonly PutQuestion[];
  /** Every key that was ever put. */
  readonly used: readonly string[];
  readonly updatedAt: number;
  /** What its runs last said of themselves. */
  readonly message?: string;
  readonly end?: TaskEnd;
}

/** What a run says of itself on its way. */
export interface TaskNote {
  readonly message?: string;
  readonly at: number;
  /** What is out, where the run has come to ask. */
  readonly put?: readonly PutQuestion[];
}

/** What a run has put on its way, for one that takes over. */
export type AskedRecord = Pick<TaskBody, "put" | "used"> & Pick<CallState, "pending">;

type Part = "task-head" | "task-body" | "task-note" | "task-answer" | "task-step";

/** Seals the parts of one task: none can be read at rest, nor moved to another task or another use. */
export class TaskSeals {
  readonly #vault: Vault;

  constructor(vault: Vault) {
    this.#vault = vault;
  }

  head(id: string, head: TaskHead): Uint8Array {
    return this.seal(id, "task-head", JSON.stringify(head));
  }

  openHead(id: string, bytes: Uint8Array): TaskHead {
    return JSON.parse(this.open(id, "task-head", bytes)) as TaskHead;
  }

  body(id: string, { state, ...rest }: TaskBody): Uint8Array {
    return this.seal(id, "task-body", JSON.stringify({ ...rest, state: encodeState(state) }));
  }

  openBody(id: string, bytes: Uint8Array): TaskBody {
    const { state, ...rest } = JSON.parse(this.open(id, "task-body", bytes)) as TaskBody & { state: unknown };
    const decoded = decodeState(String(state));
    if (decoded === undefined) throw asTasksUnavailable("A task of the store was written by another release.");
    return { ...rest, state: decoded.state };
  }

  openNote(id: string, bytes: Uint8Array): TaskNote {
    return JSON.parse(this.open(id, "task-note", bytes)) as TaskNote;
  }

  seal(id: string, part: Part, text: string): Uint8Array {
    return this.#vault.seal(text, { call: id, round: 0 }, part);
  }

  /** @throws ParleyError `tasks_unavailable` */
  open(id: string, part: Part, bytes: Uint8Array): string {
    try {
      return this.#vault.open(bytes, { call: id, round: 0 }, part);
    } catch (cause) {
      throw asTasksUnavailable(`A task of the store does not open (${part}). Was a key dropped too early?`, cause);
    }
  }
}

const ASKED = "asked ";

export function writeAsked(asked: AskedRecord): string {
  return ASKED + JSON.stringify(asked);
}

/** What earlier attempts at a run left, in order: the records of its steps, and what was put last. */
export function readLog(texts: readonly string[]): { steps: string[]; asked: AskedRecord | undefined } {
  const asked = texts.findLast((text) => text.startsWith(ASKED));
  return {
    steps: texts.filter((text) => !text.startsWith(ASKED)),
    asked: asked === undefined ? undefined : (JSON.parse(asked.slice(ASKED.length)) as AskedRecord),
  };
}

/** The questions that are open now, each under a key of its own. One that is unchanged and unanswered keeps its key (H24). */
export function putQuestions(
  requests: InputRequests,
  pending: readonly Pending[],
  { put, used }: Pick<TaskBody, "put" | "used">,
  answered: ReadonlySet<string>,
): Pick<TaskBody, "put" | "used"> {
  const taken = new Set(used);
  const questions = Object.entries(requests).map(([key, request]): PutQuestion => {
    const { digest, attempts } = pending.find((one) => one.key === key && one.kind !== "wait") as Pending;
    const same = put.find(
      (one) => one.key === key && one.digest === digest && one.attempts === attempts && !answered.has(one.wireKey),
    );
    const wireKey = same?.wireKey ?? unusedKey(key, taken);
    taken.add(wireKey);
    // One that keeps its key keeps its words: why an earlier answer did not count is said in the run that found it.
    return same ?? { wireKey, key, digest, attempts, request };
  });
  return { put: questions, used: [...taken] };
}

/** The author's key the first time, so that it reads the same in a round and in a task. */
function unusedKey(key: string, taken: ReadonlySet<string>): string {
  for (let count = 1; ; count++) {
    const name = count === 1 ? key : `${key}~${count}`;
    if (!taken.has(name)) return name;
  }
}
