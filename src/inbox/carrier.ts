/** Carries calls on: claims them, drives them to their next questions or their end, and writes down what came of it. */
import type { Client } from "@modelcontextprotocol/client";
import type { Call, CallParams, TaskState } from "../calls/call.ts";
import { type Calls, createCalls } from "../calls/calls.ts";
import { within } from "../calls/clock.ts";
import type { CallEvent } from "../calls/events.ts";
import type { SavedCall } from "../calls/saved.ts";
import { cancelTask, isOutage } from "../calls/task.ts";
import type { PendingCall } from "../pending/call.ts";
import type { PendingStore } from "../pending/contract.ts";
import { conclude, end, UNTOLD, withEvent } from "../pending/rules.ts";
import { renderResult } from "../present/result.ts";
import type { ClientCapabilities } from "../protocol/types.ts";
import { Claims } from "./claims.ts";
import type { Connections } from "./connections.ts";
import { isEndOfTask, isPassing, neverSent, reasonText, taskFailureText, unkeptText } from "./failures.ts";
import type { ResolvedInboxOptions } from "./options.ts";
import { consult, parked, resumable } from "./parking.ts";
import { Run } from "./run.ts";
import {
  isNoNews,
  isTooOld,
  isUnknownTask,
  OVER,
  resting,
  TELL_FOR_MS,
  TOLD,
  TOO_OLD,
  UNKNOWN,
  withTask,
  withTaskDeadline,
} from "./tasks.ts";
import { viewOf } from "./view.ts";

/** Longest text of a result that is kept, in characters. */
const MAX_RESULT = 200_000;

const INTERRUPTED =
  "This host ended while the first request was on its way. It may have reached the server: look there, then start the call again.";

const LEGACY = "The server speaks no revision in which a call can wait; the inbox needs 2026-07-28. Nothing was sent.";

export interface CarrierSetting {
  readonly options: ResolvedInboxOptions;
  /** With every change told to whoever listens. */
  readonly store: PendingStore;
  readonly connections: Connections;
  /** Names this process in claims. */
  readonly owner: string;
}

export class Carrier {
  readonly #setting: CarrierSetting;
  readonly #claims: Claims;
  readonly #runs = new Map<string, Run>();
  readonly #work = new Set<Promise<void>>();

