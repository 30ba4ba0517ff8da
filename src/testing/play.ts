import type { AuthInfo } from "@modelcontextprotocol/server";
import { ParleyError } from "../errors.ts";
import type { AnyFlow, PromptFlow, ResourceFlow, ToolFlow } from "../flow/define.ts";
import type { Flow, Progress } from "../flow/types.ts";
import { CALL_ID_META_KEY } from "../protocol/call-id.ts";
import type { ClientCapabilities, InputRequest, InputRequests, InputResponse, MrtrMethod } from "../protocol/types.ts";
import type { ParleyEvent } from "../server/events.ts";
import { type ParleyLimits, type ParleyOptions, resolveOptions } from "../server/options.ts";
import { RoundServer } from "../server/serve.ts";
import type { FakeClock } from "./clock.ts";

/** What a flow's handler returns. */
export type ResultOf<F extends AnyFlow> = Awaited<ReturnType<F["run"]>>;

export interface PlayOptions {
  /** Arguments of a tool or prompt; validated by its schema, as a server does. Default `{}`. */
  readonly args?: Record<string, unknown>;
  /** The URI read, and what a template makes of it. Default: the resource's own URI. */
  readonly uri?: string;
  readonly variables?: Record<string, string | string[]>;
  /** What the client declares. Default: everything. */
  readonly capabilities?: ClientCapabilities;
  readonly authInfo?: AuthInfo;
  readonly limits?: ParleyLimits;
  /** `"every-step"` replays after every entry; the result must not change. */
  readonly replay?: "when-needed" | "every-step";
  /** Default: time stands still. */
  readonly clock?: FakeClock;
  readonly onEvent?: (event: ParleyEvent) => void;
  readonly onProgress?: (progress: Progress) => void;
  readonly signal?: AbortSignal;
  /** Rounds count once, as on a server with a ledger. */
  readonly ledger?: ParleyOptions["ledger"];
  /** The name this call is given by its client (22 base64url characters or more), so that its first round counts once. */
  readonly callId?: string;
}

/** One round: either what is asked now, or the result. */
export interface PlayedRound<R> {
  readonly questions: InputRequests;
  /** The sealed state that goes back with the answers. */
  readonly requestState: string | undefined;
  readonly result: R | undefined;
}

/** A call in memory, through the real state and the real engine. */
export interface PlayedCall<R> {
  /** Rounds so far, the first included. */
  readonly rounds: readonly PlayedRound<R>[];
  /**
   * Sends the next request: the first one, or a retry with these answers and the latest state.
   * @param override replaces the state, to show what becomes of a forged one.
   */
  next(answers?: Record<string, unknown>, override?: { requestState?: unknown }): Promise<PlayedRound<R>>;
}

/** Everything a client can declare. */
export const ALL_CAPABILITIES: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
};

/** A key for tests only: 32 bytes counting up. */
const TEST_KEY = Uint8Array.from({ length: 32 }, (_, index) => index);

/** Starts a call of `flow`; nothing runs before the first `next()`. */
export function startFlow<F extends AnyFlow>(flow: F, options: PlayOptions = {}): PlayedCall<ResultOf<F>> {
  const now = options.clock?.now ?? (() => 0);
  const server = new RoundServer(
    resolveOptions({
      keys: [TEST_KEY],
      callers: "anonymous",
      now,
      onEvent: options.onEvent ?? (() => undefined),
      ...(options.limits !== undefined && { limits: options.limits }),
      ...(options.replay !== undefined && { replay: options.replay }),
      ...(options.ledger !== undefined && { ledger: options.ledger }),
    }),
    "here",
  );
  const rounds: PlayedRound<ResultOf<F>>[] = [];
  const { method, target, params: own } = requestOf(flow, options);
  const params = options.callId === undefined ? own : { ...own, _meta: { [CALL_ID_META_KEY]: options.callId } };
  return {
    rounds,
    async next(inputResponses, override = {}) {
      const requestState = "requestState" in override ? override.requestState : rounds.at(-1)?.requestState;
      const args = await validated(flow, options.args ?? {});
      const served = await server.serve<ResultOf<F>>(
        {
          version: flow.config.version,
          singleUse: flow.config.singleUse,
          run: (own) => runFlow(flow, args, options, own) as ResultOf<F>,
        },
        {
          method,
          target,
          params,
          inputResponses,
          requestState,
          authInfo: options.authInfo,
          capabilities: options.capabilities ?? ALL_CAPABILITIES,
          checkCapabilities: true,
          signal: options.signal ?? new AbortController().signal,
          sendProgress: async (progress) => options.onProgress?.(progress),
        },
      );
      const round = asRound<ResultOf<F>>(served as ResultOf<F>);
      rounds.push(round);
      return round;
    },
  };
}

