import { ParleyError, reasonOf } from "../errors.ts";
import { isObject } from "../internal/json.ts";
import {
  type ClientCapabilities,
  type InputRequest,
  type InputResponse,
  MRTR_METHODS,
  type MrtrMethod,
} from "../protocol/types.ts";
import { checkAnswer } from "./answers.ts";
import { readInterim } from "./interim.ts";
import type { ResolvedOptions } from "./options.ts";
import { freezeParams } from "./params.ts";

/** What a call remembers between two rounds. Times are milliseconds since the epoch; `undefined` is no deadline. */
export interface CallRecord {
  readonly callId: string;
  readonly method: MrtrMethod;
  /** Frozen; exactly what is sent again on each retry (B11, L12). */
  readonly params: Readonly<Record<string, unknown>>;
  /** Declared on every leg (B17). */
  readonly capabilities: ClientCapabilities;
  readonly endBy: number | undefined;
  round: number;
  restarted: boolean;
  /** Since the restart nothing was answered: who is asked now is told why. */
  startedOver: boolean;
  requestState: string | undefined;
  requests: ReadonlyMap<string, InputRequest>;
  answers: Map<string, InputResponse>;
  /** Urls a person accepted, by key, to tell a repeated one (E24). */
  acceptedUrls: Map<string, string>;
  answerBy: number | undefined;
  /** What the call became, once it is a task. */
  task: TaskRecord | undefined;
}

/** A task as its client remembers it. */
export interface TaskRecord {
  readonly taskId: string;
  /** When this side heard of it first; a call that an older version saved does not know. */
  readonly since: number | undefined;
  pollIntervalMs: number;
  status: string;
  statusMessage: string | undefined;
  ttlMs: number | null | undefined;
  /** Its server could not be reached when it was last looked for. */
  isOut: boolean;
  /** Keys that were answered: each is answered once, however often it is seen (H23). */
  readonly answered: Set<string>;
}

/** {@link CallRecord} as JSON. Holds `requestState` and answers: store it as a secret. */
export interface SavedCall {
  readonly format: "mcp-parley/call";
  readonly version: 1;
  /** The host's own name for the server. */
  readonly server: string;
  readonly callId: string;
  readonly method: MrtrMethod;
  readonly params: Readonly<Record<string, unknown>>;
  readonly capabilities: ClientCapabilities;
  readonly round: number;
  readonly restarted: boolean;
  /** See {@link CallRecord.startedOver}. */
  readonly startedOver?: boolean;
  readonly requestState?: string;
  readonly questions: Readonly<Record<string, InputRequest>>;
  readonly answers: Readonly<Record<string, InputResponse>>;
  readonly acceptedUrls: Readonly<Record<string, string>>;
  readonly answerBy?: number;
  readonly endBy?: number;
  /** The task that the call became (H19). */
  readonly task?: {
    readonly taskId: string;
    readonly since?: number;
    readonly ttlMs?: number | null;
    readonly pollIntervalMs: number;
    readonly answered: readonly string[];
  };
}

export function saveCall(server: string, record: CallRecord): SavedCall {
  const { callId, method, params, capabilities, round, restarted, requestState, answerBy, endBy, task } = record;
  return structuredClone({
    format: "mcp-parley/call",
    version: 1,
    server,
    callId,
    method,
    params,
    capabilities,
    round,
    restarted,
    ...(record.startedOver && { startedOver: true }),
    ...(requestState !== undefined && { requestState }),
    questions: Object.fromEntries(record.requests),
    answers: Object.fromEntries(record.answers),
    acceptedUrls: Object.fromEntries(record.acceptedUrls),
    ...(answerBy !== undefined && { answerBy }),
    ...(endBy !== undefined && { endBy }),
    ...(task !== undefined && {
      task: {
        taskId: task.taskId,
        ...(task.since !== undefined && { since: task.since }),
        ...(task.ttlMs !== undefined && { ttlMs: task.ttlMs }),
        pollIntervalMs: task.pollIntervalMs,
        answered: [...task.answered],
      },
    }),
  });
}

/** What a saved call is held against: the options of the calls it is resumed by. */
type SavedRules = Pick<ResolvedOptions, "server" | "maxRequestStateBytes" | "maxQuestions">;

/**
 * Reads what {@link saveCall} wrote, as an object or as its JSON text, trusting none of it: questions and answers
 * are checked as if they had just come in, params as those of a new call.
 * @throws ParleyError `invalid_resume`, with the field in `details.field`.
 */
