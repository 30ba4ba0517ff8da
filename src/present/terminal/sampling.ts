/** Use of the person's model: the request is read and may be changed, then the answer is (F13 to F15; rule S1). */
import type { SamplingParams, SamplingResult } from "../../protocol/types.ts";
import type { SampleQuestionView } from "../model.ts";
import type { SamplingApproval, SamplingRefusal } from "../sampling.ts";
import { describeSample, describeSampling, type SamplingView } from "../sampling-view.ts";
import { host, type Safe, say } from "../text.ts";
import { drawAsker, drawSampling, drawWarnings } from "./draw.ts";
import { Left, type Prompter } from "./prompter.ts";
import type { Surface } from "./surface.ts";

const WAYS_OUT = [
  { value: "decline", label: host("Refuse") },
  { value: "cancel", label: host("Dismiss (Esc)") },
] as const;

/** Both approvals at the terminal, each in its own turn: while the model works, other questions are put. */
export function approveAt(surface: Surface): SamplingApproval {
  return {
    request: (view, params, context) =>
      surface.ask(view, context, (_, prompter) => leaving(() => approveRequest(params, prompter))),
    response: (view, result, context) =>
      surface.turn(context, (prompter) => leaving(() => approveResponse(view, result, prompter))),
  };
}

async function leaving<T>(ask: () => Promise<T | SamplingRefusal>): Promise<T | SamplingRefusal> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof Left) return "cancel";
    throw error;
  }
}

async function approveRequest(params: SamplingParams, prompter: Prompter): Promise<SamplingParams | SamplingRefusal> {
  let current = params;
  for (;;) {
    const choice = await prompter.decide(
      host("Give this to your model?"),
      [
        { value: "send", label: host("Yes, run it") } as const,
        { value: "edit", label: host("Change it first") } as const,
        ...WAYS_OUT,
      ],
      3,
    );
    if (choice === "send") {
      prompter.say(host("  The model is working…"));
      return current;
    }
    if (choice !== "edit") return choice;
    current = await edit(current, prompter);
    show(host("  What the model will be given:"), describeSampling(current), prompter);
  }
}

async function edit(params: SamplingParams, prompter: Prompter): Promise<SamplingParams> {
  const texts = params.messages.flatMap((message, index) => (isText(message.content) ? [index] : []));
  const choice = await prompter.choose<number | "system" | "tokens" | "back">(
    host("Change what?"),
    [
      { value: "back", label: host("Nothing") },
      { value: "system", label: host("The system prompt") },
      { value: "tokens", label: host("The limit of tokens") },
      ...texts.map((index) => ({ value: index, label: say`Message ${index + 1}` })),
    ],
    0,
  );
  if (choice === "back") return params;
  if (choice === "tokens") {
    const { maxTokens } = params;
    const check = (text: string) =>
      /^[1-9]\d*$/.test(text) && Number(text) <= maxTokens ? undefined : say`A whole number from 1 to ${maxTokens}.`;
    return { ...params, maxTokens: Number(await prompter.line(host("At most how many tokens?"), { check })) };
  }
  const text = await prompter.line(host("The new text (it replaces the old one)"), { check: () => undefined });
  if (choice === "system") {
    const { systemPrompt: _old, ...rest } = params;
    return text === "" ? rest : { ...rest, systemPrompt: text };
  }
  const messages = params.messages.map((message, index) =>
    index === choice ? { ...message, content: { type: "text" as const, text } } : message,
  );
  return { ...params, messages };
}

async function approveResponse(
  view: SampleQuestionView,
  result: SamplingResult,
  prompter: Prompter,
): Promise<SamplingResult | SamplingRefusal> {
  prompter.print(drawAsker(view, host("gets an answer of your language model"), prompter.columns));
  let current = result;
  for (;;) {
    show(host("  What your model answered:"), describeSample(current), prompter);
    const editable = isText(current.content);
    const choice = await prompter.decide(
      host("Send this answer to the server?"),
      [
        { value: "send", label: host("Yes, send it") } as const,
        ...(editable ? [{ value: "edit", label: host("Write another answer") } as const] : []),
        ...WAYS_OUT,
      ],
      editable ? 3 : 2,
    );
    if (choice === "send") return current;
    if (choice !== "edit") return choice;
    const text = await prompter.line(host("The answer"), { check: () => undefined });
    current = { ...current, content: { type: "text", text } } as SamplingResult;
  }
}

function show(heading: Safe, view: SamplingView, prompter: Prompter): void {
  const { columns } = prompter;
  prompter.print([host(""), heading, ...drawSampling(view, columns), ...drawWarnings(view.warnings, columns)]);
}

function isText(content: unknown): boolean {
  return typeof content === "object" && content !== null && "type" in content && content.type === "text";
}
