/** Tasks in this process's memory: for tests, and for servers of one process that may forget on restart. */
import { ParleyError } from "../errors.ts";
import { checkNames } from "../internal/options.ts";
import { createExpiryQueue } from "../store/expiry-queue.ts";
import type { ClaimedTask, StoredTask, TaskAnswer, TaskHold, TaskPhase, TaskStore } from "./contract.ts";
import { type IndexedTask, TaskIndex } from "./memory-index.ts";

export type * from "./contract.ts";

export interface MemoryTasksOptions {
  /** Clock, in ms. Default `Date.now`. */
  readonly now?: () => number;
}

interface Row extends IndexedTask {
  readonly head: Uint8Array;
  readonly dropAt: number;
  body: Uint8Array;
  note: Uint8Array | undefined;
  phase: TaskPhase;
  wakeAt: number;
  holder: string | undefined;
  leaseUntil: number;
  attempt: number;
  cancelled: boolean;
  steps: Uint8Array[];
  answers: TaskAnswer[];
}

/** Rows whose time is over that one operation drops at most, so that none pays for all of them. */
const DROPS = 16;

const NAMES: Record<keyof MemoryTasksOptions, true> = { now: true };

/** @throws ParleyError `configuration` */
export function memoryTasks(options: MemoryTasksOptions = {}): TaskStore {
  checkNames("memoryTasks", options, NAMES);
  const { now = Date.now } = options;
  const rows = new Map<string, Row>();
  const index = new TaskIndex();
  const expiries = createExpiryQueue();
  let closed = false;

  /** The time of one operation, after what has come with it. */
  function begin(): number {
    if (closed) throw new ParleyError("tasks_unavailable", "The memory task store is closed.");
    const time = now();
    index.pass(time, (id) => rows.get(id));
    for (let count = 0; count < DROPS; count++) {
      const id = expiries.takeDue(time);
      if (id === undefined) break;
      if (live(id, time) === undefined) drop(id);
    }
    return time;
  }

  function drop(id: string): void {
    const row = rows.get(id);
    if (row !== undefined) index.remove(row);
    rows.delete(id);
  }

  function live(id: string, time: number): Row | undefined {
    const row = rows.get(id);
    return row !== undefined && row.dropAt > time ? row : undefined;
  }

  function held({ id, holder }: TaskHold, time: number): Row | undefined {
    const row = live(id, time);
    return row !== undefined && row.holder === holder ? row : undefined;
  }

  const isHeld = (row: Row, time: number) => row.holder !== undefined && row.leaseUntil > time;

  function prolong(row: Row, leaseUntil: number): void {
    row.leaseUntil = leaseUntil;
    index.hold(row, leaseUntil);
  }

  function end(row: Row, body: Uint8Array): void {
    index.remove(row);
    Object.assign(row, {
      body: copy(body),
      phase: "ended",
      holder: undefined,
      note: undefined,
      steps: [],
      answers: [],
    });
  }

  return {
    volatile: true,
    async create(task) {
      const time = begin();
      if (live(task.id, time) !== undefined) return "exists";
      drop(task.id);
      if (index.openOf(task.owner) >= task.maxOpen) return "full";
      const endsAt = time + task.lifeMs;
      expiries.add(task.id, endsAt + task.keepMs);
      const row: Row = {
        id: task.id,
        kind: task.kind,
        owner: task.owner,
        head: copy(task.head),
        endsAt,
        dropAt: endsAt + task.keepMs,
        body: copy(task.body),
        note: undefined,
        phase: "ready",
        wakeAt: time,
        holder: undefined,
        leaseUntil: 0,
        attempt: 0,
        cancelled: false,
        steps: [],
        answers: [],
      };
      rows.set(task.id, row);
      index.add(row);
      return "created";
    },
    async read(id) {
      const time = begin();
      const row = live(id, time);
      if (row === undefined) return undefined;
      const { owner, head, body, note, phase, cancelled, answers, endsAt } = row;
      const stored: StoredTask = {
        owner,
        head: copy(head),
        body: copy(body),
        note: note && copy(note),
        phase,
        cancelled,
        answers: [...answers],
        lifeLeftMs: endsAt - time,
      };
      return stored;
    },
    async answer(id, answers) {
      const time = begin();
      const row = live(id, time);
      if (row === undefined || row.phase === "ended") return;
      for (const { key, answer } of answers) {
        if (!row.answers.some((known) => known.key === key)) row.answers.push({ key, answer: copy(answer) });
      }
      if (row.phase !== "waiting") return;
      row.phase = "ready";
      row.wakeAt = time;
      index.queue(row);
    },
    async cancel(id, body) {
      const time = begin();
      const row = live(id, time);
      if (row === undefined || row.phase === "ended") return "nothing";
      if (isHeld(row, time)) {
        row.cancelled = true;
        return "asked";
      }
      end(row, body);
      return "ended";
    },
    async claim({ holder, kinds, leaseMs, perOwner }) {
      const time = begin();
      const next = index.next(kinds, perOwner, time);
      const row = next === undefined ? undefined : rows.get(next);
      if (row === undefined) return undefined;
      Object.assign(row, { holder, attempt: row.attempt + 1 });
      prolong(row, time + leaseMs);
      const { id, kind, head, body, steps, answers, attempt, cancelled, endsAt } = row;
      const claimed: ClaimedTask = {
        id,
        kind,
        head: copy(head),
        body: copy(body),
        steps: steps.map(copy),
        answers: [...answers],
        attempt,
        cancelled,
        lifeLeftMs: endsAt - time,
      };
      return claimed;
    },
    async record(hold, entry, leaseMs) {
      const time = begin();
      const row = held(hold, time);
      if (row === undefined) return false;
      row.steps.push(copy(entry));
      prolong(row, time + leaseMs);
      return true;
    },
    async renew(hold, leaseMs, note) {
      const time = begin();
      const row = held(hold, time);
      if (row === undefined) return "lost";
      prolong(row, time + leaseMs);
      if (note !== undefined) row.note = copy(note);
      return row.cancelled ? "cancelled" : "held";
    },
    async settle(hold, { body, phase, wakeMs = 0, open }) {
      const time = begin();
      const row = held(hold, time);
      if (row === undefined) return false;
      if (phase === "ended") {
        end(row, body);
        return true;
      }
      const answers = row.answers.filter(({ key }) => open.includes(key));
      const ready = phase === "ready" || answers.length > 0 || row.cancelled;
      const wakeAt = time + (answers.length > 0 || row.cancelled ? 0 : wakeMs);
      Object.assign(row, { body: copy(body), phase: ready ? "ready" : "waiting", wakeAt, answers });
      Object.assign(row, { holder: undefined, note: undefined, steps: [], attempt: 0 });
      index.withdraw(row);
      if (ready) index.queue(row);
      return true;
    },
    async release(hold, wakeMs) {
      const time = begin();
      const row = held(hold, time);
      if (row === undefined) return;
      row.holder = undefined;
      if (wakeMs !== undefined) Object.assign(row, { attempt: row.attempt - 1, wakeAt: time + wakeMs });
      index.withdraw(row);
      index.queue(row);
    },
    async close() {
      closed = true;
      rows.clear();
    },
  };
}

/** What was stored is the store's own: nobody who holds the bytes can change them afterwards. */
function copy(bytes: Uint8Array): Uint8Array {
  return Uint8Array.from(bytes);
}
