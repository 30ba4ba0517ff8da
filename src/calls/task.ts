/** A call that went on as a task: looked at in the server's time, asked about once, answered, and cancelled with its call. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type Client,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
} from "@modelcontextprotocol/client";
import { ParleyError, reasonOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { LazySignal, type Signal } from "../internal/lazy-signal.ts";
import type { TaskMethod } from "../protocol/tasks.ts";
import { type Clock, pause, within } from "./clock.ts";
import type { CallCore } from "./core.ts";
import { readInterim } from "./interim.ts";
import { LostLeg, sendLeg } from "./leg.ts";
import { readResult } from "./results.ts";
import type { TaskRecord } from "./saved.ts";

/** Where the server does not say how often to look. */
const POLL_MS = 1_000;
/** Shortest pause before what was lost is sent again. */
const RESEND_MS = 250;
/** Longest that whoever aborts a call waits for its server to hear of it. */
const CANCEL_MS = 5_000;

/** @throws ParleyError `invalid_result` for a task on another method (H4), on a call that declared none, or without an id. */
export function adoptTask(core: CallCore, raw: Readonly<Record<string, unknown>>): TaskRecord {
  const { record, setting } = core;
  const { taskId } = raw;
  const why =
    record.method !== "tools/call"
      ? `${record.method} cannot become a task`
      : !setting.options.tasks
        ? "this call did not declare tasks"
        : typeof taskId !== "string" || taskId === ""
          ? "the task has no taskId"
          : undefined;
  if (why !== undefined) throw core.error("invalid_result", `"${setting.options.server}" broke section H: ${why}.`);
  const task = {
    taskId: String(taskId),
    since: setting.options.clock.now(),
    pollIntervalMs: POLL_MS,
    status: "",
    statusMessage: undefined,
    ttlMs: undefined,
    isOut: false,
    answered: new Set<string>(),
  };
  // The keys of its questions are its own (H24), and the rounds before it are over (H34).
  Object.assign(record, {
    requests: new Map(),
    answers: new Map(),
    acceptedUrls: new Map(),
    requestState: undefined,
    task,
  });
  see(core, task, raw);
  return task;
}

/**
 * Sends what was answered, and looks until the task asks something new (`undefined`) or has ended. Without `follow` it is
 * one exchange: the answers, or one look.
 */
export async function followTask(
  core: CallCore,
  task: TaskRecord,
  follow: boolean,
): Promise<{ result: Result; ms: number } | undefined> {
  const { clock, taskOutageMs } = core.setting.options;
  const outageMs = follow ? taskOutageMs : 0;
  if (core.record.answers.size > 0) {
    await sendAnswers(core, task, outageMs);
    if (!follow) return undefined;
  }
  for (;;) {
    const startedAt = clock.now();
    const seen = await send(core, "tasks/get", { taskId: task.taskId }, outageMs);
    const ms = clock.now() - startedAt;
    if (seen["taskId"] !== undefined && seen["taskId"] !== task.taskId) throw invalid(core, "it tells of another task");
    see(core, task, seen);
    switch (seen["status"]) {
      case "completed":
        return { result: await resultIn(core, seen), ms };
      case "failed":
        throw errorIn(seen);
      case "cancelled":
        throw core.error("task_cancelled", "The task was cancelled at its server.", {
          details: { taskId: task.taskId },
        });
    }
    if (asksSomethingNew(core, task, seen, ms) || !follow) return undefined;
    await within(clock, core.end, [core.totalLimit], (signal) => pause(clock, task.pollIntervalMs, signal));
  }
}

/** A task to be cancelled, as a saved call knows it. */
export interface Cancelling {
  readonly server: string;
  readonly taskId: string;
  readonly capabilities: object;
  readonly timeoutMs: number;
  readonly signal: Signal;
}

/**
 * Tells the server that nobody waits for the task any more (H28); resolves once it has heard of it.
 * @throws ParleyError `leg_timeout`, the SDK's ProtocolError, or what the transport threw.
 */
export async function cancelTask(client: Client, cancelling: Cancelling, clock: Clock): Promise<void> {
  const { server, taskId, capabilities, timeoutMs, signal } = cancelling;
  const params = withEnvelope(capabilities, { taskId });
  const error = () => new ParleyError("leg_timeout", `tasks/cancel was not answered within ${timeoutMs} ms.`);
  await within(clock, signal, [{ ms: timeoutMs, error }], (scope) =>
    sendLeg(client, { server, method: "tasks/cancel", params, scope, onUntyped: () => {} }),
  );
}

/** For a call that was aborted. Never rejects: the call is over, whatever becomes of its task. */
export async function abandonTask(core: CallCore): Promise<void> {
  const { client, options, legTimeoutMs } = core.setting;
  const { task, capabilities } = core.record;
  if (task === undefined) return;
  const timeoutMs = Math.min(legTimeoutMs, CANCEL_MS);
  const cancelling = { server: options.server, taskId: task.taskId, capabilities, timeoutMs, signal: new LazySignal() };
  const acknowledged = await cancelTask(client, cancelling, options.clock).then(
    () => true,
    () => false,
  );
  core.emit({ type: "task_cancel", acknowledged });
}

