/** Answers from a file: who runs the command answers beforehand, in writing. */
import { decidedBy } from "../../calls/decider.ts";
import type { QuestionContext, Responders } from "../../calls/responder.ts";
import { ParleyError } from "../../errors.ts";
import { isObject } from "../../internal/json.ts";
import type { ElicitResult, InputResponse, RootsResult, SamplingResult } from "../../protocol/types.ts";
import { usageError } from "../exit.ts";
import { readJsonObject } from "../files.ts";

type Kind = "elicitation" | "sampling" | "roots";

/** One key's answers. A list is used up, one each time the question is asked; a single answer serves every time. */
interface Scripted {
  readonly answers: readonly InputResponse[];
  readonly endless: boolean;
}
export type Script = ReadonlyMap<string, Scripted>;

const REMEDY =
  'write {"<key>": {"action": "accept", "content": {...}}}, a sampling result, {"roots": [...]}, or a list of them';

/** @throws ParleyError `usage` naming the key and the rule, never what was answered. */
export async function readScript(path: string, cwd: string): Promise<Script> {
  const file = await readJsonObject(path, cwd, "answers file");
  return parseScript(file, path);
}

export function parseScript(file: Readonly<Record<string, unknown>>, path: string): Script {
  const script = new Map<string, Scripted>();
  for (const [key, value] of Object.entries(file)) {
    const answers = Array.isArray(value) ? value : [value];
    if (answers.length === 0) throw wrong(path, `${JSON.stringify(key)} has an empty list`);
    for (const [at, answer] of answers.entries()) {
      const rule = breach(answer);
      const place = Array.isArray(value) ? `, answer ${at + 1}` : "";
      if (rule !== undefined) throw wrong(path, `${JSON.stringify(key)}${place}: ${rule}`);
    }
    script.set(key, { answers, endless: !Array.isArray(value) });
  }
  return script;
}

function breach(answer: unknown): string | undefined {
  if (!isObject(answer)) return "is not an object";
  const kind = kindOf(answer);
  if (kind === undefined) return "is neither an elicitation result, nor a sampling result, nor roots";
  if (kind !== "elicitation") return undefined;
  const { action, content, ...others } = answer;
  if (action !== "accept" && action !== "decline" && action !== "cancel")
    return "action must be accept, decline or cancel";
  if (content !== undefined && !isObject(content)) return "content must be an object";
  if (content !== undefined && action !== "accept") return `content does not go with ${action}`;
  const [unknown] = Object.keys(others).filter((name) => name !== "_meta");
  return unknown === undefined ? undefined : `${JSON.stringify(unknown)} is not a member of an elicitation result`;
}

function kindOf(answer: object): Kind | undefined {
  if ("action" in answer) return "elicitation";
  if ("roots" in answer) return Array.isArray(answer.roots) ? "roots" : undefined;
  return "role" in answer && "content" in answer && "model" in answer ? "sampling" : undefined;
}

/**
 * Responders for exactly the kinds of answer in the file, so that only these are declared (B17). An answer without
 * content may be meant for a form or a link; one with content is for a form.
 *
 * A question that the file does not answer fails with `unanswerable` and its key; nothing is made up (B32, B40).
 */
export function scriptedResponders(script: Script, path: string): Responders {
  const asked = new Map<string, number>();
  const next = <T extends InputResponse>(wanted: Kind, { key }: QuestionContext): T => {
    const time = asked.get(key) ?? 0;
    asked.set(key, time + 1);
    const { answers, endless } = script.get(key) ?? { answers: [], endless: true };
    const answer = answers[endless ? 0 : time];
    if (answers.length === 0) throw unanswerable(key, `${path} has no answer to it`);
    if (answer === undefined)
      throw unanswerable(key, `${path} has ${answers.length} and it was asked ${time + 1} times`);
    if (kindOf(answer) !== wanted) throw unanswerable(key, `its answer in ${path} is not of the kind ${wanted}`);
    return decidedBy("answers-file", answer as T);
  };
  const all = [...script.values()].flatMap(({ answers }) => answers);
  const has = (kind: Kind) => all.some((answer) => kindOf(answer) === kind);
  const elicit = async (_params: unknown, context: QuestionContext) => next<ElicitResult>("elicitation", context);
  const forLink = all.some((answer) => kindOf(answer) === "elicitation" && !("content" in answer));
  return {
    ...(has("elicitation") && { form: elicit }),
    ...(forLink && { url: elicit }),
    ...(has("sampling") && {
      sample: async (_params: unknown, context: QuestionContext) => next<SamplingResult>("sampling", context),
      sampleTools: true,
    }),
    ...(has("roots") && { roots: async (context: QuestionContext) => next<RootsResult>("roots", context) }),
  };
}

function unanswerable(key: string, reason: string): ParleyError {
  return new ParleyError("unanswerable", reason, { details: { key } });
}

function wrong(path: string, rule: string): ParleyError {
  return usageError(`the answers file ${path}, ${rule}`, REMEDY);
}
