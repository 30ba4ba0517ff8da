/** One terminal for all questions of a host: whose turn it is, and from whom nothing more is wanted. */
import type { QuestionContext } from "../../calls/responder.ts";
import { ParleyError } from "../../errors.ts";
import type { QuestionView } from "../model.ts";
import { host, inert, type Safe, say } from "../text.ts";
import { drawQuestion } from "./draw.ts";
import type { TerminalOutput } from "./guard.ts";
import type { TerminalInput } from "./keys.ts";
import { Prompter } from "./prompter.ts";
import { inTurn, waitingAt } from "./turns.ts";

/** True if a person can be asked here: both ends are a terminal. */
export function terminalAvailable(
  input: TerminalInput = process.stdin,
  output: TerminalOutput = process.stderr,
): boolean {
  return input.isTTY === true && output.isTTY === true && !input.destroyed && !input.readableEnded;
}

export interface SurfaceOptions {
  input: TerminalInput;
  output: TerminalOutput;
  settleMs: number;
}

export class Surface {
  readonly #options: SurfaceOptions;
  /** Servers of which a person wants nothing more (F6), for as long as this surface lives. */
  readonly #silenced = new Set<string>();

  constructor(options: SurfaceOptions) {
    this.#options = options;
  }

  /**
   * Runs `work` when the terminal is free. Until then nothing is written, so a question being answered is not disturbed.
   * @throws ParleyError `unanswerable` without a terminal, `aborted` when the call ended first.
   */
  turn<T>(context: QuestionContext, work: (prompter: Prompter) => Promise<T>): Promise<T> {
    const { input, output, settleMs } = this.#options;
    const { key, server, signal } = context;
    const subject = subjectOf(context);
    const aborted = () =>
      signal.reason instanceof ParleyError
        ? signal.reason
        : new ParleyError("aborted", `${subject} was taken back before it was shown.`);
    return inTurn(input, signal, aborted, async () => {
      if (this.#silenced.has(server.id)) throw silenced(context);
      if (!terminalAvailable(input, output)) throw unanswerable(context, `${subject}: there is no terminal to ask at.`);
      const prompter = new Prompter({
        input,
        output,
        signal,
        settleMs,
        subject,
        details: { key, server: server.id },
        onSilence: () => this.#silenced.add(server.id),
      });
      try {
        return await work(prompter);
      } finally {
        if (signal.aborted) prompter.say(say`  ▲ The call has ended. ${subject} is gone.`);
        prompter.close();
      }
    });
  }

  /** Shows `view` in its turn and lets `answer` ask. What must not be put to a person is shown, and fails. */
  ask<T, V extends QuestionView>(
    view: V,
    context: QuestionContext,
    answer: (view: V, prompter: Prompter) => Promise<T>,
  ): Promise<T> {
    return this.turn(context, async (prompter) => {
      prompter.print(drawQuestion(view, prompter.columns));
      const others = waitingAt(this.#options.input);
      if (others > 0) {
        prompter.say(
          say`  ${others} more ${others === 1 ? host("question waits") : host("questions wait")} after this.`,
        );
      }
      if (view.refused.length === 0) return answer(view, prompter);
      throw unanswerable(context, `${subjectOf(context)} was refused: ${view.refused.join("; ")}.`);
    });
  }
}

export function subjectOf({ key, server }: QuestionContext): Safe {
  return say`Question “${inert(key, 100)}” of server “${inert(server.id, 100)}”`;
}

export function unanswerable({ key, server }: QuestionContext, message: string): ParleyError {
  return new ParleyError("unanswerable", message, { details: { key, server: server.id } });
}

/** The person's end of this call too: no answer is sent for them (D1). */
function silenced(context: QuestionContext): ParleyError {
  const { key, server } = context;
  const message = `${subjectOf(context)} was not shown: you wanted nothing more from this server.`;
  return new ParleyError("aborted", message, { details: { key, server: server.id } });
}