/** H21, H25: all of them at once. A server counts the first answer to a key, so a lost update can be sent again. */
async function sendAnswers(core: CallCore, task: TaskRecord, outageMs: number): Promise<void> {
  const { record } = core;
  const answered = [...record.answers.keys()];
  record.round += 1;
  core.emit({ type: "leg", answered });
  const inputResponses = Object.fromEntries(record.answers);
  await send(core, "tasks/update", { taskId: task.taskId, inputResponses }, outageMs);
  for (const key of answered) task.answered.add(key);
  Object.assign(record, { requests: new Map(), answers: new Map(), startedOver: false });
}

/** H23: what was answered is not put again, though the server may show it for a while (H27). */
function asksSomethingNew(
  core: CallCore,
  { answered }: TaskRecord,
  seen: Record<string, unknown>,
  ms: number,
): boolean {
  if (seen["status"] !== "input_required" || !isObject(seen["inputRequests"])) return false;
  const fresh = Object.entries(seen["inputRequests"]).filter(([key]) => !answered.has(key));
  if (fresh.length === 0) return false;
  const interim = readInterim({ inputRequests: Object.fromEntries(fresh) }, core.interimRules);
  core.take(interim);
  const questions = core.questions.map(({ key, kind }) => ({ key, kind }));
  core.emit({ type: "interim", questions, stateBytes: 0, ms }, { requests: interim.requests });
  return true;
}

/** The latest word on status, interval (H19) and life (H20). A status that is not known yet is a task that goes on (B48). */
function see(
  core: CallCore,
  task: TaskRecord,
  { status, statusMessage, pollIntervalMs, ttlMs }: Record<string, unknown>,
): void {
  if (ttlMs === null || (Number.isSafeInteger(ttlMs) && Number(ttlMs) >= 0)) task.ttlMs = ttlMs as number | null;
  if (Number.isSafeInteger(pollIntervalMs) && Number(pollIntervalMs) > 0) task.pollIntervalMs = Number(pollIntervalMs);
  const message = typeof statusMessage === "string" ? statusMessage : undefined;
  const word = typeof status === "string" ? status : "unknown";
  const back = task.isOut;
  if (task.status === word && task.statusMessage === message && !back) return;
  Object.assign(task, { status: word, statusMessage: message, isOut: false });
  core.emit({
    type: "task",
    status: task.status,
    ...(message !== undefined && { statusMessage: message }),
    ...(back && { back }),
  });
}

/** One request, sent again when its response was lost, and for `outageMs` while the server is out: each of the three can be. */
async function send(
  core: CallCore,
  method: TaskMethod,
  own: Record<string, unknown>,
  outageMs: number,
): Promise<Record<string, unknown>> {
  const { client, options, legTimeoutMs } = core.setting;
  const params = withEnvelope(core.record.capabilities, own);
  const limit = {
    ms: legTimeoutMs,
    error: () => core.error("leg_timeout", `${method} was not answered within ${legTimeoutMs} ms.`),
  };
  const onUntyped = () => core.emit({ type: "warning", warning: "missing_result_type" });
  let lostAt: number | undefined;
  for (let lost = 0; ; lost++) {
    try {
      const outcome = await within(options.clock, core.end, [limit, core.totalLimit], (scope) =>
        sendLeg(client, { server: options.server, method, params, scope, onUntyped }),
      );
      if (outcome.kind === "complete") return outcome.result;
      throw core.error(
        "invalid_result",
        `"${options.server}" answered ${method} with a result of ${outcome.kind} (H37).`,
      );
    } catch (error) {
      const gone = error instanceof LostLeg;
      lostAt ??= options.clock.now();
      const patient = options.clock.now() - lostAt < outageMs && (gone || isOutage(error));
      if (!patient && (!gone || lost >= options.resendLostLegs)) throw gone ? (error.cause ?? error) : error;
      core.emit({ type: "resent", attempt: lost + 1 });
      if (core.record.task !== undefined) core.record.task.isOut = true;
      const pauseMs = Math.max(core.record.task?.pollIntervalMs ?? POLL_MS, RESEND_MS);
      await within(options.clock, core.end, [core.totalLimit], (signal) => pause(options.clock, pauseMs, signal));
    }
  }
}

/** A server that is too slow, or cannot reach what it keeps its tasks in: of the task itself it says nothing. */
export function isOutage(error: unknown): boolean {
  if (error instanceof ProtocolError) return error.code === ProtocolErrorCode.InternalError;
  return error instanceof ParleyError && error.code === "leg_timeout";
}

function withEnvelope(capabilities: object, own: Record<string, unknown>): Record<string, unknown> {
  return { ...own, _meta: { [CLIENT_CAPABILITIES_META_KEY]: capabilities } };
}

/** H16: judged as the call's own answer would be, so that no question passes for one (B01). Its `resultType` is optional (L34). */
async function resultIn(core: CallCore, { result }: Record<string, unknown>): Promise<Result> {
  if (!isObject(result)) throw invalid(core, "the completed task has no result (H10)");
  try {
    return await readResult(core.record.method, { resultType: "complete", ...result });
  } catch (error) {
    throw invalid(core, reasonOf(error), error);
  }
}

function invalid(core: CallCore, why: string, cause?: unknown): ParleyError {
  const message = `What "${core.setting.options.server}" answered to tasks/get cannot be used: ${why}.`;
  return core.error("invalid_result", message, { cause });
}

/** H15: as the call itself would have failed. */
function errorIn({ error }: Record<string, unknown>): ProtocolError {
  const { code, message, data } = isObject(error) ? error : {};
  return ProtocolError.fromError(
    Number.isSafeInteger(code) ? Number(code) : -32_603,
    typeof message === "string" ? message : "The task failed",
    data,
  );
}
