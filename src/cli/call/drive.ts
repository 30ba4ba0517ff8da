/** One call from its first request to its result, and what becomes of its task when this side cannot answer. */
import type { Client } from "@modelcontextprotocol/client";
import type { Call, CallParams, CallResults } from "../../calls/call.ts";
import { createCalls } from "../../calls/calls.ts";
import { capabilitiesOf } from "../../calls/capabilities.ts";
import { systemClock } from "../../calls/clock.ts";
import type { CallEvent } from "../../calls/events.ts";
import type { Responders } from "../../calls/responder.ts";
import { cancelTask } from "../../calls/task.ts";
import { TASKS_EXTENSION } from "../../protocol/tasks.ts";
import type { MrtrMethod } from "../../protocol/types.ts";
import type { Recording } from "../../transcript/index.ts";

/** One answer of the server. `stateBytes` is the size of what it wants back; 0 with the final result. */
export interface Round {
  readonly questions: readonly string[];
  readonly stateBytes: number;
  readonly ms: number;
}

export interface Drive {
  readonly method: MrtrMethod;
  readonly params: CallParams[MrtrMethod];
  readonly server: string;
  readonly responders: Responders;
  readonly rounds: Round[];
  readonly signal: AbortSignal;
  readonly recording: Recording | undefined;
  /** Tells how a task stands that the call has become. */
  onTask(event: CallEvent): void;
}

/** A task that waits for an answer which this command cannot give: nobody would take it up again. */
const UNANSWERED = new Set(["unanswerable", "invalid_content", "human_timeout"]);
/** Longest that the end of the command waits for the server to hear of it. */
const CANCEL_MS = 5000;

/** @throws what `call.run` throws, after a task that nobody answers was cancelled at its server (H28). */
export async function drive(client: Client, setting: Drive): Promise<CallResults[MrtrMethod]> {
  const { method, params, server, responders, rounds, signal, recording, onTask } = setting;
  const now: { call?: Call; unanswered?: Extract<CallEvent, { type: "failed" }> } = {};
  const onEvent = (event: CallEvent) => {
    const ms = "ms" in event ? Math.round(event.ms) : 0;
    if (event.type === "interim") {
      rounds.push({ questions: event.questions.map(({ key }) => key), stateBytes: event.stateBytes, ms });
    } else if (event.type === "complete") rounds.push({ questions: [], stateBytes: 0, ms });
    if (event.type === "failed" && UNANSWERED.has(event.code) && now.call?.task !== undefined) now.unanswered = event;
    else onTask(event);
  };
  const calls = createCalls(client, { server, responders, onEvent, ...(recording && { recorder: recording }) });
  try {
    now.call = await calls.open(method, params, { signal });
    return await now.call.run();
  } catch (error) {
    const { call, unanswered } = now;
    if (call?.task !== undefined && unanswered !== undefined) {
      const acknowledged = await cancel(client, setting, call.task.taskId);
      onTask({ ...unanswered, type: "task_cancel", acknowledged });
    }
    throw error;
  }
}

async function cancel(client: Client, { server, responders, signal }: Drive, taskId: string): Promise<boolean> {
  const capabilities = { ...capabilitiesOf(responders), extensions: { [TASKS_EXTENSION]: {} } };
  const cancelling = { server, taskId, capabilities, timeoutMs: CANCEL_MS, signal };
  return cancelTask(client, cancelling, systemClock).then(
    () => true,
    () => false,
  );
}
