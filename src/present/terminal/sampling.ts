/** Use of the person's model: the request is read and may be changed, then the answer is (F13 to F15; rule S1). */
import type { QuestionContext } from "../../calls/responder.ts";
import { InputCancelled, InputDeclined, ParleyError } from "../../errors.ts";
import type { SamplingParams, SamplingResult } from "../../protocol/types.ts";
import type { Model } from "../../sampling/model.ts";
import { describeSample, describeSampling } from "../sampling-view.ts";
import { host, inline, type Safe, say } from "../text.ts";
import { drawSampling, drawWarnings } from "./draw.ts";
import { Left, type Prompter } from "./prompter.ts";

const REFUSE = { value: "refuse", label: host("Refuse") } as const;
const DISMISS = { value: "dismiss", label: host("Dismiss (Esc)") } as const;

/**
 * Approves, runs and reviews. Sampling has no way to say no on the wire (F21): a person's refusal throws
 * {@link InputDeclined}, leaving throws {@link InputCancelled}.
 */
export async function askSampling(
  params: SamplingParams,
  context: QuestionContext,
  prompter: Prompter,
  model: Model,
): Promise<SamplingResult> {
  try {
    const approved = await approve(params, context, prompter);
    prompter.say(host("  The model is working…"));
    const result = await model(approved, context);
    return await review(result, context, prompter);
  } catch (error) {
    if (error instanceof Left) throw new InputCancelled(context.key);
    throw error;
  }
}

async function approve(params: SamplingParams, context: QuestionContext, prompter: Prompter): Promise<SamplingParams> {
  let current = params;
  for (;;) {
    const choice = await prompter.choose(
      host("Give this to your model?"),
      [
        { value: "send", label: host("Yes, run it") } as const,
        { value: "edit", label: host("Change it first") } as const,
        REFUSE,
        DISMISS,
      ],
      3,
    );
    if (choice === "send") return current;
    leaveOn(choice, context);
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

async function review(result: SamplingResult, context: QuestionContext, prompter: Prompter): Promise<SamplingResult> {
  let current = result;
  for (;;) {
    const view = describeSample(current);
    show(host("  What your model answered:"), view, prompter);
    if (!view.complete) {
      const message = `The model's answer to “${inline(context.key, 100)}” is too large to be reviewed, so it was not sent.`;
      throw new ParleyError("unanswerable", message, { details: { key: context.key } });
    }
    const editable = isText(current.content);
    const choice = await prompter.choose(
      host("Send this answer to the server?"),
      [
        { value: "send", label: host("Yes, send it") } as const,
        ...(editable ? [{ value: "edit", label: host("Write another answer") } as const] : []),
        REFUSE,
        DISMISS,
      ],
      editable ? 3 : 2,
    );
    if (choice === "send") return current;
    leaveOn(choice, context);
    const text = await prompter.line(host("The answer"), { check: () => undefined });
    current = { ...current, content: { type: "text", text } } as SamplingResult;
  }
}

function leaveOn(choice: "edit" | "refuse" | "dismiss", context: QuestionContext): void {
  if (choice === "refuse") throw new InputDeclined(context.key);
  if (choice === "dismiss") throw new InputCancelled(context.key);
}

function show(heading: Safe, view: ReturnType<typeof describeSampling>, prompter: Prompter): void {
  const { columns } = prompter;
  prompter.print([host(""), heading, ...drawSampling(view, columns), ...drawWarnings(view.warnings, columns)]);
}

function isText(content: unknown): boolean {
  return typeof content === "object" && content !== null && "type" in content && content.type === "text";
}
