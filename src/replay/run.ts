import type { ParleyError } from "../errors.ts";
import { type Entry, withoutVoids } from "../journal/entry.ts";
import type { Json } from "../protocol/types.ts";
import { Activities, type Settler, settleStep } from "./activities.ts";
import { Questions } from "./asking.ts";
import {
  BACKGROUND_KEY,
  backgroundUnawaited,
  checkBackground,
  handedOver,
  nowhereToRun,
  TASKS_MISSING,
  twiceInBackground,
} from "./background.ts";
import { duplicateKey, insideStep, leftBehind, otherKind, unawaited } from "./divergence.ts";
import type { Outcome, Question } from "./question.ts";
import { ReleaseOrder } from "./release.ts";
import { abortSignalOf } from "./signal.ts";
import type { StepFunction } from "./step.ts";
import type { BackgroundOptions, Deps, RetryOptions, RunInput, RunOutcome, WaitOptions } from "./types.ts";
import { type Standing, type Watched, watch } from "./watch.ts";

type Operation = "step" | "wait" | "background";

/**
 * One run of a flow from the top: replays what the journal holds, takes the answers this round brought, runs new steps,
 * and stops when the flow ends or cannot go on.
 *
 * A question without an answer is a promise that never settles. Nothing is thrown to suspend, so no `catch` of an
 * author's can swallow a suspension; when the run is over its frames are unreachable and are collected.
 */
export class Run<R> {
  readonly #input: RunInput;
  readonly #deps: Deps;
  readonly #journal: Entry[];
  readonly #position = new Map<string, number>();
  readonly #order: ReleaseOrder;
  readonly #asked = new Set<string>();
  readonly #awaited = new Set<string>();
  readonly #questions: Questions;
  readonly #activities: Activities;
  #handOver: BackgroundOptions | undefined;
  #end: RunOutcome<R> | undefined;
  /** Something settled in this very run. */
  #fresh = false;
  #activity = 0;
  #unlisten: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #wakeAtEnd: (() => void) | undefined;

