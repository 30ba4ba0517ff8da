/** Carries calls on: claims them, drives them to their next questions or their end, and writes down what came of it. */
import type { Client } from "@modelcontextprotocol/client";
import type { Call, CallParams } from "../calls/call.ts";
import { type Calls, createCalls } from "../calls/calls.ts";
import { within } from "../calls/clock.ts";
import type { CallEvent } from "../calls/events.ts";
import { ParleyError } from "../errors.ts";
import type { PendingCall } from "../pending/call.ts";
import type { PendingStore } from "../pending/contract.ts";
import { end, withEvent } from "../pending/rules.ts";
import { renderResult } from "../present/result.ts";
import type { ClientCapabilities } from "../protocol/types.ts";
import { Claims } from "./claims.ts";
import type { Connections } from "./connections.ts";
import { neverSent, reasonText, unkeptText } from "./failures.ts";
import type { ResolvedInboxOptions } from "./options.ts";
import { consult, parked, resumable } from "./parking.ts";
import { Run } from "./run.ts";
import { viewOf } from "./view.ts";

/** Longest text of a result that is kept, in characters. */
const MAX_RESULT = 200_000;

const INTERRUPTED =
  "This host ended while the first request was on its way. It may have reached the server: look there, then start the call again.";

const TOO_OLD = "The server speaks no revision in which a call can wait; the inbox needs 2026-07-28. Nothing was sent.";

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
    if (call.saved === undefined && call.opened) return this.#end(call, "failed", INTERRUPTED);
    let client: Client;
    try {
      const { connections, options } = this.#setting;
      client = await within(options.clock, run.end.signal, [], () => connections.client(call.server));
    } catch (error) {
      if (run.end.signal.aborted) return;
      return call.saved === undefined
        ? this.#end(call, "failed", reasonText(call.server, error))
        : this.#wait(call, error, false);
    }
    if (client.getProtocolEra() !== "modern") return this.#end(call, "failed", TOO_OLD);
    let arrived = false;
    try {
      const driver = await this.#drive(call, run, this.#callsFor(call, client, run));
      await run.writes;
      arrived = true;
      await this.#arrived(call, driver, client);
    } catch (error) {
      await run.writes;
      if (run.takeAgain() || run.end.signal.aborted) return;
      // The network has no part in this: to ask again would bring the same.
      if (arrived) await this.#end(call, "failed", unkeptText(call.server, error));
      else if (run.driver?.status === "asking" && isPassing(error)) await this.#wait(call, error, !neverSent(error));
      else await this.#end(call, "failed", reasonText(call.server, error));
    }
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
      // A call that goes on as a task would be asked about for as long as it runs; it is not kept here yet.
      tasks: false,
    });
  }

  async #drive(call: PendingCall, run: Run, calls: Calls): Promise<Call> {
    const { signal } = run.end;
    if (call.saved === undefined) {
      await this.#claims.change(call.id, (one) => ({ ...one, opened: true }), true);
      const onOpen = (driver: Call): void => {
        run.driver = driver;
      };
      const params = call.params as unknown as CallParams[typeof call.method];
      return calls.open(call.method, params, { signal, onOpen, capabilities: this.#capabilities() });
    }
    const driver = calls.resume(resumable(call), { signal });
    run.driver = driver;
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
    } else if (event.type === "interim" && event.questions.length === 0 && run.driver !== undefined) {
      // Taken now: by the time it is written the driver may have moved on.
      const saved = run.driver.toJSON();
      write((call) => parked(call, saved, [], at));
    }
  }

  async #arrived(call: PendingCall, driver: Call, client: Client): Promise<void> {
    if (driver.status === "complete") return this.#complete(call, driver);
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
      const asked = parked({ ...one, ...(claimed && { claimed }) }, driver.toJSON(), driver.questions, at);
      // Before anybody waits for an answer to what nobody can be shown (B40): the error names the question.
      for (const question of asked.questions) viewOf(asked, question, this.#setting.options);
      return policy === undefined ? asked : consult(asked, policy, destructive, at);
    });
  }

  async #complete(call: PendingCall, { method, result }: Call): Promise<void> {
    const whole = renderResult(method, result as NonNullable<typeof result>);
    const text = whole.length > MAX_RESULT ? `${whole.slice(0, MAX_RESULT)} …` : whole;
    const isError = result !== undefined && "isError" in result && result.isError === true;
    const at = this.#setting.options.clock.now();
    await this.#claims.change(call.id, (one) => end(one, at, "complete", undefined, { text, isError }));
  }

  async #end(call: PendingCall, state: "failed", reason: string): Promise<void> {
    const at = this.#setting.options.clock.now();
    await this.#claims.change(call.id, (one) => end(one, at, state, reason));
  }

  /** The answers are kept: they go out again by themselves only if they certainly have not been out yet (B24). */
  async #wait(call: PendingCall, error: unknown, sent: boolean): Promise<void> {
    const { clock, retryMs } = this.#setting.options;
    const at = clock.now();
    const problem = reasonText(call.server, error);
    const pause = sent ? ({ type: "lost" } as const) : ({ type: "unreachable", at: at + retryMs } as const);
    await this.#claims.change(call.id, (one) => {
      const paused: PendingCall = { ...one, pause, problem };
      return one.pause === undefined ? withEvent(paused, at, { type: "waiting_on_server" }) : paused;
    });
  }
}

/** The call itself has no fault: the network had, or the server was too slow. */
function isPassing(error: unknown): boolean {
  return !(error instanceof ParleyError) || error.code === "leg_timeout";
}
