import type { StandardSchemaWithJSON } from "@modelcontextprotocol/server";
import type { FormValue } from "../protocol/form/index.ts";
import type { FormSchema, Json, Root, SamplingParams, SamplingResult } from "../protocol/types.ts";
import type { Outcome } from "../replay/question.ts";
import type { BackgroundOptions, RetryOptions, StepContext } from "../replay/types.ts";
import type { Principal } from "../state/index.ts";

/** A form's schema: any Standard Schema with a JSON Schema form (zod, valibot, arktype), or the wire schema itself. */
export type FormSchemaInput = StandardSchemaWithJSON | FormSchema;

export interface AskOptions {
  /**
   * `"accept"`: take an answer even when no state proves that this question was asked, for instance on a first call.
   * Only for questions that grant nothing: anyone who can call the tool can send such an answer (C24).
   */
  readonly unsolicited?: "accept";
}

export interface FormQuestion<S extends FormSchemaInput> extends AskOptions {
  /** Why you ask (D3). Shown to a person; plain text. */
  readonly message: string;
  /** Flat, primitive properties only (D4 to D12). Refused before anything is sent, with the property and the rule. */
  readonly schema: S;
  /** Property names that look like a secret and are none. Real secrets go through `url` (D14). */
  readonly allowSecretLooking?: readonly string[];
}

export interface ConfirmOptions extends AskOptions {
  /** Label of the one box to tick. Default "Yes". It is never ticked in advance (F2). */
  readonly label?: string;
}

export interface UrlQuestion extends AskOptions {
  readonly message: string;
  /** `https:`, or `http:` on loopback (E4). No user data and nothing pre-authenticated in it (E2, E3). */
  readonly url: string;
  /**
   * Whether what the link leads to is finished. With it, `flow.url` also waits for the end after consent, by rounds that
   * ask nothing (E11, E12), and rejects with `url_incomplete` when `waitMs` is over.
   */
  readonly until?: (signal: AbortSignal) => boolean | Promise<boolean>;
  /** With `until`: time in all, in ms. Default 600,000. */
  readonly waitMs?: number;
  /**
   * With `until`: how long one round may wait before it answers "still waiting", in ms. Default 25,000: clients give up
   * a request after a minute, and a call after 10 to 25 rounds.
   */
  readonly pollMs?: number;
  /** With `until`: pause between two looks, in ms. Default 500. */
  readonly everyMs?: number;
}

export interface UntilOptions {
  /** Time in all, in ms. Default 600,000. */
  readonly waitMs?: number;
  /** How long one round may wait before it answers "still waiting", in ms. Default 25,000. A task waits in no process. */
  readonly pollMs?: number;
  /** Pause between two looks within a round, in ms. Default 500. */
  readonly everyMs?: number;
}

export interface StepOptions {
  readonly retry?: RetryOptions;
}

/** What reads back from JSON when a `T` was written: dates become strings, functions do not pass. */
export type Recorded<T> = T extends { toJSON(...args: never[]): infer J }
  ? Recorded<J>
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends (...args: never[]) => unknown
      ? never
      : T extends object
        ? { [K in keyof T]: Recorded<T[K]> }
        : unknown extends T
          ? Json
          : never;

export interface Progress {
  /** Must grow within a round (I2). */
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** A capability an author may branch on; nested names as on the wire. */
export type CapabilityName =
  | "elicitation"
  | "elicitation.form"
  | "elicitation.url"
  | "sampling"
  | "sampling.tools"
  | "roots";

/** The questions, each returning how it ended instead of throwing. */
export interface OutcomeQuestions {
  form<const S extends FormSchemaInput>(key: string, question: FormQuestion<S>): Promise<Outcome<FormValue<S>>>;
  confirm(key: string, message: string, options?: ConfirmOptions): Promise<Outcome<boolean>>;
  url(key: string, question: UrlQuestion): Promise<Outcome<void>>;
  sample(key: string, params: SamplingParams, options?: AskOptions): Promise<Outcome<SamplingResult>>;
  roots(key: string, options?: AskOptions): Promise<Outcome<Root[]>>;
}

/**
 * What a flow asks and does through. The function around it runs from the top in every round: what is not a question or
 * a step runs again (A31).
 */
export interface Flow {
  /** The validated answer. Throws `InputDeclined`, `InputCancelled`, or `InvalidAnswer` after repeated invalid answers. */
  form<const S extends FormSchemaInput>(key: string, question: FormQuestion<S>): Promise<FormValue<S>>;
  /** `true` only for an accepted, explicit yes; `false` for no, decline and cancel alike. */
  confirm(key: string, message: string, options?: ConfirmOptions): Promise<boolean>;
  /**
   * Resolves when the person agreed to open the link: that is consent, not completion (E21). With `until` it resolves
   * when that is so, too. Throws as `form` does.
   */
  url(key: string, question: UrlQuestion): Promise<void>;
  /** A model's answer through the client. Deprecated in the revision (F1), still served. */
  sample(key: string, params: SamplingParams, options?: AskOptions): Promise<SamplingResult>;
  /** The client's roots. Deprecated in the revision (F1), still served. */
  roots(key: string, options?: AskOptions): Promise<Root[]>;
  /** The same questions, returning `{ action: "accept" | "decline" | "cancel" | "invalid" }` for authors who branch. */
  readonly outcome: OutcomeQuestions;
  /**
   * Waits for something that ends elsewhere, such as another person's word: `true` once `done` says so, `false` when the time
   * is up. In rounds it asks nothing meanwhile (A7); in a task it holds no process, and looks less often the longer it lasts.
   */
  until(
    key: string,
    done: (signal: AbortSignal) => boolean | Promise<boolean>,
    options?: UntilOptions,
  ): Promise<boolean>;
  /** Runs `fn` once and remembers what it returned (as JSON reads it back), or how it failed (`StepFailed`). */
  step<T>(key: string, fn: (context: StepContext) => T | Promise<T>, options?: StepOptions): Promise<Recorded<T>>;
  /**
   * Turns the rest of the call into a task of the tasks extension: the client gets a task instead of a result, and the
   * flow goes on here, questions included, whoever waits for it (section H). Once per flow, at its top level.
   * @returns `true` once it runs as a task; `false` in the foreground, where `otherwise` allows that.
   */
  background(options?: BackgroundOptions): Promise<boolean>;
  /** Ends when the client goes away (I6); in a task, when it is cancelled, expired or goes on elsewhere. */
  readonly signal: AbortSignal;
  /** The verified caller; `null` when nobody authenticated. */
  readonly caller: Principal | null;
  /** 0 in the first run, then the number of times this call has asked. */
  readonly round: number;
  /** The same over all rounds of this call. */
  readonly callId: string;
  /** Whether this request's client declared it (A12). */
  supports(capability: CapabilityName): boolean;
  /**
   * Tells the client how far this round is; a no-op when it did not ask for progress. In a task it is the status message, and
   * what is reported while recorded entries come back is old news and not said again.
   * @throws ParleyError `configuration` for anything but `{ progress, total?, message? }`, at once.
   */
  progress(progress: Progress): Promise<void>;
}
