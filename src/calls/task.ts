/** A call that went on as a task: looked at in the server's time, asked about once, answered, and cancelled with its call. */
import { CLIENT_CAPABILITIES_META_KEY, ProtocolError, type Result } from "@modelcontextprotocol/client";
import { type ParleyError, reasonOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import { LazySignal } from "../internal/lazy-signal.ts";
import type { TaskMethod } from "../protocol/tasks.ts";
import { pause, within } from "./clock.ts";
import type { CallCore } from "./core.ts";
import { readInterim } from "./interim.ts";
import { LostLeg, sendLeg } from "./leg.ts";
import { readResult } from "./results.ts";
import type { TaskRecord } from "./saved.ts";

/** Where the server does not say how often to look. */
const POLL_MS = 1_000;

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
    pollIntervalMs: POLL_MS,
    status: "",
    statusMessage: undefined,
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

/** Sends what was answered, and looks until the task asks something new (`undefined`) or has ended. */
export async function followTask(
  core: CallCore,
  task: TaskRecord,
): Promise<{ result: Result; ms: number } | undefined> {
  const { clock } = core.setting.options;
  await sendAnswers(core, task);
  for (;;) {
    const startedAt = clock.now();
    const seen = await send(core, "tasks/get", { taskId: task.taskId });
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
    if (asksSomethingNew(core, task, seen, ms)) return undefined;
    await within(clock, core.end, [core.totalLimit], (signal) => pause(clock, task.pollIntervalMs, signal));
  }
}

/** Tells the server that nobody waits for the task any more (H28). A courtesy: the call is over whatever becomes of it. */
export function cancelTask({ setting, record }: CallCore): void {
  if (record.task === undefined) return;
  const params = withEnvelope(record.capabilities, { taskId: record.task.taskId });
  const scope = new LazySignal();
  AbortSignal.timeout(setting.legTimeoutMs).addEventListener("abort", () => scope.abort(), { once: true });
  const { server } = setting.options;
  const leg = { server, method: "tasks/cancel", params, scope, onUntyped: () => {} } as const;
  sendLeg(setting.client, leg).catch(() => undefined);
}

/** H21, H25: all of them at once. A server counts the first answer to a key, so a lost update can be sent again. */
async function sendAnswers(core: CallCore, task: TaskRecord): Promise<void> {
  const { record } = core;
  if (record.answers.size === 0) return;
  const answered = [...record.answers.keys()];
  record.round += 1;
  core.emit({ type: "leg", answered });
  await send(core, "tasks/update", { taskId: task.taskId, inputResponses: Object.fromEntries(record.answers) });
  for (const key of answered) task.answered.add(key);
  Object.assign(record, { requests: new Map(), answers: new Map() });
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

/** The latest word on status and interval (H19). A status that is not known yet is a task that goes on (B48). */
function see(
  core: CallCore,
  task: TaskRecord,
  { status, statusMessage, pollIntervalMs }: Record<string, unknown>,
): void {
  if (Number.isSafeInteger(pollIntervalMs) && Number(pollIntervalMs) > 0) task.pollIntervalMs = Number(pollIntervalMs);
  const message = typeof statusMessage === "string" ? statusMessage : undefined;
  const word = typeof status === "string" ? status : "unknown";
  if (task.status === word && task.statusMessage === message) return;
  Object.assign(task, { status: word, statusMessage: message });
  core.emit({ type: "task", status: task.status, ...(message !== undefined && { statusMessage: message }) });
}

/** One request, sent again when its response was lost: each of the three can be. */
async function send(
  core: CallCore,
  method: TaskMethod,
  own: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const { client, options, legTimeoutMs } = core.setting;
  const params = withEnvelope(core.record.capabilities, own);
  const limit = {
    ms: legTimeoutMs,
    error: () => core.error("leg_timeout", `${method} was not answered within ${legTimeoutMs} ms.`),
  };
  const onUntyped = () => core.emit({ type: "warning", warning: "missing_result_type" });
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
      if (!(error instanceof LostLeg)) throw error;
      if (lost >= options.resendLostLegs) throw error.cause ?? error;
      core.emit({ type: "resent", attempt: lost + 1 });
      const { pollIntervalMs = POLL_MS } = core.record.task ?? {};
      await within(options.clock, core.end, [core.totalLimit], (signal) =>
        pause(options.clock, pollIntervalMs, signal),
      );
    }
  }
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