  constructor(input: RunInput, deps: Deps) {
    this.#input = input;
    this.#deps = deps;
    this.#journal = [...input.journal];
    for (const [index, entry] of this.#journal.entries()) this.#position.set(entry.key, index);
    this.#order = new ReleaseOrder(
      (callback) => deps.afterMicrotasks(callback),
      () => this.#released(),
    );
    this.#questions = new Questions(input, deps, {
      replay: (at, release) => this.#order.arrive(at, release),
      enter: (entry, release, at) => this.#order.arrive(this.#enter(entry, at), release),
      settle: (entry, release) => this.#settleRecorded(entry, release),
      empty: (at, entry) => {
        this.#journal[at] = entry;
      },
      isOver: () => this.#end !== undefined,
      fail: (error) => this.#fail(error),
      threw: (error) => this.#finish({ kind: "threw", error }),
      finish: (end) => this.#finish(end),
      touch: () => this.#touch(),
    });
    this.#activities = new Activities(input, deps, {
      mayStart: () => this.#mayStart(),
      isOver: () => this.#end !== undefined,
      settle: (entry, release) => this.#settleRecorded(entry, release),
      fail: (error) => this.#fail(error),
      touch: () => this.#touch(),
    });
  }

  /** Runs `flow` until it ends, fails, or waits for answers. */
  start(flow: () => R | Promise<R>): Promise<RunOutcome<R>> {
    const { signal } = this.#input;
    if (signal.aborted) return Promise.resolve({ kind: "aborted" });
    signal.addEventListener("abort", this.#abort, { once: true });
    this.#unlisten = this.#input.live?.listen((responses) => this.#questions.take(responses));
    // Begun before the first turn, so that its first questions need no second one.
    begun(flow).then(
      (value) => this.#returned(value),
      (error: unknown) => this.#finish({ kind: "threw", error }),
    );
    return watch(this.#watched(), () => this.#turn());
  }

  readonly #abort = (): void => {
    // Steps that run are let to end when they are recorded: their effects are on the way.
    if (this.#input.record === undefined) this.#finish({ kind: "aborted" });
    this.#touch();
  };

  /** Asks: from the journal, from the answers at hand, or by leaving the promise pending. */
  ask(question: Question): Promise<Outcome<unknown>> {
    return new Promise((settle, refuse) => {
      if (!this.#use(question.key, "question")) return;
      const at = this.#position.get(question.key);
      const recorded = at === undefined ? undefined : this.#journal[at];
      if (recorded === undefined || (recorded.type === "answer" && recorded.kind === question.kind)) {
        this.#questions.put({ question, recorded, at, settle, refuse });
      } else this.#fail(otherKind(recorded, question.kind, this.#input.journal, [...this.#asked]));
    });
  }

  /** Returns the recorded end of a step, or runs it once everything recorded has been replayed. */
  step(key: string, fn: StepFunction, retry: RetryOptions): Promise<Json | undefined> {
    return this.#perform(key, "step", (settler) => this.#activities.step(key, fn, retry, settler));
  }

  /** Waits for something that ends elsewhere: `true` when it is done, `false` when the time is up. */
  async wait(key: string, options: WaitOptions): Promise<boolean> {
    const sinceMs = this.#questions.before(key)?.sinceMs ?? this.#deps.now();
    const pollMs = Math.min(options.pollMs, this.#input.longestWaitMs ?? Number.POSITIVE_INFINITY);
    const own = { ...options, pollMs };
    const done = this.#perform(key, "wait", (settler) => this.#activities.wait(key, own, sinceMs, settler));
    return (await done) === true;
  }

  async background(options: BackgroundOptions): Promise<boolean> {
    if (this.#asked.has(BACKGROUND_KEY)) this.#fail(twiceInBackground());
    const place = this.#input.background ?? "unsupported";
    const inTask = this.#perform(BACKGROUND_KEY, "background", (settler) => {
      // In here, where it is known to have been asked for: one that nobody awaits must not be refused unheard.
      checkBackground(options);
      if (place === "available") this.#handOver = options;
      else if (place === "here") this.#activities.note(BACKGROUND_KEY, true, settler);
      else if (options.otherwise === "foreground") this.#activities.note(BACKGROUND_KEY, false, settler);
      else if (place === "undeclared") this.#questions.lacks(TASKS_MISSING);
      else this.#fail(nowhereToRun());
    });
    return (await inTask) === true;
  }

  awaited(key: string): void {
    this.#awaited.add(key);
  }

  get over(): boolean {
    return this.#end !== undefined;
  }

  get replaying(): boolean {
    return this.#order.next < this.#input.journal.length;
  }

  #perform(key: string, operation: Operation, begin: (settler: Settler) => void): Promise<Json | undefined> {
    return new Promise((resolve, reject) => {
      if (!this.#use(key, operation)) return;
      const at = this.#position.get(key);
      const entry = at === undefined ? undefined : this.#journal[at];
      if (at === undefined || entry === undefined) begin({ resolve, reject });
      else if (entry.type === "step") this.#order.arrive(at, () => settleStep(entry, undefined, { resolve, reject }));
      else this.#fail(otherKind(entry, operation, this.#input.journal, [...this.#asked]));
    });
  }

  /** Registers a key, at call time and before any await, so that serial and concurrent authoring record alike. */
  #use(key: string, operation: Operation | "question"): boolean {
    if (this.#end !== undefined) {
      this.#input.onEvent({ type: "stray", key, operation });
      return false;
    }
    const inside = this.#deps.currentStep();
    if (inside !== undefined || this.#asked.has(key)) {
      this.#fail(inside === undefined ? duplicateKey(key) : insideStep(key, operation, inside));
      return false;
    }
    this.#asked.add(key);
    this.#touch();
    return true;
  }

  /** Its place is taken at once and what settles later waits behind it, so that the order on record is the flow's. */
  async #settleRecorded(entry: Entry, release: () => void): Promise<void> {
    const index = this.#enter(entry);
    await this.#input.record?.write(this.#journal);
    this.#order.arrive(index, release);
  }

  #enter(entry: Entry, index = this.#journal.length): number {
    this.#journal[index] = entry;
    this.#touch();
    // While other steps run, the flow goes on as it would: holding it up would change who wins a race.
    const others = [...this.#activities.running].some((key) => key !== entry.key);
    if (this.#input.replay === "every-step" && !others) this.#order.holdFrom(index);
    this.#fresh = true;
    return index;
  }

  #released(): void {
    this.#touch();
    this.#activities.start();
  }

  /**
   * New steps run once all that is recorded has been replayed, and never in a round that must fail anyway (A13), nor in one
   * that hands over: they are the task's.
   */
  #mayStart(): boolean {
    const replayed = this.#order.next === this.#journal.length && this.#handOver === undefined;
    return replayed && this.#questions.missing === 0 && !this.#input.signal.aborted;
  }

  #returned(value: R): void {
    const background = this.#asked.has(BACKGROUND_KEY) ? [BACKGROUND_KEY] : [];
    const loose = new Set([...this.#questions.open.keys(), ...background].filter((key) => !this.#awaited.has(key)));
    // An `await` takes a microtask to look after what it is given: one that just lost a race may be between the two.
    if (loose.size > 0) Promise.resolve().then(() => this.#conclude(value, loose));
    else this.#conclude(value, loose);
  }

  #conclude(value: R, loose: ReadonlySet<string>): void {
    if (this.#end !== undefined) return;
    for (const key of this.#activities.running) this.#input.onEvent({ type: "unawaited_step", key });
    // One that was awaited may have lost a race. One that never was has decided nothing, and nobody was asked.
    for (const key of this.#questions.open.keys()) {
      if (this.#awaited.has(key) || !loose.has(key)) this.#input.onEvent({ type: "unawaited_question", key });
      else this.#fail(unawaited(key));
    }
    if (loose.has(BACKGROUND_KEY) && !this.#awaited.has(BACKGROUND_KEY)) this.#fail(backgroundUnawaited());
    const missing = this.#unasked(this.#input.journal.length);
    if (missing.length > 0) this.#fail(leftBehind(missing, this.#input.journal, [...this.#asked]));
    else this.#finish({ kind: "returned", value });
  }

  #unasked(upTo: number): string[] {
    return this.#input.journal.slice(0, upTo).flatMap(({ key }) => (this.#asked.has(key) ? [] : [key]));
  }

  #fail(error: ParleyError): void {
    this.#finish({ kind: "failed", error });
  }

  #finish(end: RunOutcome<R>): void {
    if (this.#end !== undefined) return;
    this.#end = end;
    this.#order.stop();
    this.#input.signal.removeEventListener("abort", this.#abort);
    // What comes from now on is for the next run.
    this.#unlisten?.();
    this.#touch();
    this.#wakeAtEnd?.();
  }

  #touch(): void {
    this.#activity++;
    this.#wake?.();
  }

  #progress(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
    });
  }

  /** One turn of the event loop, or less when the run ends in it. */
  #turn(): Promise<void> {
    return new Promise((resolve) => {
      this.#wakeAtEnd = resolve;
      this.#deps.turn(resolve);
    });
  }

  #watched(): Watched<R> {
    const run = this;
    const { limits, signal } = this.#input;
    return {
      get end() {
        return run.#end;
      },
      get activity() {
        return run.#activity;
      },
      standing: () => this.#standing(),
      progress: () => this.#progress(),
      show: () => this.#questions.show(this.#activities.waits),
      grace: () => this.#deps.sleep(limits.divergenceGraceMs, abortSignalOf(signal)),
      finish: (end) => this.#finish(end),
      diverged: () =>
        this.#fail(leftBehind(this.#unasked(Number.POSITIVE_INFINITY), this.#input.journal, [...this.#asked])),
    };
  }

  #standing(): Standing<R> {
    const { running, waits } = this.#activities;
    if (this.#input.signal.aborted && running.size === 0) return { kind: "aborted" };
    if (running.size > 0 || this.#questions.busy || this.#order.busy) return "busy";
    if (this.#input.replay === "every-step" && this.#fresh) {
      return { kind: "settled", journal: withoutVoids(this.#journal, this.#input.journal) };
    }
    // By now an `await` would have been heard of: the flow has gone on, and what it waits for is for the task to do.
    if (this.#handOver !== undefined && !this.#awaited.has(BACKGROUND_KEY)) {
      return { kind: "failed", error: backgroundUnawaited() };
    }
    if (this.#stuckInReplay()) return "stuck";
    const asking = this.#questions.open.size + this.#questions.missing;
    if (this.#handOver !== undefined && asking === 0) return handedOver(this.#handOver, this.#journal, waits);
    return asking + waits.length > 0 ? this.#questions.pause(waits, this.#journal) : "idle";
  }

  /** Something recorded has not been asked for again, and something else waits for it. */
  #stuckInReplay(): boolean {
    const entry = this.#journal[this.#order.next];
    // A question that is asked again keeps what is recorded behind it waiting, and that is as it should be.
    if (
      entry === undefined ||
      (entry.type === "answer" && entry.settled === null && this.#questions.open.has(entry.key))
    ) {
      return false;
    }
    return (
      this.#order.waiting > 0 ||
      this.#activities.held > 0 ||
      this.#questions.open.size + this.#activities.waits.length > 0
    );
  }
}

/** A flow that has no await throws at once. */
async function begun<R>(flow: () => R | Promise<R>): Promise<R> {
  return flow();
}
