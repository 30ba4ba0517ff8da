/** The terminal as a surface for questions. */
import type { QuestionContext, Responders } from "../../calls/responder.ts";
import { ParleyError } from "../../errors.ts";
import type { InputRequest, RootsResult } from "../../protocol/types.ts";
import type { Model } from "../../sampling/model.ts";
import { describeQuestion, type QuestionView } from "../model.ts";
import { inline, say } from "../text.ts";
import { drawQuestion } from "./draw.ts";
import { askForm } from "./form.ts";
import type { TerminalOutput } from "./guard.ts";
import { Prompter, type TerminalInput } from "./prompter.ts";
import { askRoots, checkRoots } from "./roots.ts";
import { askSampling } from "./sampling.ts";
import { inTurn } from "./turns.ts";
import { askUrl, type OpenUrl } from "./url.ts";

export interface TerminalOptions {
  /** The keyboard. Default `process.stdin`. */
  input?: TerminalInput;
  /** The screen. Default `process.stderr`, so that standard output stays clean for results. */
  output?: TerminalOutput;
  /** Fields a form may ask for although they look like secrets, by name (F1). What is typed is masked. Default none. */
  allowSecretFields?: readonly string[];
  /** Opens an agreed address. Default none: the address is printed, and the person opens it (L8). */
  openUrl?: OpenUrl;
  /** Answers sampling requests a person approved. Default none: sampling is not offered. */
  model?: Model;
  /** `model` can use `tools` and `toolChoice`. Default false. */
  modelTools?: boolean;
  /** Without a `model`: offer sampling all the same, show each request, and fail it. Default false (B30). */
  showUnservedSampling?: boolean;
  /** The folders a server may be told of, each time after a yes (F25). Default none: roots are not offered. */
  roots?: RootsResult;
  /** Silence on the keyboard before a prompt is drawn; what was typed before is dropped (D2). Milliseconds, default 50. */
  settleMs?: number;
  /** Offer everything even where there is no terminal; each question then fails with `unanswerable`. Default false. */
  declareWithoutTerminal?: boolean;
}

/** True if a person can be asked here: both ends are a terminal. */
export function terminalAvailable(
  input: TerminalInput = process.stdin,
  output: TerminalOutput = process.stderr,
): boolean {
  return input.isTTY === true && output.isTTY === true && !input.destroyed && !input.readableEnded;
}

/**
 * Responders that ask a person at the terminal. Without a terminal there are none, so nothing is declared (B30); if
 * the terminal is gone when a question comes, it fails with `unanswerable` at once and is never answered (B32, B40).
 *
 * Throws {@link ParleyError} `configuration` for bad options. A responder throws `invalid_interim` for what is no
 * question, `unanswerable` for what must not be asked (a secret, an unsafe address), `aborted` when the call ended or the person
 * ended it with Ctrl-C (Escape only leaves the one question),
 * `input_declined` and `input_cancelled` where the answer has no such words (sampling, roots).
 */
export function terminalResponders(options: TerminalOptions = {}): Responders {
  const { model, roots, openUrl, allowSecretFields = [], settleMs = 50 } = options;
  const { input = process.stdin as TerminalInput, output = process.stderr as TerminalOutput } = options;
  if (!(Number.isFinite(settleMs) && settleMs >= 0)) {
    throw new ParleyError("configuration", "settleMs must be a number of milliseconds, 0 or more.");
  }
  if (roots !== undefined) checkRoots(roots);
  if (options.declareWithoutTerminal !== true && !terminalAvailable(input, output)) return {};

  const ask = async <T>(
    request: InputRequest,
    context: QuestionContext,
    answer: (view: QuestionView, prompter: Prompter) => Promise<T>,
  ): Promise<T> => {
    const subject = say`Question “${inline(context.key, 100)}” of server “${inline(context.server.id, 100)}”`;
    const aborted = () =>
      context.signal.reason instanceof ParleyError
        ? context.signal.reason
        : new ParleyError("aborted", `${subject} was taken back before it was shown.`);
    return inTurn(input, context.signal, aborted, async () => {
      if (!terminalAvailable(input, output)) throw unanswerable(context, `${subject}: there is no terminal to ask at.`);
      const view = describeQuestion(request, context, { allowSecretFields });
      const { key, server, signal } = context;
      const prompter = new Prompter({
        input,
        output,
        signal,
        settleMs,
        subject,
        details: { key, server: server.id },
      });
      try {
        prompter.print(drawQuestion(view, prompter.columns));
        if (view.refused.length > 0) throw unanswerable(context, `${subject} was refused: ${view.refused.join("; ")}.`);
        return await answer(view, prompter);
      } finally {
        prompter.close();
      }
    });
  };

  const responders: Responders = {
    form: (params, context) =>
      ask({ method: "elicitation/create", params }, context, (view, prompter) => {
        if (view.kind !== "form") throw wrongKind(context, "form");
        return askForm(view, prompter);
      }),
    url: (params, context) =>
      ask({ method: "elicitation/create", params }, context, (view, prompter) => {
        if (view.kind !== "url" || !view.url.ok) throw wrongKind(context, "url");
        return askUrl(view, view.url, prompter, openUrl);
      }),
  };
  if (model !== undefined || options.showUnservedSampling === true) {
    responders.sample = (params, context) =>
      ask({ method: "sampling/createMessage", params }, context, (_view, prompter) => {
        if (model === undefined)
          throw unanswerable(context, `No model is configured here to answer “${inline(context.key, 100)}”.`);
        return askSampling(params, context, prompter, model);
      });
    if (options.modelTools === true) responders.sampleTools = true;
  }
  if (roots !== undefined) {
    responders.roots = (context) =>
      ask({ method: "roots/list" }, context, (_view, prompter) => askRoots(roots, context, prompter));
  }
  return responders;
}

function unanswerable(context: QuestionContext, message: string): ParleyError {
  return new ParleyError("unanswerable", message, { details: { key: context.key, server: context.server.id } });
}

function wrongKind(context: QuestionContext, kind: string): ParleyError {
  const key = inline(context.key, 100);
  return new ParleyError("invalid_interim", `Question "${key}" is not the ${kind} it was taken for.`);
}
