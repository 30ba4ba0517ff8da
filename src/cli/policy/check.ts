/** `parley policy check`: whether a policy is right, and what it would decide. Calls nothing. */
import { text } from "node:stream/consumers";
import { readInterim } from "../../calls/interim.ts";
import { reasonOf } from "../../errors.ts";
import type { Explanation, FilePolicy, PolicyQuestion } from "../../policy/index.ts";
import { jsonText } from "../../present/result.ts";
import { type InputRequest, kindOf, type MrtrMethod } from "../../protocol/types.ts";
import { oneLine, usageError } from "../exit.ts";
import { parseObject, readJsonObject } from "../files.ts";
import type { Io } from "../io.ts";
import { readTranscriptFile } from "../replay/file.ts";
import { readPolicyFile } from "./file.ts";

export interface CheckFlags {
  readonly server?: string;
  readonly tool?: string;
  readonly prompt?: string;
  readonly resource?: string;
  readonly args?: string;
  readonly key?: string;
  readonly question?: string;
  readonly transcript?: string;
  readonly harmless?: boolean;
  readonly json?: boolean;
}

/** @throws ParleyError `usage` */
export async function check(file: string, flags: CheckFlags, io: Io): Promise<void> {
  const policy = await readPolicyFile(file, io.cwd);
  const questions = await readQuestions(flags, io.cwd);
  const explained = questions.map((question) => ({ question, explanation: policy.explain(question) }));
  if (flags.json === true) {
    io.out(jsonText({ rules: policy.size, questions: explained.map(report) }));
    return;
  }
  io.out(oneLine(`${file}: ${count(policy)}, no mistake`));
  for (const { question, explanation } of explained) {
    for (const line of linesOf(question, explanation)) io.out(oneLine(line));
  }
}

function count({ size }: FilePolicy): string {
  return `${size} ${size === 1 ? "rule" : "rules"}`;
}

async function readQuestions(flags: CheckFlags, cwd: string): Promise<PolicyQuestion[]> {
  const destructive = flags.harmless !== true;
  if (flags.transcript !== undefined) {
    const { calls } = await readTranscriptFile(flags.transcript, cwd);
    return calls.flatMap(({ server, method, params, rounds }) => {
      const target = String(params["name"] ?? params["uri"]);
      return rounds.flatMap(({ questions }, index) =>
        questions.map(({ key, request }): PolicyQuestion => {
          const context = { server: { id: server }, method, target, params, key, round: index + 1 };
          return { request, context, destructive };
        }),
      );
    });
  }
  const { server, question, key = "" } = flags;
  const asked = readTarget(flags);
  if (question === undefined && server === undefined && asked === undefined) return [];
  if (question === undefined || server === undefined || asked === undefined) {
    const remedy = "give --server, --question, and one of --tool, --prompt and --resource";
    throw usageError("a question is described in part only", remedy);
  }
  const request = await readRequest(question, key, cwd);
  return [{ request, context: { server: { id: server }, ...asked, key, round: 1 }, destructive }];
}

function readTarget({ tool, prompt, resource, args }: CheckFlags) {
  const given = args === undefined ? {} : { arguments: parseObject(args, "--args") };
  const of = (method: MrtrMethod, target: string, params: Record<string, unknown>) => ({ method, target, params });
  if (tool !== undefined) return of("tools/call", tool, { name: tool, ...given });
  if (prompt !== undefined) return of("prompts/get", prompt, { name: prompt, ...given });
  return resource === undefined ? undefined : of("resources/read", resource, { uri: resource });
}

async function readRequest(path: string, key: string, cwd: string): Promise<InputRequest> {
  const what = path === "-" ? "standard input" : `the question ${path}`;
  const entry =
    path === "-" ? parseObject(await text(process.stdin), what) : await readJsonObject(path, cwd, "question");
  const declared = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
  try {
    const rules = { server: what, declared, maxQuestions: 1, maxRequestStateBytes: 0 };
    const [request] = readInterim({ inputRequests: { [key]: entry } }, rules).requests.values();
    return request as InputRequest;
  } catch (error) {
    throw usageError(reasonOf(error), 'write one request, {"method": "elicitation/create", "params": {...}}', error);
  }
}

function report({ question, explanation }: { question: PolicyQuestion; explanation: Explanation }) {
  const { server, method, target, key, round } = question.context;
  const { decision, rules, warning } = explanation;
  // What would be answered stays in the file.
  const { response, ...said } = "response" in decision ? decision : { ...decision, response: undefined };
  return {
    ...{ server: server.id, method, target, key, round, kind: kindOf(question.request) },
    decision: { ...said, ...(response !== undefined && { action: actionOf(response) }) },
    ...(warning !== undefined && { warning }),
    rules,
  };
}

function linesOf(question: PolicyQuestion, { decision, rules, warning }: Explanation): string[] {
  const { server, method, target, key } = question.context;
  return [
    `${JSON.stringify(key)}, a ${kindOf(question.request)} question of ${method} ${target} at ${server.id}:`,
    ...rules.map(({ rule, outcome, why }) => `  ${outcome.padEnd(7)} ${JSON.stringify(rule)}${why ? `: ${why}` : ""}`),
    `  => ${wordsOf(decision, warning)}`,
  ];
}

function wordsOf(decision: Explanation["decision"], warning: string | undefined): string {
  switch (decision.type) {
    case "answer":
      return `${actionOf(decision.response)}, by rule ${JSON.stringify(decision.rule)}`;
    case "fail":
      return `fail: ${decision.reason}`;
    case "ask":
      if (warning !== undefined) return `ask: the rule's answer does not fit, ${warning}`;
      return decision.rule === undefined ? "ask: no rule matches" : `ask, by rule ${JSON.stringify(decision.rule)}`;
  }
}

function actionOf(response: object): string {
  return "action" in response ? String(response.action) : "accept";
}
