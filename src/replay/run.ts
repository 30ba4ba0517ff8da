import type { ParleyError } from "../errors.ts";
import { type Entry, type Pending, withoutVoids } from "../journal/entry.ts";
import { missingCapabilities, requiredCapabilities } from "../protocol/capabilities.ts";
import type { ClientCapabilities, Json } from "../protocol/types.ts";
import { Activities, type Settler, settleStep } from "./activities.ts";
import { type Ruling, rule } from "./answering.ts";
import { BACKGROUND_KEY, handedOver, nowhereToRun, TASKS_MISSING, twiceInBackground } from "./background.ts";
import { shortText } from "./complaint.ts";
import {
  duplicateKey,
  insideStep,
  leftBehind,
  otherKind,
  questionUnstable,
  unawaited,
  unwritable,
} from "./divergence.ts";
import { type Asked, pauseWith } from "./pause.ts";
import type { Outcome, Question } from "./question.ts";
import { ReleaseOrder } from "./release.ts";
import { abortSignalOf } from "./signal.ts";
import type { StepFunction } from "./step.ts";
import type { BackgroundOptions, Deps, RetryOptions, RunInput, RunOutcome, WaitOptions } from "./types.ts";

type Operation = "step" | "wait" | "background";
type Settle = (outcome: Outcome<unknown>) => void;

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
  readonly #before: Map<string, Pending>;
  readonly #order: ReleaseOrder;
  readonly #asked = new Set<string>();
  readonly #awaited = new Set<string>();
  readonly #open = new Map<string, Asked>();
  readonly #activities: Activities;
  readonly #missing: ClientCapabilities[] = [];
  #handOver: BackgroundOptions | undefined;
  #end: RunOutcome<R> | undefined;
  /** Answers being checked by an asynchronous validator. */
  #checking = 0;
  /** Something settled in this very run. */
  #fresh = false;
  #activity = 0;
  #wake: (() => void) | undefined;
  #wakeAtEnd: (() => void) | undefined;

  constructor(input: RunInput, deps: Deps) {
    this.#input = input;
    this.#deps = deps;
    this.#journal = [...input.journal];
    for (const [index, entry] of this.#journal.entries()) this.#position.set(entry.key, index);
    this.#before = new Map(input.pending.map((pending) => [pending.key, pending]));
    this.#order = new ReleaseOrder(
      (callback) => deps.afterMicrotasks(callback),
      () => this.#released(),
    );
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
    // Begun before the first turn, so that its first questions need no second one.
    begun(flow).then(
      (value) => this.#returned(value),
      (error: unknown) => this.#finish({ kind: "threw", error }),
    );
    return this.#watch();
  }

  readonly #abort = (): void => {
    // Steps that run are let to end when they are recorded: their effects are on the way.
    if (this.#input.record === undefined) this.#finish({ kind: "aborted" });
    this.#touch();
  };

  /** Asks: from the journal, from this round's answers, or by leaving the promise pending. */
  ask(question: Question): Promise<Outcome<unknown>> {
    return new Promise((settle, refuse) => {
      if (!this.#use(question.key, "question")) return;
      const at = this.#position.get(question.key);
      const entry = at === undefined ? undefined : this.#journal[at];
      if (entry !== undefined && (entry.type === "step" || entry.kind !== question.kind)) {
        this.#fail(otherKind(entry, question.kind, this.#input.journal, [...this.#asked]));
        return;
      }
      let digest: string;
      try {
        const { method, params } = question.request;
        digest = this.#deps.digest({ method, params: (params ?? null) as Json });
      } catch (cause) {
        refuse(unwritable(question.key, cause));
        return;
      }
      const { responses, limits } = this.#input;
      const response = Object.hasOwn(responses, question.key) ? responses[question.key] : undefined;
      const evidence = { digest, recorded: entry, before: this.#before.get(question.key), response };
      this.#whenRuled(rule(question, evidence, limits), (ruling) => this.#apply(ruling, question, digest, at, settle));
    });
  }

  /** Returns the recorded end of a step, or runs it once everything recorded has been replayed. */
  step(key: string, fn: StepFunction, retry: RetryOptions): Promise<Json | undefined> {
    return this.#perform(key, "step", (settler) => this.#activities.step(key, fn, retry, settler));
  }

  /** Waits for something that ends elsewhere: `true` when it is done, `false` when the time is up. */
  async wait(key: string, options: WaitOptions): Promise<boolean> {
    const sinceMs = this.#before.get(key)?.sinceMs ?? this.#deps.now();
    const pollMs = Math.min(options.pollMs, this.#input.longestWaitMs ?? Number.POSITIVE_INFINITY);
    const own = { ...options, pollMs };
    const done = this.#perform(key, "wait", (settler) => this.#activities.wait(key, own, sinceMs, settler));
    return (await done) === true;
  }

  async background(options: BackgroundOptions): Promise<boolean> {
    if (this.#asked.has(BACKGROUND_KEY)) this.#fail(twiceInBackground());
    const place = this.#input.background ?? "unsupported";
    const inTask = this.#perform(BACKGROUND_KEY, "background", (settler) => {
      if (place === "available") this.#handOver = options;
      else if (place === "here") this.#activities.note(BACKGROUND_KEY, true, settler);
      else if (options.otherwise === "foreground") this.#activities.note(BACKGROUND_KEY, false, settler);
      else if (place === "undeclared") this.#missing.push(TASKS_MISSING);
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

  /** An asynchronous validator keeps the run from pausing meanwhile. */
  #whenRuled(ruling: Ruling | Promise<Ruling>, then: (ruling: Ruling) => void): void {
    if (!(ruling instanceof Promise)) {
      then(ruling);
      return;
    }
    this.#checking++;
    ruling
      .then((late) => {
        if (this.#end === undefined) then(late);
      })
      .catch((error: unknown) => this.#finish({ kind: "threw", error }))
      .finally(() => {
        this.#checking--;
        this.#touch();
      });
  }

  #apply(ruling: Ruling, question: Question, digest: string, at: number | undefined, settle: Settle): void {
    const { key, kind, request } = question;
    switch (ruling.type) {
      case "replayed":
        this.#order.arrive(at as number, () => settle(ruling.outcome));
        return;
      case "answered":
        at = this.#enter({ type: "answer", key, kind, digest, ...ruling.entry }, at);
        this.#order.arrive(at, () => settle(ruling.outcome));
        return;
      case "unstable":
        this.#fail(questionUnstable(key, this.#before.get(key)?.previous, shortText(request)));
        return;
      case "open":
        this.#hold(question, digest, at, ruling);
    }
  }

  /** Leaves the question open. A recorded answer that no longer counts keeps its place, emptied. */
  #hold(question: Question, digest: string, at: number | undefined, ruling: Ruling & { type: "open" }): void {
    const { key, kind, request } = question;
    const { changed, complaint, history } = ruling;
    if (at !== undefined) this.#journal[at] = { type: "answer", key, kind, digest, settled: null };
    if (changed) this.#input.onEvent({ type: "asked_again", key, reason: "changed" });
    if (complaint !== undefined)
      this.#input.onEvent({ type: "asked_again", key, reason: "invalid", detail: complaint });
    const missing =
      this.#input.capabilities && missingCapabilities(requiredCapabilities(request), this.#input.capabilities);
    if (missing !== undefined) this.#missing.push(missing);
    const previous = history.changes > 0 ? { previous: shortText(request) } : {};
    this.#open.set(key, { request, pending: { key, kind, digest, ...history, ...previous }, complaint });
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

  /** New steps run once all that is recorded has been replayed, and never in a round that must fail anyway (A13). */
  #mayStart(): boolean {
    return this.#order.next === this.#journal.length && this.#missing.length === 0 && !this.#input.signal.aborted;
  }

  #returned(value: R): void {
    if (this.#end !== undefined) return;
    for (const key of this.#activities.running) this.#input.onEvent({ type: "unawaited_step", key });
    // One that was awaited may have lost a race. One that never was has decided nothing, and nobody was asked.
    for (const key of this.#open.keys()) {
      if (this.#awaited.has(key)) this.#input.onEvent({ type: "unawaited_question", key });
      else this.#fail(unawaited(key));
    }
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

  /** Waits for the end, or for the moment when the flow cannot go on (design rule 3). */
  async #watch(): Promise<RunOutcome<R>> {
    let graceSpentAt = -1;
    while (this.#end === undefined) {
      const seen = this.#activity;
      await this.#turn();
      if (this.#end !== undefined || this.#activity !== seen) continue;
      if (this.#input.signal.aborted && this.#activities.running.size === 0) {
        this.#finish({ kind: "aborted" });
      } else if (this.#activities.running.size > 0 || this.#checking > 0 || this.#order.busy) {
        await this.#progress();
      } else if (this.#input.replay === "every-step" && this.#fresh) {
        this.#finish({ kind: "settled", journal: withoutVoids(this.#journal, this.#input.journal) });
      } else if (this.#stuckInReplay()) {
        if (graceSpentAt === seen)
          this.#fail(leftBehind(this.#unasked(Infinity), this.#input.journal, [...this.#asked]));
        graceSpentAt = seen;
        const { divergenceGraceMs } = this.#input.limits;
        await Promise.race([this.#progress(), this.#deps.sleep(divergenceGraceMs, abortSignalOf(this.#input.signal))]);
      } else if (this.#handOver !== undefined && this.#open.size + this.#missing.length === 0) {
        this.#finish(handedOver(this.#handOver, this.#journal, this.#activities.waits));
      } else if (this.#open.size + this.#activities.waits.length + this.#missing.length > 0) {
        this.#finish(
          pauseWith(this.#open, this.#activities.waits, this.#missing, this.#journal, this.#input.limits.questions),
        );
      } else {
        await this.#progress();
      }
    }
    return this.#end;
  }

  /** Something recorded has not been asked for again, and something else waits for it. */
  #stuckInReplay(): boolean {
    const entry = this.#journal[this.#order.next];
    // A question that is asked again keeps what is recorded behind it waiting, and that is as it should be.
    if (entry === undefined || (entry.type === "answer" && entry.settled === null && this.#open.has(entry.key))) {
      return false;
    }
    return this.#order.waiting > 0 || this.#activities.held > 0 || this.#open.size + this.#activities.waits.length > 0;
  }
}

/** A flow that has no await throws at once. */
async function begun<R>(flow: () => R | Promise<R>): Promise<R> {
  return flow();
}
