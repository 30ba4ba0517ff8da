/** One run of a task: the flow from the top, on its journal, until it ends or has to ask. */
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { messageOf, type ParleyError } from "../../errors.ts";
import type { ToolFlow } from "../../flow/define.ts";
import { createFlow } from "../../flow/flow.ts";
import type { Progress } from "../../flow/types.ts";
import { isObject } from "../../internal/json.ts";
import type { CallState } from "../../journal/entry.ts";
import type { JsonObject } from "../../protocol/types.ts";
import { type RoundOutcome, runRound } from "../../replay/round.ts";
import type { StepRecord } from "../../replay/types.ts";
import type { TaskPhase } from "../../tasks/contract.ts";
import { returnedNothing, tooManyRounds } from "../conclude.ts";
import { nodeDeps, type Schedule } from "../deps.ts";
import type { ParleyEvent } from "../events.ts";
import { checkOutput, toolArguments } from "../native/calls.ts";
import { checkedToolResult, toolError } from "../native/result.ts";
import type { ResolvedOptions } from "../options.ts";
import { endedByPerson, missingCapability, serverFault } from "../refusals.ts";
import type { TaskQuestions } from "./questions.ts";
import type { TaskBody, TaskEnd, TaskHead } from "./record.ts";
import { TaskStopped } from "./stopped.ts";
import { EXPIRED } from "./view.ts";

export interface TaskRunInput {
  readonly flow: ToolFlow;
  readonly head: TaskHead;
  readonly body: TaskBody;
  /** Where the body's flow stands in its version in hand. */
  readonly state: CallState;
  readonly questions: TaskQuestions;
  readonly signal: AbortSignal;
  readonly record: StepRecord;
}

/** Where the run left the task; `undefined`: nowhere, it is given back as it was. */
export interface TaskRunEnd {
  readonly body: TaskBody;
  readonly phase: TaskPhase;
  readonly wakeMs?: number;
}

export type RunnerOptions = Pick<ResolvedOptions, "now" | "schedule" | "runLimits" | "rounds" | "replay"> & {
  readonly schedule: Schedule;
  onEvent(event: ParleyEvent): void;
};

/** Pauses between two looks at what a task waits for outside (E11): a twentieth of the time it has waited, within these. */
const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

export async function runTask(input: TaskRunInput, options: RunnerOptions): Promise<TaskRunEnd | undefined> {
  const { flow, head, signal, questions } = input;
  const scope = { method: "tools/call", target: head.target } as const;
  const { callId, round, journal } = input.state;
  const outcome = await runRound(
    async (asker) => {
      const args = await toolArguments(entryOf(flow), head.params["arguments"]);
      const { capabilities, caller } = head;
      const sendProgress = async (progress: Progress) => {
        if (!asker.replaying) questions.progress(textOf(progress));
      };
      const own = createFlow(asker, { signal, caller, round, callId, capabilities, sendProgress });
      const result = await flow.run(args, own);
      if (isObject(result)) await checkOutput(entryOf(flow), result);
      return result;
    },
    {
      journal,
      pending: questions.pending,
      responses: questions.responses,
      live: questions,
      capabilities: head.capabilities,
      background: "here",
      // A task waits in no process: one look, and the next in its time.
      longestWaitMs: 0,
      limits: options.runLimits,
      signal,
      record: input.record,
      replay: options.replay,
      onEvent: (event) => options.onEvent({ ...event, ...scope }),
    },
    nodeDeps(callId, options.now, options.schedule),
  );
  return conclude(outcome, input, options);
}

/** A task of another version of its flow starts over under its call's id, so steps keep their idempotency keys. */
export function stateFor(flow: ToolFlow, { state }: TaskBody): CallState {
  if (state.version === flow.config.version) return state;
  const { version } = flow.config;
  const { callId, round } = state;
  return { callId, round, ...(version !== undefined && { version }), journal: [], pending: [] };
}

function textOf({ message, progress, total }: Progress): string {
  return message ?? (total === undefined ? `${progress}` : `${progress} of ${total}`);
}

function entryOf(flow: ToolFlow) {
  return { flow, input: flow.config.inputSchema, output: flow.config.outputSchema, headers: [] };
}

