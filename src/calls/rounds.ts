import {
  CLIENT_CAPABILITIES_META_KEY,
  type Progress,
  ProtocolError,
  type Result,
  SdkError,
  SdkErrorCode,
} from "@modelcontextprotocol/client";
import { isObject } from "../internal/json.ts";
import { CALL_ID_META_KEY } from "../protocol/call-id.ts";
import { pause, within } from "./clock.ts";
import type { CallCore } from "./core.ts";
import type { CallContent } from "./events.ts";
import { type Interim, readInterim } from "./interim.ts";
import { type LegOutcome, LostLeg, sendLeg } from "./leg.ts";
import { adoptTask, followTask } from "./task.ts";
import { nextSpan } from "./trace.ts";

/**
 * Sends legs until the server asks something (`undefined`) or is done: its result, and how long the last leg took.
 * Without `follow` it also comes back from a task that only works: see `followTasks`.
 */
export async function advance(core: CallCore, follow: boolean): Promise<{ result: Result; ms: number } | undefined> {
  const { record } = core;
  const rules = core.interimRules;
  if (record.task !== undefined) return followTask(core, record.task, follow);
  for (let waits = 0; ; waits++) {
    const { outcome, ms } = await sendRound(core);
    if (outcome.kind === "complete") return { result: outcome.result, ms };
    if (outcome.kind === "task") {
      const task = adoptTask(core, outcome.raw);
      return follow ? followTask(core, task, follow) : undefined;
    }
    const interim = readInterim(outcome.raw, rules);
    core.take(interim);
    const questions = core.questions.map(({ key, kind }) => ({ key, kind }));
    core.emit({ type: "interim", questions, stateBytes: interim.stateBytes, ms }, contentOf(interim));
    if (questions.length > 0) return undefined;
    await pace(core, waits);
  }
}

/** One leg; sent again when it was lost (B24) and, once per call, without its state when that was refused (L13). */
async function sendRound(core: CallCore): Promise<{ outcome: LegOutcome; ms: number }> {
  const { clock, resendLostLegs } = core.setting.options;
  core.record.round += 1;
  if (core.record.answers.size > 0) core.record.startedOver = false;
  for (let lost = 0; ; ) {
    const startedAt = clock.now();
    try {
      const outcome = await sendOnce(core);
      return { outcome, ms: clock.now() - startedAt };
    } catch (error) {
      if ((error instanceof LostLeg || saysAgainLater(error)) && lost < resendLostLegs) {
        await pace(core, lost);
        lost += 1;
        core.emit({ type: "resent", attempt: lost });
      } else if (mayRestart(core, error)) {
        restart(core);
      } else if (error instanceof LostLeg) {
        throw error.cause ?? new SdkError(SdkErrorCode.ConnectionClosed, error.message);
      } else {
        throw error;
      }
    }
  }
}

function sendOnce(core: CallCore): Promise<LegOutcome> {
  const { client, options, legTimeoutMs, onProgress } = core.setting;
  const { answers, method, requests, round } = core.record;
  const legacy = client.getProtocolEra() !== "modern";
  const { params, traceparent } = legParams(core, legacy);
  core.emit(
    { type: "leg", answered: [...answers.keys()], ...(traceparent !== undefined && { traceparent }) },
    { params, requests },
  );
  // A 2025-era server asks people while the request is open (K7).
  const ms = legTimeoutMs + (legacy ? options.humanTimeoutMs : 0);
  const limit = { ms, error: () => core.error("leg_timeout", `${method} was not answered within ${ms} ms.`) };
  return within(options.clock, core.end, [limit, core.totalLimit], (scope) =>
    sendLeg(client, {
      server: options.server,
      method,
      params,
      scope,
      ...(onProgress && { onProgress: (progress: Progress) => onProgress(progress, round) }),
      onUntyped: () => core.emit({ type: "warning", warning: "missing_result_type" }),
    }),
  );
}

/**
 * The original params, this round's answers and no older ones (B14), and the latest interim result's state exactly
 * as it came, if it had one (B5 to B7). New objects: parallel calls share nothing (B10).
 */
function legParams(core: CallCore, legacy: boolean): { params: Record<string, unknown>; traceparent?: string } {
  const { params, capabilities, requests, answers, requestState } = core.record;
  const given = params["_meta"] as { traceparent?: string } | undefined;
  const traceparent = given?.traceparent && nextSpan(given.traceparent, core.setting.options.random);
  const meta = {
    ...given,
    ...(traceparent && { traceparent }),
    ...(!legacy && { [CLIENT_CAPABILITIES_META_KEY]: capabilities, [CALL_ID_META_KEY]: wireCallId(core) }),
  };
  const leg = {
    ...params,
    ...(Object.keys(meta).length > 0 && { _meta: meta }),
    ...(requests.size > 0 && { inputResponses: Object.fromEntries(answers) }),
    ...(requestState !== undefined && { requestState }),
  };
  return { params: leg, ...(traceparent && { traceparent }) };
}

/** The same over all legs, resent ones included; another after a restart, which is a new call to the server. */
function wireCallId({ record: { callId, restarted } }: CallCore): string {
  return restarted ? `${callId}-again` : callId;
}

function contentOf({ requests, requestState }: Interim): CallContent {
  return { requests, ...(requestState !== undefined && { requestState }) };
}

/** Waits, so that a round that nobody has to answer does not spin (I16). */
async function pace(core: CallCore, waits: number): Promise<void> {
  const { clock, pacing, random } = core.setting.options;
  const spread = 1 + pacing.jitter * (2 * random() - 1);
  const ms = Math.min(pacing.maxMs, pacing.initialMs * pacing.factor ** waits) * spread;
  core.emit({ type: "paced", ms });
  await within(clock, core.end, [core.totalLimit], (signal) => pause(clock, ms, signal));
}

/** A server whose ledger was away, or is busy with this very round, says so: the same request may be sent again. */
function saysAgainLater(error: unknown): boolean {
  const reason = error instanceof ProtocolError && isObject(error.data) ? error.data["reason"] : undefined;
  return reason === "ledger_unavailable" || reason === "round_running";
}

function mayRestart({ setting, record }: CallCore, error: unknown): boolean {
  const { restartRefusedState, maxRounds } = setting.options;
  if (!restartRefusedState || record.restarted || record.round >= maxRounds) return false;
  if (record.requestState === undefined || !(error instanceof ProtocolError) || error.code !== -32602) return false;
  return isObject(error.data) && error.data["reason"] === "invalid_request_state";
}

/** Back to the first request: nothing that was answered under the refused state counts any more. */
function restart(core: CallCore): void {
  core.emit({ type: "restarted" });
  const { record } = core;
  Object.assign(record, { requests: new Map(), answers: new Map(), acceptedUrls: new Map(), requestState: undefined });
  record.restarted = true;
  record.startedOver = true;
  record.round += 1;
}
