import { InputCancelled, InputDeclined, InvalidAnswer, ParleyError } from "../errors.ts";
import { missingCapabilities } from "../protocol/capabilities.ts";
import type { ClientCapabilities } from "../protocol/types.ts";
import { BACKGROUND_KEY } from "../replay/background.ts";
import type { Outcome, Question } from "../replay/question.ts";
import type { Asker } from "../replay/round.ts";
import { abortSignalOf, type RunSignal } from "../replay/signal.ts";
import type { Principal } from "../state/index.ts";
import { FlowPromise } from "./promise.ts";
import { checkKey, confirmQuestion, formQuestion, rootsQuestion, sampleQuestion, urlQuestion } from "./questions.ts";
import { checkProgress, waitOptions } from "./time.ts";
import type { CapabilityName, Flow, OutcomeQuestions, Progress, Recorded, StepOptions, UrlQuestion } from "./types.ts";

/** What the serving side knows about the request in hand. */
export interface FlowContext {
  readonly signal: RunSignal;
  readonly caller: Principal | null;
  readonly round: number;
  readonly callId: string;
  readonly capabilities: ClientCapabilities | undefined;
  sendProgress(progress: Progress): Promise<void>;
}

/** The author's `flow`, over one run of the engine. */
export function createFlow(asker: Asker, context: FlowContext): Flow {
  function ask<T>(key: string, question: () => Question): Promise<Outcome<T>> {
    return begin(key, () => asker.ask(question()) as Promise<Outcome<T>>);
  }

  async function askUrl(key: string, question: UrlQuestion): Promise<Outcome<void>> {
    const agreed = await ask<void>(key, () => urlQuestion(key, question));
    if (agreed.action === "accept" && question.until !== undefined) await completion(key, question, question.until);
    return agreed;
  }

  /** After consent: waits for the end of what the link leads to, under a key of its own. */
  async function completion(
    key: string,
    question: UrlQuestion,
    until: NonNullable<UrlQuestion["until"]>,
  ): Promise<void> {
    const wait = waitOptions(key, until, question);
    const { waitMs } = wait;
    if (await asker.wait(`${key}#done`, wait)) return;
    const message = `What the link of "${key}" leads to was not finished within ${waitMs} ms (waitMs).`;
    throw new ParleyError("url_incomplete", message, { details: { key, waitMs } });
  }

  const asked: OutcomeQuestions = {
    form: (key, question) => ask(key, () => formQuestion(key, question)),
    confirm: (key, message, options = {}) => ask(key, () => confirmQuestion(key, message, options)),
    url: askUrl,
    sample: (key, params, options = {}) => ask(key, () => sampleQuestion(key, params, options)),
    roots: (key, options = {}) => ask(key, () => rootsQuestion(key, options)),
  };
  const hand = <T>(key: string, promise: Promise<T>): Promise<T> => FlowPromise.of(asker, key, promise, plain);
  const handAccepted = <T>(key: string, ended: Promise<Outcome<T>>): Promise<T> =>
    FlowPromise.of(asker, key, ended, (outcome) => accepted(key, outcome));

  let lastProgress = Number.NEGATIVE_INFINITY;
  const own: OwnMembers = {
    form: (key, question) => handAccepted(key, asked.form(key, question)),
    confirm: (key, message, options) =>
      FlowPromise.of(asker, key, asked.confirm(key, message, options), (ended) => yesOrNo(key, ended)),
    url: (key, question) => handAccepted(key, asked.url(key, question)),
    sample: (key, params, options) => handAccepted(key, asked.sample(key, params, options)),
    roots: (key, options) => handAccepted(key, asked.roots(key, options)),
    step: <T>(key: string, fn: Parameters<Flow["step"]>[1], options: StepOptions = {}) => {
      const step = () => {
        checkRetry(key, options);
        return asker.step(key, fn, options.retry ?? {}) as Promise<Recorded<T>>;
      };
      return hand(key, begin(key, step));
    },
    until: (key, done, options = {}) =>
      hand(
        key,
        begin(key, () => asker.wait(key, waitOptions(key, done, options))),
      ),
    background: (options = {}) =>
      hand(
        BACKGROUND_KEY,
        begin(BACKGROUND_KEY, () => asker.background(options)),
      ),
    supports: (capability) => supports(context.capabilities, capability),
    progress: (progress) => {
      if (asker.over) return Promise.resolve();
      // Thrown and not rejected: few await a report, and one that is wrong must not go unseen.
      checkProgress(progress);
      // Values grow within a leg, and nothing follows its result (I2). A replayed flow reports anew, on a new leg.
      if (progress.progress <= lastProgress) return Promise.resolve();
      lastProgress = progress.progress;
      return context.sendProgress(progress);
    },
  };
  return new AuthorFlow(own, context, () => ({
    form: (key, question) => hand(key, asked.form(key, question)),
    confirm: (key, message, options) => hand(key, asked.confirm(key, message, options)),
    url: (key, question) => hand(key, asked.url(key, question)),
    sample: (key, params, options) => hand(key, asked.sample(key, params, options)),
    roots: (key, options) => hand(key, asked.roots(key, options)),
  }));
}

