/** What the page is told. Everything a server said goes through the safe display; states and answers do not go at all. */

import type {
  PendingCall,
  PendingDecider,
  PendingDecision,
  PendingEvent,
  PendingQuestion,
  PendingTask,
} from "../pending/call.ts";
import type { PendingSummary } from "../pending/contract.ts";
import { summaryOf } from "../pending/summary.ts";
import { describeAnswer } from "../present/field-view.ts";
import { describeArguments, describeQuestion, type QuestionView } from "../present/model.ts";
import { describeSample } from "../present/sampling-view.ts";
import { host, inert, inline, type VisibleOptions, visible } from "../present/text.ts";
import type { ElicitResult, RootsResult, SamplingParams, SamplingResult } from "../protocol/types.ts";
import type {
  CallItem,
  CallView,
  Decider,
  Decision,
  HistoryItem,
  QuestionItem,
  SamplingStage,
  TaskItem,
} from "./api.ts";
import type { ResolvedInboxOptions } from "./options.ts";
import { contextOf, requestOf } from "./questions.ts";
import { endOf } from "./tasks.ts";

const REASON_LENGTH = 1000;

/** What a server says of its task, as much of it as is shown. */
const IN_LIST = { maxLength: 200, maxLines: 3 };
const IN_CALL = { maxLength: 1000, maxLines: 10 };

/** @param call the whole of it, for what a summary leaves out: see {@link CallItem.task}. */
export function callItem(summary: PendingSummary, call?: PendingCall, words: VisibleOptions = IN_LIST): CallItem {
  const { id, server, method, target, state, open, round, startedAt, changedAt, answerBy, isError } = summary;
  return {
    id,
    server,
    serverName: inline(server, 100),
    method,
    target: inert(target, 300),
    state,
    open,
    round,
    startedAt,
    changedAt,
    ...(answerBy !== undefined && { answerBy }),
    ...(call?.task !== undefined && { task: taskItem(call.task, words) }),
    ...(call?.ending !== undefined && { ending: true }),
    ...(isError === true && { isError }),
  };
}

function taskItem(task: PendingTask, words: VisibleOptions): TaskItem {
  const { status, message, since } = task;
  const endsAt = endOf(task);
  return {
    status: inert(status, 50),
    ...(message !== undefined && {
      message: visible(message, { ...words, multiline: true, inertLinks: true }),
    }),
    since,
    ...(endsAt !== undefined && { endsAt }),
  };
}

export function callView(call: PendingCall, options: ResolvedInboxOptions): CallView {
  const given = call.params["arguments"];
  const { result, problem } = call;
  return {
    ...callItem(summaryOf(call), call, IN_CALL),
    version: call.version,
    ...(given !== undefined && { arguments: describeArguments(given) }),
    questions: call.questions.map((question) => questionItem(call, question, options)),
    history: call.history.map(historyItem),
    ...(result !== undefined && {
      result: {
        text: visible(result.text, {
          multiline: true,
          maxLength: result.text.length,
          maxLines: Number.POSITIVE_INFINITY,
        }),
        isError: result.isError,
      },
    }),
    ...(problem !== undefined && { problem: inert(problem, REASON_LENGTH) }),
    ...(isWaitingOnServer(call) && { waitingOnServer: true }),
    ...unreachable(call),
  };
}

/** Nothing is left to ask, and the server has not come to its end: check now, keep waiting or stop (L9). */
export function isWaitingOnServer({ state, pause, questions, ending }: PendingCall): boolean {
  if (state === "sending") return pause !== undefined && pause.type !== "task" && ending === undefined;
  const open = questions.filter(({ decision }) => decision === undefined);
  return state === "waiting" && open.length > 0 && open.every(({ repeated }) => repeated);
}

function unreachable({ state, pause }: PendingCall): Pick<CallView, "unreachable"> {
  if (state !== "sending") return {};
  if (pause?.type === "unreachable") return { unreachable: { at: pause.at } };
  return pause?.type === "lost" ? { unreachable: {} } : {};
}

/** @throws ParleyError `invalid_interim` for what a person cannot be shown. */
export function viewOf(call: PendingCall, question: PendingQuestion, options: ResolvedInboxOptions): QuestionView {
  const { allowSecretFields } = options;
  return describeQuestion(requestOf(call, question), contextOf(call, question), { allowSecretFields });
}

function questionItem(call: PendingCall, question: PendingQuestion, options: ResolvedInboxOptions): QuestionItem {
  const { id, decision, response } = question;
  const view = viewOf(call, question, options);
  const answer = response === undefined ? undefined : answerOf(view, response as ElicitResult);
  const { roots } = options;
  return {
    id,
    view,
    ...(decision !== undefined && { decision: decisionItem(decision) }),
    ...(answer !== undefined && { answer }),
    ...(view.kind === "sample" && decision === undefined && { sampling: stageOf(call, question, options) }),
    ...(view.kind === "roots" && decision === undefined && roots !== undefined && { roots: rootItems(roots) }),
  };
}

/** Masked where it must be: what a secret field holds leaves this process towards the server only (F1, B35). */
function answerOf(view: QuestionView, { content }: ElicitResult): QuestionItem["answer"] {
  if (view.kind !== "form" || content === undefined) return undefined;
  return view.fields.map((field) => ({ label: field.label, value: describeAnswer(field, content[field.field.name]) }));
}

function rootItems({ roots }: RootsResult): NonNullable<QuestionItem["roots"]> {
  return roots.map(({ uri, name }) => ({ uri: inline(uri, 500), ...(name !== undefined && { name: inline(name) }) }));
}

function stageOf(
  call: PendingCall,
  { sampling, ...question }: PendingQuestion,
  options: ResolvedInboxOptions,
): SamplingStage {
  const asked = requestOf(call, question).params as SamplingParams;
  switch (sampling?.stage) {
    case undefined:
      return { stage: "request", params: withoutMeta(asked) };
    case "running":
      if (sampling.until > options.clock.now()) return { stage: "running" };
      return { stage: "failed", reason: host("The run was interrupted."), params: withoutMeta(sampling.params) };
    case "response": {
      const result = withoutMeta(sampling.result) as SamplingResult;
      return { stage: "response", view: describeSample(sampling.result), result };
    }
    case "failed":
      return { stage: "failed", reason: inert(sampling.reason, REASON_LENGTH), params: withoutMeta(sampling.params) };
  }
}

/** Metadata is between programs; it is put back when the params or the result go on. */
function withoutMeta<T extends object>(value: T): T {
  const { _meta, ...rest } = value as T & { _meta?: unknown };
  return rest as T;
}

export function decisionItem({ action, by, at }: PendingDecision): Decision {
  return { action, by: deciderItem(by), at };
}

function deciderItem(by: PendingDecider): Decider {
  return by.type === "person" ? by : { type: "policy", rule: inert(by.rule, 100) };
}

function historyItem(event: PendingEvent): HistoryItem {
  const { at, round } = event;
  switch (event.type) {
    case "asked":
      return { at, round, type: "asked", questions: event.keys.map((key) => inert(key, 100)) };
    case "decided": {
      const { action, by } = event.decision;
      return { at, round, type: "decided", question: inert(event.key, 100), action, by: deciderItem(by) };
    }
    case "ended": {
      const { state, reason } = event;
      return { at, round, type: "ended", state, ...(reason !== undefined && { reason: inert(reason, REASON_LENGTH) }) };
    }
    case "ending":
      return { at, round, type: "ending", reason: inert(event.reason, REASON_LENGTH) };
    default:
      return event;
  }
}
