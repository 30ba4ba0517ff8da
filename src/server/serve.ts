import type { AuthInfo } from "@modelcontextprotocol/server";
import { ParleyError } from "../errors.ts";
import { createFlow } from "../flow/flow.ts";
import { isObject } from "../internal/json.ts";
import type { CallState } from "../journal/entry.ts";
import { declaresTasks } from "../protocol/tasks.ts";
import type { InputRequired } from "../protocol/types.ts";
import { type RoundOutcome, runRound } from "../replay/round.ts";
import type { RunSignal } from "../replay/signal.ts";
import type { BackgroundPlace, StepRecord } from "../replay/types.ts";
import { type Binding, digestParams, type Principal } from "../state/index.ts";
import { named } from "../tasks/guard.ts";
import { type Concluded, conclude, type RoundScope } from "./conclude.ts";
import { handOver } from "./delivery.ts";
import { nodeDeps } from "./deps.ts";
import { OnceServer } from "./once-server.ts";
import { type OpenedCall, openCall } from "./open-call.ts";
import type { ResolvedOptions } from "./options.ts";
import { invalidParams, serverFault, unauthenticated } from "./refusals.ts";
import type { RoundRequest, ServedFlow } from "./request.ts";
import type { TaskDesk } from "./tasks/desk.ts";

/** Serves one round: opens the state, runs the flow, seals the next state; once, where a ledger says so. */
export class RoundServer {
  readonly #options: ResolvedOptions;
  readonly #once: OnceServer | undefined;
  readonly #tasks: TaskDesk | "here" | undefined;
  #warnedAboutSubject = false;

  /** @param tasks Where calls go that go on as tasks; `"here"`: every call counts as one already. */
  constructor(options: ResolvedOptions, tasks?: TaskDesk | "here") {
    this.#options = options;
    this.#tasks = tasks;
    this.#once = options.ledger && new OnceServer(options, options.ledger);
  }

  /** Whether calls without verified auth info are refused. */
  get callersRequired(): boolean {
    return this.#options.callers === "authenticated";
  }

  /**
   * @returns the flow's own result, or `input_required`.
   * @throws the SDK's `ProtocolError` for every refusal and fault; whatever the flow threw, otherwise.
   */
  async serve<R>(flow: ServedFlow<R>, request: RoundRequest): Promise<R | InputRequired> {
    const binding = this.#bind(request);
    const call = openCall(flow, request, binding, this.#options);
    const once = (flow.singleUse ?? this.#options.singleUse) ? this.#once : undefined;
    if (once === undefined) {
      const { delivery } = await this.#run(flow, request, binding, call, request.signal);
      return handOver<R>(delivery);
    }
    const attempt = (journaled: CallState, signal: RunSignal, record?: StepRecord) =>
      this.#run(flow, request, binding, { ...call, state: journaled }, signal, record);
    return handOver<R>(await once.serve(call, request, attempt));
  }

  #bind({ method, target, params, authInfo }: RoundRequest): Binding {
    try {
      const { audience } = this.#options;
      return {
        audience,
        principal: this.principal(authInfo),
        method,
        target,
        paramsDigest: digestParams(method, params),
      };
    } catch (error) {
      throw error instanceof ParleyError ? invalidParams(error) : error;
    }
  }

  /** Who calls. @throws ProtocolError */
  principal(authInfo: AuthInfo | undefined): Principal | null {
    if (authInfo === undefined) {
      if (this.callersRequired) throw unauthenticated();
      return null;
    }
    const principal = this.#options.principal(authInfo);
    if (!isPrincipal(principal)) {
      const message =
        "The option principal must return { issuer?, subject?, clientId? } of strings, with one at least.";
      throw serverFault(new ParleyError("configuration", message));
    }
    if (principal.subject === undefined && !this.#warnedAboutSubject) {
      this.#warnedAboutSubject = true;
      const message =
        "Verified auth info names no subject: states are bound to the client id alone. Set extra.sub in the token verifier, or the option principal.";
      this.#options.onEvent({ type: "warning", code: "principal_without_subject", message });
    }
    return principal;
  }

  async #run<R>(
    flow: ServedFlow<R>,
    request: RoundRequest,
    binding: Binding,
    call: OpenedCall,
    signal: RunSignal,
    record?: StepRecord,
  ): Promise<Concluded> {
    const { method, target, capabilities, inputResponses } = request;
    const { callId, round, journal, pending } = call.state;
    const caller = binding.principal;
    const outcome = await runRound(
      (asker) =>
        flow.run(
          createFlow(asker, { signal, caller, round, callId, capabilities, sendProgress: request.sendProgress }),
        ),
      {
        journal,
        pending,
        responses: isObject(inputResponses) ? inputResponses : {},
        capabilities: request.checkCapabilities ? (capabilities ?? {}) : undefined,
        limits: this.#options.runLimits,
        signal,
        background: this.#place(request),
        ...(record !== undefined && { record }),
        replay: this.#options.replay,
        onEvent: (event) => this.#options.onEvent({ ...event, method, target }),
      },
      nodeDeps(callId, this.#options.now, this.#options.schedule),
    );
    if (outcome.kind === "background") return this.#handOver(outcome, flow, request, caller, call.state);
    const scope: RoundScope = { method, target, binding, version: flow.version, signal };
    return conclude(outcome, call, scope, this.#options);
  }

  /** Only what this very request declared counts (H3, H35), and only tools can become tasks (H4). */
  #place({ method, capabilities, checkCapabilities }: RoundRequest): BackgroundPlace {
    if (this.#tasks === "here") return "here";
    if (this.#tasks === undefined || method !== "tools/call") return "unsupported";
    return checkCapabilities && declaresTasks(capabilities) ? "available" : "undeclared";
  }

  async #handOver(
    { options, journal, pending }: RoundOutcome<unknown> & { kind: "background" },
    { version }: ServedFlow<unknown>,
    { method, target, params, capabilities = {} }: RoundRequest,
    caller: Principal | null,
    before: CallState,
  ): Promise<Concluded> {
    const { callId, round } = before;
    const own = params as Readonly<Record<string, unknown>>;
    try {
      const handOver = { target, params: own, caller, capabilities, options, before, version, journal, pending };
      const value = await (this.#tasks as TaskDesk).begin(handOver);
      this.#options.onEvent({ type: "task_begun", method, target, callId, round });
      return { delivery: { type: "result", value } };
    } catch (thrown) {
      const error = named(thrown);
      const { code, message } = error;
      const failed = { outcome: "error", questions: [], stateBytes: 0, error: { code, message } } as const;
      this.#options.onEvent({ type: "round", method, target, callId, round, ...failed });
      return { delivery: { type: "fault", error: serverFault(error) }, unfinished: true };
    }
  }
}

function isPrincipal(value: unknown): value is Principal {
  if (!isObject(value)) return false;
  const parts = [value["issuer"], value["subject"], value["clientId"]];
  return (
    parts.some((part) => part !== undefined) && parts.every((part) => part === undefined || typeof part === "string")
  );
}
