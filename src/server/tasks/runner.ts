/** Runs tasks in this process: as many as it may, each under a lease that another process can take over. */
import { messageOf, type ParleyError } from "../../errors.ts";
import type { AnyFlow, ToolFlow } from "../../flow/define.ts";
import type { ClaimedTask, TaskHold } from "../../tasks/contract.ts";
import { outsideSteps } from "../deps.ts";
import type { HoldClock } from "../once.ts";
import { readRecords, writeRecord } from "../step-record.ts";
import type { TaskDesk, Waker } from "./desk.ts";
import { kindOf } from "./identity.ts";
import { Lease } from "./lease.ts";
import type { ResolvedTasks } from "./options.ts";
import { TaskQuestions } from "./questions.ts";
import { readLog } from "./record.ts";
import { type RunnerOptions, runTask, stateFor, type TaskRunEnd } from "./run.ts";
import { isDrained, TaskStopped } from "./stopped.ts";
import { GIVEN_UP } from "./view.ts";

export interface TaskRunnerOptions extends RunnerOptions {
  readonly audience: string;
  readonly random: (bytes: number) => Buffer;
  readonly holdClock: HoldClock;
  readonly tasks: ResolvedTasks;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface Running {
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

export class TaskRunner implements Waker {
  readonly #desk: TaskDesk;
  readonly #options: TaskRunnerOptions;
  readonly #flows = new Map<string, ToolFlow>();
  readonly #running = new Map<string, Running>();
  readonly #questions = new Map<string, TaskQuestions>();
  #looking: Promise<void> | undefined;
  #again = false;
  #stop: (() => Promise<void>) | undefined;
  #claiming = 0;
  #closed = false;

  constructor(desk: TaskDesk, options: TaskRunnerOptions) {
    this.#desk = desk;
    this.#options = options;
    desk.waker = this;
  }

  /** From now on tasks of these tools run here. */
  add(flows: readonly AnyFlow[]): void {
    for (const flow of flows) {
      if (flow.type === "tool") this.#flows.set(kindOf(this.#options.audience, flow.name), flow);
    }
    if (this.#flows.size === 0 || this.#stop !== undefined || this.#closed) return;
    const { tasks, holdClock } = this.#options;
    const unwatch = tasks.store.watch?.(() => this.#take(), tasks.concurrency);
    const unlook = holdClock.every(tasks.lookMs, () => this.ready());
    this.#stop = async () => {
      unlook();
      await unwatch?.();
    };
    this.ready();
  }

  /** Takes what is ready, up to what may run here at once. */
  ready(): void {
    this.#again = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
  }

  cancelled(id: string): void {
    this.#running.get(id)?.abort.abort(new TaskStopped("cancelled"));
  }

  answered(id: string): void {
    this.#questions.get(id)?.look();
  }

  /** Takes no more, lets what runs run on for a while, and gives back the rest for another process to go on with. */
  async close(): Promise<void> {
    this.#closed = true;
    // It ends with the last run that it started.
    const stopped = this.#stop?.();
    await this.#looking;
    const { holdClock, tasks } = this.#options;
    const all = () => Promise.all([...this.#running.values()].map(({ ended }) => ended));
    if (this.#running.size > 0) {
      this.#options.onEvent({ type: "tasks_draining", tasks: this.#running.size });
      await Promise.race([all(), holdClock.sleep(tasks.drainMs)]);
    }
    for (const { abort } of this.#running.values()) abort.abort(new TaskStopped("drained"));
    // A step that does not listen to its signal ends with the process: its lease is no longer kept up.
    let stopTimer = () => {};
    const late = new Promise<void>((resolve) => {
      stopTimer = holdClock.every(tasks.drainMs, resolve);
    });
    await Promise.race([Promise.all([all(), stopped]), late]).finally(stopTimer);
  }

  async #look(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false;
      while ((await this.#claim()) !== undefined);
    }
  }

  /** One task to its next pause, for a store that tells of what is ready. */
  async #take(): Promise<void> {
    await (await this.#claim())?.ended;
  }

  /** Takes the next task, if this process may run another and there is one. */
  async #claim(): Promise<Running | undefined> {
    const { store, concurrency, leaseMs, concurrencyPerCaller: perOwner } = this.#options.tasks;
    if (this.#closed || this.#running.size + this.#claiming >= concurrency) return undefined;
    this.#claiming++;
    try {
      const holder = this.#options.random(16).toString("base64url");
      const claimedAt = this.#options.holdClock.now();
      const claimed = await store.claim({ holder, kinds: [...this.#flows.keys()], leaseMs, perOwner });
      if (claimed === undefined) return undefined;
      const hold = { id: claimed.id, holder };
      if (!this.#closed) return this.#start(claimed, hold, claimedAt);
      await store.release(hold, 0);
      return undefined;
    } catch (error) {
      this.#report(error);
      return undefined;
    } finally {
      this.#claiming--;
    }
  }

  #start(claimed: ClaimedTask, hold: TaskHold, claimedAt: number): Running {
    const abort = new AbortController();
    const ended = outsideSteps(() => this.#run(claimed, hold, abort, claimedAt))
      .catch((error: unknown) => this.#report(error))
      .finally(() => {
        this.#running.delete(claimed.id);
        this.ready();
      });
    const running = { abort, ended };
    this.#running.set(claimed.id, running);
    return running;
  }

  async #run(claimed: ClaimedTask, hold: TaskHold, abort: AbortController, claimedAt: number): Promise<void> {
    const { tasks, holdClock, now } = this.#options;
    const { seals } = this.#desk;
    const { store, leaseMs, lookMs } = tasks;
    const onSaid = () => this.#desk.onChange(claimed.id);
    const lease = new Lease(hold, abort, { store, leaseMs, lookMs, clock: holdClock, claimedAt, onSaid });
    try {
      const { id } = claimed;
      const { head, body, log } = await this.#open(claimed, hold);
      if (claimed.cancelled) {
        await this.#settle(hold, {
          body: { ...body, put: [], updatedAt: now(), end: { status: "cancelled" } },
          phase: "ended",
        });
        return;
      }
      if (claimed.attempt > tasks.maxAttempts) {
        await this.#settle(hold, { body: { ...body, put: [], updatedAt: now(), end: GIVEN_UP }, phase: "ended" });
        const { callId, round } = body.state;
        const error = { message: `Given up: taken over ${tasks.maxAttempts} times (tasks.maxAttempts).` };
        this.#options.onEvent({ type: "task_ended", ...toolCall(head.target), callId, round, status: "failed", error });
        return;
      }
      if (claimed.attempt > 1) this.#tellTakeOver(claimed, body.state.callId, body.state.round, head.target);
      const flow = this.#flows.get(claimed.kind) as ToolFlow;
      const state = stateFor(flow, body);
      // What another version recorded is no part of a run that starts over.
      const startsOver = state !== body.state;
      const { callId } = state;
      if (startsOver) this.#options.onEvent({ type: "started_over", ...toolCall(head.target), callId });
      const { entries, finished, lastAttempt } = readRecords(startsOver ? [] : log.steps);
      // One that was given back did not count, but what it recorded is not this one's.
      const attempt = Math.max(claimed.attempt, lastAttempt + 1, log.asked === undefined ? 1 : 2);
      const pending = startsOver ? [] : [...state.pending, ...(log.asked?.pending ?? [])];
      const message = (attempt > 1 ? await this.#said(id) : undefined) ?? body.message;
      const questions = new TaskQuestions(
        { id, body, pending, asked: log.asked, attempt, answers: claimed.answers, message },
        { store, lease, seals, clock: holdClock, now, lookMs },
      );
      this.#questions.set(id, questions);
      const before = state.journal.length;
      let written = entries.length;
      const stopExpiry = this.#expireIn(claimed.lifeLeftMs, abort);
      const end = await runTask(
        {
          flow,
          head,
          body,
          state,
          questions,
          signal: abort.signal,
          record: {
            entries,
            finished,
            isHeld: () => lease.isHeld(),
            write: async (journal) => {
              const record = { attempt, at: written, entries: journal.slice(before + written) };
              written = journal.length - before;
              await lease.record(seals.seal(id, "task-step", writeRecord(record)));
            },
          },
        },
        this.#options,
      ).finally(() => {
        stopExpiry();
        questions.end();
        this.#questions.delete(id);
      });
      await lease.end();
      if (end !== undefined) await this.#settle(hold, end);
      // A process that closes has failed nobody's task, however often one is deployed.
      else await store.release(hold, isDrained(abort.signal) ? 0 : undefined);
    } finally {
      await lease.end();
    }
  }

  /**
   * Everything of a task that is sealed. One that does not open is given back until later, and does not count as tried: the key
   * that is missing here may come back, and meanwhile the caller's other tasks can run.
   * @throws ParleyError `tasks_unavailable`
   */
  async #open({ id, head, body, steps, answers }: ClaimedTask, hold: TaskHold) {
    const { seals } = this.#desk;
    const { store, leaseMs } = this.#options.tasks;
    try {
      for (const { answer } of answers) seals.open(id, "task-answer", answer);
      const log = readLog(steps.map((step) => seals.open(id, "task-step", step)));
      return { head: seals.openHead(id, head), body: seals.openBody(id, body), log };
    } catch (error) {
      await store.release(hold, leaseMs);
      throw error;
    }
  }

  /** What an earlier attempt at this run last said of itself: the next one does not repeat what it replays. */
  async #said(id: string): Promise<string | undefined> {
    const note = (await this.#options.tasks.store.read(id))?.note;
    return note && this.#desk.seals.openNote(id, note).message;
  }

  async #settle(hold: TaskHold, { body, phase, wakeMs }: TaskRunEnd): Promise<void> {
    await this.#options.tasks.store.settle(hold, {
      body: this.#desk.seals.body(hold.id, body),
      phase,
      ...(wakeMs !== undefined && { wakeMs }),
      open: body.put.map(({ wireKey }) => wireKey),
    });
    this.#desk.onChange(hold.id);
  }

  /** H20: a run does not outlive its task. */
  #expireIn(lifeLeftMs: number, abort: AbortController): () => void {
    // No timer is that long, and no run either.
    if (lifeLeftMs > LONGEST_TIMER_MS) return () => {};
    return this.#options.holdClock.every(lifeLeftMs, () => abort.abort(new TaskStopped("expired")));
  }

  #tellTakeOver({ attempt }: ClaimedTask, callId: string, round: number, target: string): void {
    this.#options.onEvent({ type: "taken_over", ...toolCall(target), callId, round, attempt });
  }

  #report(error: unknown): void {
    // An author's own store may throw anything, and nobody awaits what reports it.
    const { code } = Object(error) as Partial<ParleyError>;
    this.#options.onEvent({
      type: "task_runner_failed",
      message: messageOf(error),
      ...(code !== undefined && { code }),
    });
  }
}

function toolCall(target: string) {
  return { method: "tools/call", target } as const;
}