/** Answers by key: an answer, a list of answers for a question that is asked again, or a function of the question. */
export type Answers = Record<string, InputResponse | InputResponse[] | ((request: InputRequest) => InputResponse)>;

/**
 * Plays `flow` to its result with scripted answers.
 * @throws ParleyError `unanswerable` for a question that `answers` does not cover.
 */
export async function playFlow<F extends AnyFlow>(
  flow: F,
  options: PlayOptions & { readonly answers?: Answers } = {},
): Promise<{ result: ResultOf<F>; rounds: readonly PlayedRound<ResultOf<F>>[] }> {
  const call = startFlow(flow, options);
  const times = new Map<string, number>();
  let round = await call.next();
  while (round.requestState !== undefined) {
    const answers: Record<string, unknown> = {};
    for (const [key, request] of Object.entries(round.questions)) {
      const time = times.get(key) ?? 0;
      times.set(key, time + 1);
      answers[key] = answerTo(key, request, options.answers?.[key], time);
    }
    round = await call.next(answers);
  }
  return { result: round.result as ResultOf<F>, rounds: call.rounds };
}

function answerTo(key: string, request: InputRequest, scripted: Answers[string] | undefined, time: number): unknown {
  const answer = Array.isArray(scripted) ? scripted[time] : scripted;
  if (answer === undefined) {
    throw new ParleyError(
      "unanswerable",
      `The script has no answer to "${key}" (time ${time + 1}). Add it to answers.`,
    );
  }
  return typeof answer === "function" ? answer(request) : answer;
}

function asRound<R>(
  served: R | { resultType: string; inputRequests?: InputRequests; requestState?: string },
): PlayedRound<R> {
  if (
    typeof served === "object" &&
    served !== null &&
    "resultType" in served &&
    served.resultType === "input_required"
  ) {
    const { inputRequests, requestState } = served;
    return { questions: inputRequests ?? {}, requestState, result: undefined };
  }
  return { questions: {}, requestState: undefined, result: served as R };
}

function requestOf(flow: AnyFlow, options: PlayOptions): { method: MrtrMethod; target: string; params: object } {
  if (flow.type === "resource") {
    const uri = uriOf(flow, options);
    return { method: "resources/read", target: uri, params: { uri } };
  }
  const method = flow.type === "tool" ? "tools/call" : "prompts/get";
  return { method, target: flow.name, params: { name: flow.name, arguments: options.args ?? {} } };
}

function uriOf(flow: ResourceFlow, { uri }: PlayOptions): string {
  if (uri !== undefined) return uri;
  if (typeof flow.uri === "string") return flow.uri;
  throw new ParleyError("configuration", `resource "${flow.name}" is a template: say which uri to read.`);
}

function runFlow(flow: AnyFlow, args: unknown, options: PlayOptions, own: Flow): unknown {
  return flow.type === "resource"
    ? flow.run(new URL(uriOf(flow, options)), options.variables ?? {}, own)
    : flow.run(args, own);
}

async function validated(flow: AnyFlow, args: Record<string, unknown>): Promise<unknown> {
  const schema = schemaOf(flow);
  if (schema === undefined) return args;
  const outcome = await schema["~standard"].validate(args);
  if (outcome.issues === undefined) return outcome.value;
  throw new ParleyError("configuration", `args do not fit "${flow.name}": ${outcome.issues[0]?.message}`);
}

function schemaOf(flow: AnyFlow): ToolFlow["config"]["inputSchema"] | PromptFlow["config"]["argsSchema"] {
  if (flow.type === "tool") return flow.config.inputSchema;
  return flow.type === "prompt" ? flow.config.argsSchema : undefined;
}
