/** The terminal as a surface for questions. */
import type { QuestionContext, Responders } from "../../calls/responder.ts";
import { ParleyError } from "../../errors.ts";
import type { InputRequest, RootsResult } from "../../protocol/types.ts";
import type { SamplingLimits } from "../../sampling/limits.ts";
import type { Model } from "../../sampling/model.ts";
import { describeQuestion, type QuestionView } from "../model.ts";
import { samplingResponder } from "../sampling.ts";
import { inline } from "../text.ts";
import { askForm, summaryOfForm } from "./form.ts";
import type { TerminalOutput } from "./guard.ts";
import type { TerminalInput } from "./keys.ts";
import { askRoots, checkRoots } from "./roots.ts";
import { Rounds } from "./rounds.ts";
import { approveAt } from "./sampling.ts";
import { Surface, terminalAvailable, unanswerable } from "./surface.ts";
import { type OpenUrl, summaryOfUrl, UrlAsker } from "./url.ts";

export interface TerminalOptions {
  /** The keyboard. Default `process.stdin`. */
  input?: TerminalInput;
  /** The screen. Default `process.stderr`, so that standard output stays clean for results. */
  output?: TerminalOutput;
  /** Fields a form may ask for although they look like secrets, by name (F1). What is typed is masked. Default none. */
  allowSecretFields?: readonly string[];
  /** Opens an agreed address. Default none: the address is printed, and the person opens it (L8). */
  openUrl?: OpenUrl;
  /** First pause when a person keeps waiting for a link (L9); each further one is twice as long. Milliseconds, default 5000. */
  waitMs?: number;
  /** Answers sampling requests a person approved. Default none: sampling is not offered. */
  model?: Model;
  /** `model` can use `tools` and `toolChoice`. Default false. */
  modelTools?: boolean;
  /** What servers may make `model` do. Default: `samplingLimits()`, for this surface alone. */
  limits?: SamplingLimits;
  /** Without a `model`: offer sampling all the same, show each request, and fail it. Default false (B30). */
  showUnservedSampling?: boolean;
  /** The folders a server may be told of, each time after a yes (F25). Default none: roots are not offered. */
  roots?: RootsResult;
  /** Silence on the keyboard before a prompt is drawn; what was typed before is dropped (D2). Milliseconds, default 50. */
  settleMs?: number;
  /** Offer everything even where there is no terminal; each question then fails with `unanswerable`. Default false. */
  declareWithoutTerminal?: boolean;
}

/**
 * Responders that ask a person at the terminal. Without a terminal there are none, so nothing is declared (B30); if
 * the terminal is gone when a question comes, it fails with `unanswerable` at once and is never answered (B32, B40).
 *
 * Questions of any number of calls take turns, and the answers of one round are shown together before they are sent
 * (D19). A person may stop the one call, or want nothing more from its server (F6): then every later question of it
 * ends its call with `aborted`, unseen, for as long as these responders are used.
 *
 * Throws {@link ParleyError} `configuration` for bad options. A responder throws `invalid_interim` for what is no
 * question, `unanswerable` for what must not be asked (a secret, an unsafe address), `aborted` when the call ended or the person
 * ended it with Ctrl-C (Escape only leaves the one question),
 * `input_declined` and `input_cancelled` where the answer has no such words (sampling, roots), and for sampling what
 * `samplingResponder` throws.
 */
export function terminalResponders(options: TerminalOptions = {}): Responders {
  const { model, limits, roots, openUrl, allowSecretFields = [], settleMs = 50, waitMs = 5000 } = options;
  const { input = process.stdin as TerminalInput, output = process.stderr as TerminalOutput } = options;
  for (const [name, ms] of Object.entries({ settleMs, waitMs })) {
    if (Number.isFinite(ms) && ms >= 0) continue;
    throw new ParleyError("configuration", `${name} must be a number of milliseconds, 0 or more.`);
  }
  if (roots !== undefined) checkRoots(roots);
  if (options.declareWithoutTerminal !== true && !terminalAvailable(input, output)) return {};

  const surface = new Surface({ input, output, settleMs });
  const rounds = new Rounds(surface);
  const links = new UrlAsker(openUrl, waitMs);
  const viewOf = <K extends QuestionView["kind"]>(request: InputRequest, context: QuestionContext, kind: K) => {
    const view = describeQuestion(request, context, { allowSecretFields });
    if (view.kind === kind) return view as Extract<QuestionView, { kind: K }>;
    throw new ParleyError(
      "invalid_interim",
      `Question "${inline(context.key, 100)}" is not the ${kind} it was taken for.`,
    );
  };

  const responders: Responders = {
    form: async (params, context) => {
      const view = viewOf({ method: "elicitation/create", params }, context, "form");
      return rounds.answer(context, {
        ask: (others, before) =>
          surface.ask(view, context, (_, prompter) => askForm(view, prompter, { others, ...(before && { before }) })),
        summary: (answer) => summaryOfForm(view, answer),
      });
    },
    url: async (params, context) => {
      const view = viewOf({ method: "elicitation/create", params }, context, "url");
      return rounds.answer(context, {
        ask: (_others, before) =>
          surface.ask(view, context, (_, prompter) => links.ask(view, context, prompter, before?.action === "accept")),
        summary: (answer) => summaryOfUrl(view, answer),
      });
    },
  };
  if (model !== undefined) {
    const tools = options.modelTools === true;
    const approve = approveAt(surface);
    Object.assign(responders, samplingResponder({ model, approve, tools, ...(limits && { limits }) }));
  } else if (options.showUnservedSampling === true) {
    responders.sample = async (params, context) => {
      const view = viewOf({ method: "sampling/createMessage", params }, context, "sample");
      return surface.ask(view, context, () => {
        throw unanswerable(context, `No model is configured here to answer “${inline(context.key, 100)}”.`);
      });
    };
    if (options.modelTools === true) responders.sampleTools = true;
  }
  if (roots !== undefined) {
    responders.roots = async (context) =>
      surface.ask(viewOf({ method: "roots/list" }, context, "roots"), context, (_, prompter) =>
        askRoots(roots, context, prompter),
      );
  }
  return responders;
}
