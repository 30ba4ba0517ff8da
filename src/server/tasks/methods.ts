/** `tasks/get`, `tasks/update` and `tasks/cancel`, whatever carries them (section H). */
import { type AuthInfo, ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import { isObject } from "../../internal/json.ts";
import { declaresTasks, type TaskMethod } from "../../protocol/tasks.ts";
import type { ClientCapabilities } from "../../protocol/types.ts";
import { TASKS_MISSING } from "../../replay/background.ts";
import type { Principal } from "../../state/index.ts";
import { named } from "../../tasks/guard.ts";
import { isAnswer } from "../native/calls.ts";
import { missingCapability, serverFault } from "../refusals.ts";
import type { TaskDesk } from "./desk.ts";
import { undeclaredIn } from "./view.ts";

export interface TaskRequest {
  readonly method: TaskMethod;
  readonly params: Readonly<Record<string, unknown>>;
  /** Of `tasks/update`, as they came. */
  readonly inputResponses: unknown;
  /** What this request declared; `undefined` where it came without an envelope, in an earlier era. */
  readonly capabilities: ClientCapabilities | undefined;
  readonly authInfo: AuthInfo | undefined;
}

export class TaskMethods {
  readonly #desk: TaskDesk;
  readonly #principal: (authInfo: AuthInfo | undefined) => Principal | null;

  constructor(desk: TaskDesk, principal: (authInfo: AuthInfo | undefined) => Principal | null) {
    this.#desk = desk;
    this.#principal = principal;
  }

  /** @throws ProtocolError */
  async serve({
    method,
    params,
    inputResponses,
    capabilities,
    authInfo,
  }: TaskRequest): Promise<Record<string, unknown>> {
    // Under an earlier revision the extension's name enables nothing (H38).
    if (capabilities === undefined) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, "Method not found");
    if (!declaresTasks(capabilities)) throw missingCapability(TASKS_MISSING);
    const { taskId } = params;
    if (typeof taskId !== "string") throw invalid("params.taskId must be a string");
    const caller = this.#principal(authInfo);
    try {
      switch (method) {
        case "tasks/get":
          return await this.#get(taskId, caller, capabilities);
        case "tasks/update":
          return ack(await this.#desk.update(taskId, caller, answersIn(inputResponses)));
        case "tasks/cancel":
          return ack(await this.#desk.cancel(taskId, caller));
      }
    } catch (error) {
      throw error instanceof ProtocolError ? error : serverFault(named(error));
    }
  }

  async #get(taskId: string, caller: Principal | null, declared: ClientCapabilities): Promise<Record<string, unknown>> {
    const task = await this.#desk.get(taskId, caller);
    if (task === undefined) throw unknownTask();
    const missing = undeclaredIn(task, declared);
    if (missing !== undefined) throw missingCapability(missing);
    return { resultType: "complete", ...task };
  }
}

/** H27, H28 */
function ack(known: boolean): Record<string, unknown> {
  if (!known) throw unknownTask();
  return { resultType: "complete" };
}

/** L37: what is no map of answers is malformed; what is in it is judged question by question. */
function answersIn(responses: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(responses) || !Object.values(responses).every(isAnswer)) {
    throw invalid("params.inputResponses must be an object of answers");
  }
  return responses;
}

/** One answer for ids that are unknown, gone, or another caller's (H18, L36). */
function unknownTask(): ProtocolError {
  return invalid("Unknown taskId");
}

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message);
}
