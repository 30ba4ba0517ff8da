import type { ParleyError } from "../errors.ts";
import type { AnswerEntry, Entry, Pending } from "../journal/entry.ts";
import { missingCapabilities, requiredCapabilities } from "../protocol/capabilities.ts";
import type { ClientCapabilities, Json } from "../protocol/types.ts";
import { type Ruling, rule } from "./answering.ts";
import { shortText } from "./complaint.ts";
import { questionUnstable, unwritable } from "./divergence.ts";
import { type Asked, pauseWith } from "./pause.ts";
import type { Outcome, Question } from "./question.ts";
import type { Deps, RunInput, RunOutcome } from "./types.ts";

/** What questions need from the run they belong to. */
export interface AskingHost {
  /** Hands what is recorded at this place to the flow, in its turn. */
  replay(at: number, release: () => void): void;
  /** Enters an answer in a place of its own, or in the one it had (`at`), and hands it to the flow. */
  enter(entry: Entry, release: () => void, at: number | undefined): void;
  /** Enters an answer, and hands it to the flow once it is on record. */
  settle(entry: Entry, release: () => void): Promise<void>;
  /** Keeps the place of an answer that no longer counts. */
  empty(at: number, entry: AnswerEntry): void;
  isOver(): boolean;
  fail(error: ParleyError): void;
  threw(error: unknown): void;
  finish(end: RunOutcome<never>): void;
  touch(): void;
}

/** A question that the flow has asked in this run. */
export interface PutQuestion {
  readonly question: Question;
  /** What is recorded under its key, and where. */
  readonly recorded: AnswerEntry | undefined;
  readonly at: number | undefined;
  settle(outcome: Outcome<unknown>): void;
  refuse(error: unknown): void;
}

interface Open extends Asked {
  readonly put: PutQuestion;
  readonly digest: string;
}

/** The questions of one run: answered from the journal, by this round's answers, or left open. */
export class Questions {
  readonly #input: RunInput;
  readonly #deps: Deps;
  readonly #host: AskingHost;
  readonly #before: Map<string, Pending>;
  readonly #open = new Map<string, Open>();
  readonly #missing: ClientCapabilities[] = [];
  #responses: Readonly<Record<string, unknown>>;
  /** Answers being checked by an asynchronous validator or put on record, and questions being shown. */
  #busy = 0;
  /** What is open is not what was last shown. */
  #unseen = false;

  constructor(input: RunInput, deps: Deps, host: AskingHost) {
    this.#input = input;
    this.#deps = deps;
    this.#host = host;
    this.#before = new Map(input.pending.map((pending) => [pending.key, pending]));
    this.#responses = input.responses;
  }

  get open(): ReadonlyMap<string, Asked> {
    return this.#open;
  }

  get busy(): boolean {
    return this.#busy > 0;
  }

  /** Nothing that the client did not declare can be asked of it (A13). */
  get missing(): number {
    return this.#missing.length;
  }

  /** What was out under `key` before this run. */
  before(key: string): Pending | undefined {
    return this.#before.get(key);
  }

  lacks(missing: ClientCapabilities): void {
    this.#missing.push(missing);
  }

  put(put: PutQuestion): void {
    const { question, recorded } = put;
    let digest: string;
    try {
      const { method, params } = question.request;
      digest = this.#deps.digest({ method, params: (params ?? null) as Json });
    } catch (cause) {
      put.refuse(unwritable(question.key, cause));
      return;
    }
    const response = Object.hasOwn(this.#responses, question.key) ? this.#responses[question.key] : undefined;
    const evidence = { digest, recorded, before: this.#before.get(question.key), response };
    this.#whenRuled(rule(question, evidence, this.#input.limits), (ruling) => this.#apply(ruling, put, digest));
  }

  /** Takes answers that came while the run goes on: to what is open now, and to what the flow has yet to ask again. */
  take(responses: Readonly<Record<string, unknown>>): void {
    this.#responses = { ...this.#responses, ...responses };
    for (const [key, response] of Object.entries(responses)) {
      const open = this.#open.get(key);
      if (open === undefined) continue;
      const { put, digest, pending } = open;
      const evidence = { digest, recorded: undefined, before: pending, response };
      this.#whenRuled(rule(put.question, evidence, this.#input.limits), (ruling) => this.#apply(ruling, put, digest));
    }
    this.#host.touch();
  }

  /** Lets what is open be seen, and answered, while something else of the flow goes on. */
  show(waits: readonly Pending[]): void {
    const { live, signal } = this.#input;
    if (live === undefined || !this.#unseen || this.busy || this.missing > 0 || signal.aborted) return;
    this.#unseen = false;
    const asking = this.pause(waits, []);
    if (asking.kind === "asking") this.#during(live.show(asking));
    else this.#host.finish(asking);
  }

  pause(waits: readonly Pending[], journal: Entry[]): RunOutcome<never> {
    return pauseWith(this.#open, waits, this.#missing, journal, this.#input.limits.questions);
  }

  /** An asynchronous validator keeps the run from pausing meanwhile. */
  #whenRuled(ruling: Ruling | Promise<Ruling>, then: (ruling: Ruling) => void): void {
    if (!(ruling instanceof Promise)) {
      then(ruling);
      return;
    }
    const ruled = ruling.then(
      (late) => {
        if (!this.#host.isOver()) then(late);
      },
      (error: unknown) => this.#host.threw(error),
    );
    this.#during(ruled);
  }

  #during(work: Promise<void>): void {
    this.#busy++;
    work
      .catch((error: ParleyError) => this.#host.fail(error))
      .finally(() => {
        this.#busy--;
        this.#host.touch();
      });
  }

  #apply(ruling: Ruling, put: PutQuestion, digest: string): void {
    const { question, at, settle } = put;
    const { key, kind, request } = question;
    switch (ruling.type) {
      case "replayed":
        this.#host.replay(at as number, () => settle(ruling.outcome));
        return;
      case "answered": {
        this.#open.delete(key);
        const entry: AnswerEntry = { type: "answer", key, kind, digest, ...ruling.entry };
        const release = () => settle(ruling.outcome);
        // Another attempt at a task's run may find more answers than this one did: which of them came first must be on
        // record. One that has its place has its turn.
        if (this.#input.live !== undefined && at === undefined) this.#during(this.#host.settle(entry, release));
        else this.#host.enter(entry, release, at);
        return;
      }
      case "unstable":
        this.#host.fail(questionUnstable(key, this.#before.get(key)?.previous, shortText(request)));
        return;
      case "open":
        this.#hold(put, digest, ruling);
    }
  }

  /** Leaves the question open. A recorded answer that no longer counts keeps its place, emptied. */
  #hold(put: PutQuestion, digest: string, { changed, complaint, history }: Ruling & { type: "open" }): void {
    const { key, kind, request } = put.question;
    const { capabilities, onEvent } = this.#input;
    if (put.at !== undefined) this.#host.empty(put.at, { type: "answer", key, kind, digest, settled: null });
    if (changed) onEvent({ type: "asked_again", key, reason: "changed" });
    if (complaint !== undefined) onEvent({ type: "asked_again", key, reason: "invalid", detail: complaint });
    const missing = capabilities && missingCapabilities(requiredCapabilities(request), capabilities);
    if (missing !== undefined) this.#missing.push(missing);
    const previous = history.changes > 0 ? { previous: shortText(request) } : {};
    const pending: Pending = { key, kind, digest, ...history, ...previous };
    this.#open.set(key, { put, digest, request, pending, complaint });
    this.#unseen = true;
  }
}