/** A malformed question or step rejects, instead of throwing in the middle of a Promise.all list. */
function begin<T>(key: string, operation: () => Promise<T>): Promise<T> {
  try {
    checkKey(key);
    return operation();
  } catch (error) {
    return Promise.reject(error);
  }
}

type OwnMembers = Pick<
  Flow,
  "form" | "confirm" | "url" | "sample" | "roots" | "step" | "until" | "background" | "supports" | "progress"
>;

/** A class for its getters: what few flows ask for is made when it is asked for. */
class AuthorFlow implements Flow {
  readonly form: Flow["form"];
  readonly confirm: Flow["confirm"];
  readonly url: Flow["url"];
  readonly sample: Flow["sample"];
  readonly roots: Flow["roots"];
  readonly step: Flow["step"];
  readonly until: Flow["until"];
  readonly background: Flow["background"];
  readonly supports: Flow["supports"];
  readonly progress: Flow["progress"];
  readonly caller: Principal | null;
  readonly round: number;
  readonly callId: string;
  readonly #signal: RunSignal;
  readonly #makeOutcome: () => OutcomeQuestions;
  #outcome: OutcomeQuestions | undefined;

  constructor(own: OwnMembers, { signal, caller, round, callId }: FlowContext, makeOutcome: () => OutcomeQuestions) {
    this.form = own.form;
    this.confirm = own.confirm;
    this.url = own.url;
    this.sample = own.sample;
    this.roots = own.roots;
    this.step = own.step;
    this.until = own.until;
    this.background = own.background;
    this.supports = own.supports;
    this.progress = own.progress;
    this.caller = caller;
    this.round = round;
    this.callId = callId;
    this.#signal = signal;
    this.#makeOutcome = makeOutcome;
  }

  get signal(): AbortSignal {
    return abortSignalOf(this.#signal);
  }

  get outcome(): OutcomeQuestions {
    this.#outcome ??= this.#makeOutcome();
    return this.#outcome;
  }
}

/** A value as it is. */
const plain = <T>(value: T): T => value;

function yesOrNo(key: string, ended: Outcome<boolean>): boolean {
  if (ended.action === "invalid") throw new InvalidAnswer(key, ended.reason);
  return ended.action === "accept" && ended.value;
}

function accepted<T>(key: string, ended: Outcome<T>): T {
  switch (ended.action) {
    case "accept":
      return ended.value;
    case "decline":
      throw new InputDeclined(key);
    case "cancel":
      throw new InputCancelled(key);
    case "invalid":
      throw new InvalidAnswer(key, ended.reason);
  }
}

function supports(declared: ClientCapabilities | undefined, name: CapabilityName): boolean {
  const [top, member] = name.split(".") as [keyof ClientCapabilities, string | undefined];
  const required = { [top]: member === undefined ? {} : { [member]: {} } };
  return missingCapabilities(required, declared) === undefined;
}

function checkRetry(key: string, { retry = {} }: StepOptions): void {
  const { attempts = 1, delayMs = 0, factor = 1 } = retry;
  if (!Number.isSafeInteger(attempts) || attempts < 1 || !(delayMs >= 0) || !(factor >= 1)) {
    throw new ParleyError("configuration", `Step "${key}": retry needs attempts >= 1, delayMs >= 0 and factor >= 1.`, {
      details: { key },
    });
  }
}
