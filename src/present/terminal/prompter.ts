/**
 * One person at one terminal: prints safe text and asks by keyboard. A thin layer on @clack/prompts that adds what a
 * consent surface needs: keys typed before a prompt was drawn are dropped (D2), Escape leaves a prompt and Ctrl-C the
 * whole call, and a terminal that goes away or a call that ends leaves no prompt behind.
 */
import type { Readable } from "node:stream";
import { isCancel, multiselect, password, select, text } from "@clack/prompts";
import { ParleyError } from "../../errors.ts";
import { host, type Safe } from "../text.ts";
import { GuardedOutput, type TerminalOutput } from "./guard.ts";
import { Keys, Letters, settle, type TerminalInput } from "./keys.ts";
import { wrapped } from "./wrap.ts";

/** Thrown when a person leaves a prompt by Escape. */
export class Left extends Error {}

/** Thrown when nobody chose in the time a prompt was given. */
export class TimedOut extends Error {}

export interface PrompterOptions {
  input: TerminalInput;
  output: TerminalOutput;
  /** Ends the question without an answer. */
  signal: AbortSignal;
  /** Silence on the keyboard before a prompt is drawn, in milliseconds. */
  settleMs: number;
  /** Names the question in errors. */
  subject: Safe;
  /** What an interruption carries: the question's key and server. */
  details: Record<string, unknown>;
  /** The person wants nothing more from this server (F6). */
  onSilence: () => void;
}

export interface Option<T> {
  value: T;
  label: Safe;
  /** Pressed, it marks this option; Enter still has to be. One that the list itself moves by (h, j, k, l) is none. */
  letter?: "y" | "n";
}

export class Prompter {
  readonly #options: PrompterOptions;
  readonly #output: GuardedOutput;
  readonly #gone = new AbortController();
  readonly #onGone = () => this.#gone.abort();

  constructor(options: PrompterOptions) {
    this.#options = options;
    for (const event of ENDINGS) options.input.on(event, this.#onGone);
    this.#output = new GuardedOutput(options.output);
  }

  get columns(): number {
    return this.#output.columns;
  }

  print(lines: readonly Safe[]): void {
    for (const line of lines) this.#output.write(`${line}\n`);
  }

  /** Prints host text that may be longer than a line. */
  say(line: Safe): void {
    this.print(wrapped(line, this.columns));
  }

  /**
   * Ask for one of `options`; what is highlighted is what is returned (F7). With `timeoutMs` it throws
   * {@link TimedOut} when nothing was chosen by then.
   */
  async choose<T>(message: Safe, options: readonly Option<T>[], initial: number, timeoutMs?: number): Promise<T> {
    const letters = new Letters(
      options.map(({ letter }) => letter),
      initial,
    );
    const index = await this.#ask<number>(
      (io) => select({ ...io, message, initialValue: initial, options: indexed(options) }),
      timeoutMs,
      (name) => letters.press(name),
    );
    return (options[index] as Option<T>).value;
  }

  /**
   * {@link choose}, where a question is decided: with the two ways to end more than this question (F6). Both throw
   * ParleyError `aborted`, as Ctrl-C does.
   */
  async decide<T>(message: Safe, options: readonly Option<T>[], initial: number, timeoutMs?: number): Promise<T> {
    const chosen = await this.choose<T | typeof STOP | typeof SILENCE>(
      message,
      [
        ...options,
        { value: STOP, label: host("Stop this call (Ctrl-C)") },
        { value: SILENCE, label: host("Stop it, and nothing more from this server") },
      ],
      initial,
      timeoutMs,
    );
    if (chosen === SILENCE) this.#options.onSilence();
    if (chosen === STOP || chosen === SILENCE) throw this.#interrupted();
    return chosen;
  }