function conclude(
  outcome: RoundOutcome<unknown>,
  { state, body, head, signal, questions: asking }: TaskRunInput,
  options: RunnerOptions,
): TaskRunEnd | undefined {
  const ended = (given: TaskEnd, threw?: string): TaskRunEnd => {
    const why = unwritable(given);
    const end = why === undefined ? given : UNWRITABLE;
    const message = why ?? (end.status === "failed" ? end.error.message : threw);
    const error = message === undefined ? {} : { error: { message } };
    const { callId, round } = state;
    const common = { method: "tools/call", target: head.target, callId, round } as const;
    options.onEvent({ type: "task_ended", ...common, status: end.status, ...error });
    return { body: { ...body, state, put: [], updatedAt: options.now(), end }, phase: "ended" };
  };
  const fault = (error: ParleyError) =>
    error.code === "hold_lost" || error.code === "tasks_unavailable"
      ? undefined
      : ended(failedWith(serverFault(error)));
  switch (outcome.kind) {
    case "returned":
      return ended(completed(outcome.value, head.target));
    case "threw":
      if (signal.aborted) return stopped(signal, ended);
      return ended(thrown(outcome.error), faultOf(outcome.error));
    case "aborted":
      return stopped(signal, ended);
    case "missing_capability":
      return ended(failedWith(missingCapability(outcome.required)));
    case "failed":
      return fault(outcome.error);
    case "background":
      return undefined;
    case "asking": {
      const questions = Object.keys(outcome.requests).length;
      if (questions > 0 && state.round - (state.polls ?? 0) >= options.rounds) {
        return fault(tooManyRounds(options.rounds));
      }
      const { journal, pending, requests } = outcome;
      const asked = asking.assign(requests, pending);
      const round = state.round + (questions > 0 ? 1 : 0);
      const waits = pending.filter(({ kind }) => kind === "wait");
      const { message } = asking;
      const waitedMs = options.now() - Math.max(...waits.map(({ sinceMs = 0 }) => sinceMs));
      return {
        body: {
          ...asked,
          state: { ...state, round, journal, pending },
          updatedAt: options.now(),
          ...(message !== undefined && { message }),
        },
        phase: waits.length > 0 ? "ready" : "waiting",
        ...(waits.length > 0 && {
          wakeMs: Math.min(LONGEST_WAIT_MS, Math.max(SHORTEST_WAIT_MS, Math.ceil(waitedMs / 20))),
        }),
      };
    }
  }
}

function stopped(signal: AbortSignal, ended: (end: TaskEnd) => TaskRunEnd): TaskRunEnd | undefined {
  const why = signal.reason instanceof TaskStopped ? signal.reason.why : "lost";
  if (why === "cancelled") return ended({ status: "cancelled" });
  return why === "expired" ? ended(EXPIRED) : undefined;
}

/** H16: what the call itself would have returned. */
function completed(value: unknown, target: string): TaskEnd {
  if (!isObject(value) || value["resultType"] === "input_required") {
    return failedWith(serverFault(returnedNothing(target)));
  }
  try {
    const result = checkedToolResult(value) as JsonObject;
    return { status: "completed", result: { ...result, resultType: "complete" } };
  } catch (error) {
    return thrown(error);
  }
}

/** H15: an error of the protocol fails the task; everything else that a tool throws is a result that says so. */
function thrown(error: unknown): TaskEnd {
  const person = endedByPerson("tools/call", error);
  if (person?.type === "result") {
    return { status: "completed", result: { ...(person.value as JsonObject), resultType: "complete" } };
  }
  if (error instanceof ProtocolError) return failedWith(error);
  return { status: "completed", result: { ...(toolError(messageOf(error)) as JsonObject), resultType: "complete" } };
}

/** What is told of it on the event; a person's "no" is no fault. */
function faultOf(error: unknown): string | undefined {
  return endedByPerson("tools/call", error) === undefined ? messageOf(error) : undefined;
}

/** What a call is answered with whose result is no JSON (H16); the reason is for the event. */
const UNWRITABLE: TaskEnd = {
  status: "failed",
  error: { code: ProtocolErrorCode.InternalError, message: "Internal server error" },
};

/** Why an end cannot be stored. Left to the store it would count as a run that broke off, and the flow would run again. */
function unwritable(end: TaskEnd): string | undefined {
  try {
    JSON.stringify({ end });
    return undefined;
  } catch (error) {
    return `The result cannot be written as JSON: ${messageOf(error)}`;
  }
}

function failedWith({ code, message, data }: ProtocolError): TaskEnd {
  return { status: "failed", error: { code, message, ...(data !== undefined && { data }) } };
}