  constructor(setting: CarrierSetting) {
    this.#setting = setting;
    this.#claims = new Claims(setting.options, setting.store, setting.owner);
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Goes on with the call, if nobody else does. What comes of it is in the store. */
  carry(id: string): void {
    if (this.#runs.has(id)) return;
    const run = new Run();
    this.#runs.set(id, run);
    const work = this.#carry(id, run)
      .catch((error: unknown) => this.#setting.options.onError(error))
      .finally(() => {
        this.#runs.delete(id);
        this.#work.delete(work);
      });
    this.#work.add(work);
  }

  /** The call was ended: what it waits for here is dropped, and a request on its way is cancelled. */
  drop(id: string): void {
    this.#runs.get(id)?.drop();
  }

  /** Asks the server again now, if the call is waiting to do so. */
  hurry(id: string): void {
    this.#runs.get(id)?.hurry();
  }

  /** Lets requests on their way finish for a while; then they are dropped, and their calls wait to be taken over. */
  async close(): Promise<void> {
    const { clock, graceMs } = this.#setting.options;
    for (const run of this.#runs.values()) run.leave();
    const cancel = clock.after(graceMs, () => {
      for (const run of this.#runs.values()) run.drop();
    });
    await Promise.all(this.#work);
    cancel();
  }

  async #carry(id: string, run: Run): Promise<void> {
    while (!run.end.signal.aborted && !run.leaving) {
      const call = await this.#claims.take(id);
      if (call === undefined) return;
      const stop = this.#claims.keep(id, run);
      try {
        await this.#advance(call, run);
        await run.writes;
      } finally {
        stop();
        await this.#claims.release(id);
      }
    }
  }

  async #advance(call: PendingCall, run: Run): Promise<void> {
    const { ending } = call;
    if (ending !== undefined) return this.#tellEnd(call, ending, run);
    if (call.saved === undefined && call.opened) return this.#end(call, INTERRUPTED);
    if (isTooOld(call, this.#setting.options, this.#setting.options.clock.now())) return this.#end(call, TOO_OLD);
    let client: Client;
    try {
      client = await this.#client(call, run);
    } catch (error) {
      if (run.end.signal.aborted) return;
      return call.saved === undefined
        ? this.#end(call, reasonText(call.server, error))
        : this.#wait(call, error, false);
    }
    if (client.getProtocolEra() !== "modern") return this.#end(call, LEGACY);
    let arrived = false;
    try {
      const driver = await this.#drive(call, run, this.#callsFor(call, client, run));
      await run.writes;
      arrived = true;
      await this.#arrived(call, driver, client);
    } catch (error) {
      await run.writes;
      if (run.takeAgain() || run.end.signal.aborted) return;
      const { task } = run.driver ?? {};
      const isTask = task !== undefined;
      // Not the task's own failure, which looks the same.
      const hasFailed = task?.status === "failed";
      const isOut = isTask && !hasFailed && isOutage(error);
      // The network has no part in this: to ask again would bring the same.
      if (arrived) await this.#conclude(call, unkeptText(call.server, error));
      else if (isOut || (run.driver?.status === "asking" && isPassing(error)))
        // A task is looked at, and its answers are sent, again and again without harm (H19, H26).
        await this.#wait(call, error, !isTask && !neverSent(error));
      else if (hasFailed) await this.#end(call, taskFailureText(call.server, error));
      else if (isTask && isUnknownTask(error)) await this.#end(call, UNKNOWN);
      else if (isTask && !isEndOfTask(error)) await this.#conclude(call, reasonText(call.server, error));
      else await this.#end(call, reasonText(call.server, error));
    }
  }

  #client({ server }: PendingCall, run: Run): Promise<Client> {
    const { connections, options } = this.#setting;
    return within(options.clock, run.end.signal, [], () => connections.client(server));
  }

  #callsFor(call: PendingCall, client: Client, run: Run): Calls {
    const { humanTimeoutMs, legTimeoutMs, maxRounds, pacing, clock } = this.#setting.options;
    const onEvent = (event: CallEvent) => this.#onEvent(call.id, run, event);
    const { id, server } = call;
    return createCalls(client, {
      server,
      humanTimeoutMs,
      legTimeoutMs,
      maxRounds,
      pacing,
      clock,
      onEvent,
      newCallId: () => id,
      // Kept in the store between two looks, and held by no process meanwhile.
      followTasks: false,
    });
  }

  async #drive(call: PendingCall, run: Run, calls: Calls): Promise<Call> {
    if (call.saved === undefined) {
      await this.#claims.change(call.id, (one) => ({ ...one, opened: true }), true);
      const onOpen = (driver: Call): void => run.attach(driver);
      const params = call.params as unknown as CallParams[typeof call.method];
      return calls.open(call.method, params, { onOpen, capabilities: this.#capabilities() });
    }
    const driver = calls.resume(resumable(call));
    run.attach(driver);
    for (const { key, response } of call.questions) if (response !== undefined) driver.answer(key, response);
    await driver.continue();
    return driver;
  }

  /** What this inbox can really serve (B17, B30). */
  #capabilities(): ClientCapabilities {
    const { model, modelTools, roots } = this.#setting.options;
    return {
      elicitation: { form: {}, url: {} },
      ...(model && { sampling: modelTools ? { tools: {} } : {} }),
      ...(roots && { roots: {} }),
    };
  }

  #onEvent(id: string, run: Run, event: CallEvent): void {
    run.watch(event.type);
    const at = this.#setting.options.clock.now();
    const write = (change: (call: PendingCall) => PendingCall): void => {
      run.writes = run.writes.then(() => this.#claims.change(id, change)).catch(this.#setting.options.onError);
    };
    if (event.type === "leg" && event.answered.length > 0) {
      write((call) => (call.history.at(-1)?.type === "sent" ? call : withEvent(call, at, { type: "sent" })));
    } else if (event.type === "restarted") {
      write((call) => withEvent(call, at, { type: "started_over" }));
    } else if (event.type === "interim" && event.questions.length === 0 && run.driver !== undefined) {
      // Taken now: by the time it is written the driver may have moved on.
      const saved = run.driver.toJSON();
      write((call) => parked(call, saved, [], at));
    }
  }

  async #arrived(call: PendingCall, driver: Call, client: Client): Promise<void> {
    if (driver.status === "complete") return this.#complete(call, driver);
    const { task } = driver;
    if (task !== undefined && driver.questions.length === 0) return this.#rest(call, driver.toJSON(), task);
    const { policy, clock } = this.#setting.options;
    const { server, method, target } = call;
    const destructive =
      policy !== undefined &&
      method === "tools/call" &&
      (await this.#setting.connections.mayHarm(server, target).catch(() => true));
    const at = clock.now();
    const info = client.getServerVersion();
    const claimed = info && {
      name: info.name,
      version: info.version,
      ...(info.title !== undefined && { title: info.title }),
    };
    await this.#claims.change(call.id, (one) => {
      // Stopped while its answer was on its way: nobody is asked any more.
      if (one.ending !== undefined) return one;
      const known = { ...one, ...(claimed && { claimed }) };
      const told = task === undefined ? known : withTask(known, task, at);
      const asked = withTaskDeadline(parked(told, driver.toJSON(), driver.questions, at), at);
      // Before anybody waits for an answer to what nobody can be shown (B40): the error names the question.
      for (const question of asked.questions) viewOf(asked, question, this.#setting.options);
      return policy === undefined ? asked : consult(asked, policy, destructive, at);
    });
  }

  async #rest(call: PendingCall, saved: SavedCall, task: TaskState): Promise<void> {
    const at = this.#setting.options.clock.now();
    const rest = (one: PendingCall) => (one.ending === undefined ? resting(one, saved, task, at) : one);
    await this.#claims.change(call.id, rest, isNoNews(call, task));
  }

  async #complete(call: PendingCall, { method, result, task }: Call): Promise<void> {
    const whole = renderResult(method, result as NonNullable<typeof result>);
    const text = whole.length > MAX_RESULT ? `${whole.slice(0, MAX_RESULT)} …` : whole;
    const isError = result !== undefined && "isError" in result && result.isError === true;
    const at = this.#setting.options.clock.now();
    await this.#claims.change(call.id, (one) => {
      const known = task === undefined ? one : withTask(one, task, at);
      return end(known, at, "complete", undefined, { text, isError });
    });
  }

  async #end(call: PendingCall, reason: string): Promise<void> {
    const at = this.#setting.options.clock.now();
    await this.#claims.change(call.id, (one) => end(one, at, "failed", reason));
  }

  /** The fault is on this side, or in what was asked: a task that still runs is cancelled first. */
  async #conclude(call: PendingCall, reason: string): Promise<void> {
    const at = this.#setting.options.clock.now();
    await this.#claims.change(call.id, (one) => (one.ending ? one : conclude(one, at, "failed", reason)));
  }

  /** H28. A server that is out of reach is told for a while, and then no more. */
  async #tellEnd(call: PendingCall, ending: NonNullable<PendingCall["ending"]>, run: Run): Promise<void> {
    const { clock, legTimeoutMs } = this.#setting.options;
    const { id, server, saved } = call;
    let outcome = TOLD;
    try {
      const client = await this.#client(call, run);
      const { taskId = "" } = saved?.task ?? {};
      const capabilities = saved?.capabilities ?? {};
      const { signal } = run.end;
      await cancelTask(client, { server, taskId, capabilities, timeoutMs: legTimeoutMs, signal }, clock);
    } catch (error) {
      if (run.end.signal.aborted) return;
      if (isPassing(error) && clock.now() < ending.at + TELL_FOR_MS) return this.#wait(call, error, false);
      outcome = isUnknownTask(error) ? OVER : `${UNTOLD} ${reasonText(server, error)}`;
    }
    const at = clock.now();
    await this.#claims.change(id, (one) => end(one, at, ending.state, `${ending.reason} ${outcome}`));
  }

  /** The answers are kept: they go out again by themselves only if they certainly have not been out yet (B24). */
  async #wait(call: PendingCall, error: unknown, sent: boolean): Promise<void> {
    const { clock, retryMs } = this.#setting.options;
    const at = clock.now();
    const problem = reasonText(call.server, error);
    const pause = sent ? ({ type: "lost" } as const) : ({ type: "unreachable", at: at + retryMs } as const);
    await this.#claims.change(call.id, (one) => {
      const paused: PendingCall = { ...one, pause, problem };
      const isKnown = one.pause?.type === "unreachable" || one.pause?.type === "lost";
      return isKnown ? paused : withEvent(paused, at, { type: "unreachable" });
    });
  }
}