  /** Ask for any of `options`; returns the chosen values in their listed order. */
  async chooseMany<T>(message: Safe, options: readonly Option<T>[], initial: readonly T[]): Promise<T[]> {
    const initialValues = options.flatMap((option, index) => (initial.includes(option.value) ? [index] : []));
    const chosen = await this.#ask<number[]>((io) =>
      multiselect({ ...io, message, initialValues, required: false, options: indexed(options) }),
    );
    return options.filter((_, index) => chosen.includes(index)).map((option) => option.value);
  }

  /** Ask for a line of text. `check` returns a complaint, and the prompt stays until there is none (F7). */
  async line(
    message: Safe,
    options: { initial?: string; masked?: boolean; check: (value: string) => Safe | undefined },
  ): Promise<string> {
    const validate = (value: string | undefined) => options.check(value ?? "");
    const { initial = "", masked = false } = options;
    return this.#ask<string>((io) =>
      masked ? password({ ...io, message, validate }) : text({ ...io, message, validate, initialValue: initial }),
    );
  }

  /** Gives the terminal back. */
  close(): void {
    const { input } = this.#options;
    for (const event of ENDINGS) input.off(event, this.#onGone);
    this.#output.destroy();
  }

  /** `press` is told each key, and returns what is to be typed besides. */
  async #ask<T>(
    prompt: (io: PromptStreams) => Promise<T | symbol>,
    timeoutMs?: number,
    press?: (name?: string) => string,
  ): Promise<T> {
    const { input, signal, settleMs } = this.#options;
    const off = new AbortController();
    const onAbort = () => off.abort();
    let interrupted = false;
    let late = false;
    let timer: NodeJS.Timeout | undefined;
    input.setRawMode?.(true);
    try {
      this.#check();
      interrupted = await settle(input, settleMs, [signal, this.#gone.signal]);
      this.#check();
      if (interrupted) throw this.#interrupted();
      const keys = new Keys(input);
      keys.on("keypress", (_: unknown, key: { name?: string; ctrl?: boolean } | undefined) => {
        if (key?.ctrl !== true) {
          const more = press?.(key?.name) ?? "";
          if (more !== "") keys.write(more);
          return;
        }
        if (key.name === "c" || key.name === "d") interrupted = true;
        // The library closes its reader on Ctrl-D and then waits for ever.
        if (key.name === "d") off.abort();
      });
      signal.addEventListener("abort", onAbort, { once: true });
      this.#gone.signal.addEventListener("abort", onAbort, { once: true });
      if (timeoutMs !== undefined) {
        timer = setTimeout(() => {
          late = true;
          off.abort();
        }, timeoutMs);
      }
      try {
        const answer = await prompt({ input: keys, output: this.#output, signal: off.signal });
        this.#check();
        if (interrupted) throw this.#interrupted();
        if (late) throw new TimedOut();
        if (isCancel(answer)) throw new Left();
        return answer as T;
      } finally {
        keys.stop();
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      this.#gone.signal.removeEventListener("abort", onAbort);
      input.setRawMode?.(false);
    }
  }

  /** A person's end of the whole call: no answer, so neither a decline nor a cancel is sent for it (D1). */
  #interrupted(): ParleyError {
    const { subject, details } = this.#options;
    return new ParleyError("aborted", `${subject} was interrupted, and the call with it; no answer was sent.`, {
      details,
    });
  }

  /** Throws if the question is over: the call ended, or there is no keyboard any more. */
  #check(): void {
    const { input, signal, subject } = this.#options;
    if (signal.aborted) throw this.#aborted();
    if (this.#gone.signal.aborted || input.destroyed || input.readableEnded) {
      throw new ParleyError("unanswerable", `The terminal went away before ${subject} was answered.`);
    }
  }

  #aborted(): ParleyError {
    const { signal, subject } = this.#options;
    if (signal.reason instanceof ParleyError) return signal.reason;
    return new ParleyError("aborted", `${subject} was taken back before it was answered.`, { cause: signal.reason });
  }
}

interface PromptStreams {
  input: Readable;
  output: GuardedOutput;
  signal: AbortSignal;
}

const STOP = Symbol("stop this call");
const SILENCE = Symbol("nothing more from this server");
const ENDINGS = ["end", "close", "error"] as const;

/** Options by position: two options may carry equal values, and a value is never shown. */
function indexed(options: readonly Option<unknown>[]): { value: number; label: string }[] {
  return options.map(({ label }, value) => ({ value, label }));
}
