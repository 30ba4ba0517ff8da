/** The questions of a task while a run of it goes on: on record, shown, and answered before the run has ended. */
import type { Pending } from "../../journal/entry.ts";
import type { InputRequests } from "../../protocol/types.ts";
import type { LiveQuestions } from "../../replay/types.ts";
import type { TaskAnswer, TaskStore } from "../../tasks/contract.ts";
import type { HoldClock } from "../once.ts";
import type { Lease } from "./lease.ts";
import {
  type AskedRecord,
  type PutQuestion,
  putQuestions,
  type TaskBody,
  type TaskNote,
  type TaskSeals,
  writeAsked,
} from "./record.ts";

export interface TaskQuestionsInput {
  readonly id: string;
  readonly body: TaskBody;
  /** What is out and was before, as the flow's version in hand knows it; of one key the last counts. */
  readonly pending: readonly Pending[];
  /** What earlier attempts at this run put last. */
  readonly asked: AskedRecord | undefined;
  /** 1, or more after a take-over: then what is shown is what an earlier attempt said. */
  readonly attempt: number;
  readonly answers: readonly TaskAnswer[];
  /** What earlier runs, and earlier attempts at this one, last said of themselves. */
  readonly message: string | undefined;
}

interface Surroundings {
  readonly store: TaskStore;
  readonly lease: Lease;
  readonly seals: TaskSeals;
  readonly clock: HoldClock;
  readonly now: () => number;
  /** How often the store is asked for answers that this process was not told of, in ms. */
  readonly lookMs: number;
}

type Listener = (responses: Readonly<Record<string, unknown>>) => void;

export class TaskQuestions implements LiveQuestions {
  readonly #id: string;
  readonly #around: Surroundings;
  readonly #pending: Map<string, Pending>;
  /** Answers that this run has taken up, by key on the wire. */
  readonly #answers = new Map<string, unknown>();
  /** What this run knows to have been put, by the flow's own keys the latest. */
  #asked: Pick<TaskBody, "put" | "used">;
  /** What of it is out. */
  #open: readonly PutQuestion[];
  /** Keys that the task shows, where that is known. */
  #shown: string | undefined;
  #message: string | undefined;
  #listener: Listener | undefined;
  #stopLooking: (() => void) | undefined;
  #looking = false;
  #again = false;
  #note: Uint8Array | undefined;

  constructor({ id, body, pending, asked, attempt, answers, message }: TaskQuestionsInput, around: Surroundings) {
    this.#id = id;
    this.#around = around;
    this.#asked = asked ?? body;
    this.#pending = new Map(pending.map((one) => [one.key, one]));
    this.#open = this.#asked.put;
    this.#message = message;
    this.#shown = attempt === 1 ? keysOf(body.put) : undefined;
    this.#unseal(answers);
  }

  /** How far the run, or one before it, was when it last said so. */
  get message(): string | undefined {
    return this.#message;
  }

  get pending(): readonly Pending[] {
    return [...this.#pending.values()];
  }

  get responses(): Readonly<Record<string, unknown>> {
    return this.#byOwnKeys(new Set(this.#answers.keys()));
  }

  /** Gives each open question its key on the wire. */
  assign(requests: InputRequests, pending: readonly Pending[]): Pick<TaskBody, "put" | "used"> {
    return putQuestions(requests, pending, this.#asked, new Set(this.#answers.keys()));
  }

  async show({ requests, pending }: { requests: InputRequests; pending: readonly Pending[] }): Promise<void> {
    const { lease, seals, clock, lookMs } = this.#around;
    const { put, used } = this.assign(requests, pending);
    for (const one of pending) this.#pending.set(one.key, one);
    // One that has been answered stays: its answer may be behind a gap in the record, and then it counts again (C14).
    const asked = { put: latest([...this.#asked.put, ...put]), used };
    if (keysOf(asked.put) !== keysOf(this.#asked.put)) {
      // Before anybody sees them: a run that takes over must not give their keys to other questions (H24).
      await lease.record(seals.seal(this.#id, "task-step", writeAsked({ ...asked, pending: this.pending })));
    }
    this.#asked = asked;
    this.#open = put;
    if (keysOf(put) !== this.#shown) this.#say(true);
    this.#shown = keysOf(put);
    this.#stopLooking ??= clock.every(lookMs, () => this.look());
  }

  listen(onAnswers: Listener): () => void {
    this.#listener = onAnswers;
    return () => {
      this.#listener = undefined;
    };
  }

  /** Shows how far the run is, where that is news. */
  progress(message: string): void {
    if (message === this.#message) return;
    this.#message = message;
    this.#say(false);
  }

  /** Takes up what was answered. */
  look(): void {
    this.#again = true;
    if (!this.#looking) void this.#look();
  }

  end(): void {
    this.#stopLooking?.();
    this.#listener = undefined;
  }

  /** One look at a time; one that fails is followed by the next. */
  async #look(): Promise<void> {
    this.#looking = true;
    try {
      while (this.#again && this.#listener !== undefined) {
        this.#again = false;
        const stored = await this.#around.store.read(this.#id);
        // Without a listener what came is the next run's: it stays in the store.
        if (stored === undefined || this.#listener === undefined) return;
        const fresh = this.#unseal(stored.answers);
        if (fresh.size > 0) this.#listener(this.#byOwnKeys(fresh));
        // Said in vain, or overtaken by what was said before it.
        const note = this.#note;
        if (note !== undefined && !isSame(note, stored.note)) this.#around.lease.say(note, true);
      }
    } catch {
      return;
    } finally {
      this.#looking = false;
    }
  }

  /** The first answer to a key counts (H26), and keys that are not out do not. */
  #unseal(answers: readonly TaskAnswer[]): ReadonlySet<string> {
    const fresh = answers.filter(({ key }) => !this.#answers.has(key));
    for (const { key, answer } of fresh) {
      this.#answers.set(key, JSON.parse(this.#around.seals.open(this.#id, "task-answer", answer)));
    }
    return new Set(fresh.map(({ key }) => key));
  }

  #byOwnKeys(wireKeys: ReadonlySet<string>): Record<string, unknown> {
    const put = this.#asked.put.filter(({ wireKey }) => wireKeys.has(wireKey));
    return Object.fromEntries(put.map(({ wireKey, key }) => [key, this.#answers.get(wireKey)]));
  }

  #say(atOnce: boolean): void {
    const { lease, seals, now } = this.#around;
    const note: TaskNote = {
      at: now(),
      put: this.#open,
      ...(this.#message !== undefined && { message: this.#message }),
    };
    this.#note = seals.seal(this.#id, "task-note", JSON.stringify(note));
    lease.say(this.#note, atOnce);
  }
}

/** Of each key the one that was put last. */
function latest(put: readonly PutQuestion[]): PutQuestion[] {
  return [...new Map(put.map((one) => [one.key, one])).values()];
}

function keysOf(put: readonly PutQuestion[]): string {
  return JSON.stringify(put.map(({ wireKey }) => wireKey));
}

function isSame(note: Uint8Array, stored: Uint8Array | undefined): boolean {
  return stored !== undefined && Buffer.compare(note, stored) === 0;
}