export function readSaved(saved: unknown, options: SavedRules): CallRecord {
  const { server, maxRequestStateBytes, maxQuestions } = options;
  const value = parse(saved);
  if (!isObject(value)) throw invalid("", "the saved call is not an object");
  const field = <T>(name: string, rule: string, holds: (member: unknown) => boolean): T => {
    if (!holds(value[name])) throw invalid(name, rule);
    return value[name] as T;
  };
  field("format", "is not a saved call", (member) => member === "mcp-parley/call");
  field("version", "must be 1", (member) => member === 1);
  field("server", "names another server", (member) => member === server);
  const capabilities = field<ClientCapabilities>("capabilities", "must be an object", isObject);
  const questions = field<Record<string, unknown>>("questions", "must be an object", isObject);
  const requestState = field<string | undefined>("requestState", "must be a string", optional(isString));
  const task = field<SavedCall["task"]>("task", "must be a task with the keys that were answered", optional(isTask));
  const rules = { server, declared: capabilities, maxRequestStateBytes, maxQuestions };
  const requests = check("questions", () => {
    if (Object.keys(questions).length === 0 && (requestState !== undefined || task !== undefined))
      return new Map<string, InputRequest>();
    return readInterim({ inputRequests: questions }, rules).requests;
  });
  const answers = Object.entries(field<Record<string, unknown>>("answers", "must be an object", isObject));
  const acceptedUrls = field<Record<string, string>>("acceptedUrls", "must map keys to strings", isStringMap);
  const method = field<MrtrMethod>("method", "is not one that can ask", (member) =>
    MRTR_METHODS.includes(member as MrtrMethod),
  );
  return {
    callId: field("callId", "must be 32 hexadecimal digits", (member) => isString(member) && CALL_ID.test(member)),
    method,
    params: freezeParams(method, value["params"], undefined, invalid),
    capabilities,
    endBy: field("endBy", "must be a time", optional(isTime)),
    round: field("round", "must be a positive integer", (member) => Number.isSafeInteger(member) && Number(member) > 0),
    restarted: field("restarted", "must be a boolean", isBoolean),
    startedOver: field("startedOver", "must be a boolean", optional(isBoolean)) === true,
    requestState,
    requests,
    answers: new Map(answers.map(([key, answer]) => [key, readAnswer(key, requests.get(key), answer)])),
    acceptedUrls: new Map(Object.entries(acceptedUrls)),
    answerBy: field("answerBy", "must be a time", optional(isTime)),
    task: task && {
      taskId: task.taskId,
      since: task.since,
      ttlMs: task.ttlMs,
      pollIntervalMs: task.pollIntervalMs,
      status: "working",
      statusMessage: undefined,
      isOut: false,
      answered: new Set(task.answered),
    },
  };
}

function readAnswer(key: string, request: InputRequest | undefined, answer: unknown): InputResponse {
  const name = `answers.${key}`;
  if (request === undefined) throw invalid(name, "answers no question");
  return check(name, () => checkAnswer(key, request, answer));
}

function check<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalid(name, reasonOf(error), error);
  }
}

/** A copy of its own, so that neither side can change the other's. */
function parse(saved: unknown): unknown {
  try {
    return JSON.parse(typeof saved === "string" ? saved : JSON.stringify(saved)) as unknown;
  } catch {
    // The engine's own message quotes the text, and with it the state.
    throw invalid("", "it is not JSON");
  }
}

const CALL_ID = /^[0-9a-f]{32}$/;
const isTime = (member: unknown): boolean => Number.isFinite(member) && Number(member) >= 0;
const isBoolean = (member: unknown): member is boolean => typeof member === "boolean";
const isString = (member: unknown): member is string => typeof member === "string";
const isStringMap = (member: unknown): boolean => isObject(member) && Object.values(member).every(isString);
const isTask = (member: unknown): boolean =>
  isObject(member) &&
  isString(member["taskId"]) &&
  isTime(member["pollIntervalMs"]) &&
  optional(isTime)(member["since"]) &&
  (member["ttlMs"] === null || optional(isTime)(member["ttlMs"])) &&
  Array.isArray(member["answered"]) &&
  member["answered"].every(isString);
const optional =
  (holds: (member: unknown) => boolean) =>
  (member: unknown): boolean =>
    member === undefined || holds(member);

function invalid(field: string, rule: string, cause?: unknown): ParleyError {
  const where = field === "" ? "" : ` ${field}:`;
  return new ParleyError("invalid_resume", `The saved call cannot be resumed:${where} ${rule}.`, {
    cause,
    details: { field },
  });
}
