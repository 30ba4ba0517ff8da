import { ParleyError, reasonOf } from "../errors.ts";
import type { ElicitFormParams, ElicitUrlParams, InputResponse, SamplingParams } from "../protocol/types.ts";
import type { Question } from "./interim.ts";
import type { QuestionContext, Responders } from "./responder.ts";

export interface Asking {
  readonly server: string;
  readonly responders: Responders;
  /** Without the signal, which {@link askAll} adds. */
  readonly contextOf: (question: Question) => Omit<QuestionContext, "signal">;
  readonly onQuestion: (question: Question) => void;
  /** Takes an answer; throws when it does not fit. */
  readonly onAnswer: (key: string, answer: InputResponse) => void;
}

type Ask = (signal: AbortSignal) => Promise<InputResponse>;

/**
 * Puts all questions of a round at once (B29); surfaces queue their own prompts. The first failure takes the others
 * off the screen and is thrown. No answer is ever made up here (B32).
 *
 * @throws ParleyError `unanswerable` with the key, before anybody is asked when a question has no responder (B40), `aborted` as
 * a responder threw it.
 */
export async function askAll(questions: readonly Question[], asking: Asking, signal: AbortSignal): Promise<void> {
  const asks = questions.map((question) => ({ question, ask: askOf(question, asking) }));
  const siblings = asks.length > 1 ? new AbortController() : undefined;
  const putOne = async ({ question, ask }: { question: Question; ask: Ask }): Promise<void> => {
    try {
      asking.onQuestion(question);
      // A signal of its own each: listeners for many questions on one signal would set off Node's leak warning.
      const own = siblings === undefined ? signal : AbortSignal.any([signal, siblings.signal]);
      const answer = await ask(own).catch((error: unknown) => {
        throw isInterruption(error) ? error : unanswerable(asking.server, question.key, error);
      });
      asking.onAnswer(question.key, answer);
    } catch (error) {
      siblings?.abort(error);
      throw error;
    }
  };
  await Promise.all(asks.map(putOne));
}

function askOf(question: Question, asking: Asking): Ask {
  const { request, kind, key } = question;
  const { form, url, sample, sampleTools, roots } = asking.responders;
  const context = (signal: AbortSignal): QuestionContext => ({ ...asking.contextOf(question), signal });
  // Async functions, so that a responder that throws at once is no different from one that rejects.
  if (kind === "form" && form) {
    return async (signal) => form(request.params as ElicitFormParams, context(signal));
  }
  if (kind === "url" && url) {
    return async (signal) => url(request.params as ElicitUrlParams, context(signal));
  }
  if (kind === "roots" && roots) return async (signal) => roots(context(signal));
  if (kind === "sample" && sample) {
    const params = request.params as SamplingParams;
    const withTools = params.tools !== undefined || params.toolChoice !== undefined;
    if (!withTools || sampleTools === true) return async (signal) => sample(params, context(signal));
  }
  throw unanswerable(asking.server, key, new Error(`no responder for ${kind} questions of this shape`));
}

/** Whoever is asked ended the call: that is no failure to answer. */
export function isInterruption(error: unknown): boolean {
  return error instanceof ParleyError && error.code === "aborted";
}

function unanswerable(server: string, key: string, cause: unknown): ParleyError {
  const message = `Nobody could answer ${JSON.stringify(key)} for "${server}": ${reasonOf(cause)}.`;
  return new ParleyError("unanswerable", message, {
    cause,
    details: { key, server },
  });
}
