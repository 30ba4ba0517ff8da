/** One life of a replica that serves calls and runs tasks, from start to crash. */
import type { ToolFlow } from "../../src/flow/define.ts";
import { TASKS_EXTENSION } from "../../src/protocol/tasks.ts";
import { type ParleyOptions, resolveOptions } from "../../src/server/options.ts";
import { RoundServer } from "../../src/server/serve.ts";
import { TaskDesk } from "../../src/server/tasks/desk.ts";
import { TaskRunner } from "../../src/server/tasks/runner.ts";
import { ALL_CAPABILITIES } from "../../src/testing/play.ts";
import { CLOCK_SKEW_MS, LEASE_MS, WAIT_MS } from "../config.ts";
import { Life } from "../life.ts";
import { IN_A_ROUND } from "./program.ts";
import type { TaskStage } from "./stage.ts";
import type { SimTaskStore } from "./store.ts";

const CAPABILITIES = { ...ALL_CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } };

/** One request of a call, before it is a task. */
export interface CallLeg {
  readonly callId: string;
  readonly requestState: string | undefined;
  readonly inputResponses: Readonly<Record<string, unknown>> | undefined;
}

export class TaskReplica extends Life {
  readonly desk: TaskDesk;
  readonly #rounds: RoundServer;

  constructor(
    world: TaskStage & { readonly store: SimTaskStore },
    name: string,
    keys: readonly Uint8Array[],
    offsetMs: number,
  ) {
    super(world, name, keys);
    const { config, store } = world;
    const options: ParleyOptions = {
      ...this.options(offsetMs),
      keys,
      replicas: "many",
      callers: "authenticated",
      limits: { clockSkewMs: CLOCK_SKEW_MS, divergenceGraceMs: 200 },
      ...(config.ledger && { ledger: { store: store.ledger(this), leaseMs: LEASE_MS, waitMs: WAIT_MS } }),
      tasks: {
        store: store.connect(this),
        leaseMs: LEASE_MS,
        lookMs: 100,
        concurrency: 3,
        concurrencyPerCaller: 2,
        drainMs: 50,
        maxAttempts: 1_000,
      },
      onEvent: (event) => {
        world.count(event.type === "state_refused" ? `refused: ${event.reason}` : event.type);
        world.log(() => `${name} says ${event.type}`);
      },
    };
    const resolved = resolveOptions(options);
    const { tasks } = resolved;
    if (tasks === undefined) throw new Error("no tasks");
    this.desk = new TaskDesk({ ...resolved, tasks });
    this.#rounds = new RoundServer(resolved, this.desk);
    const runner = new TaskRunner(this.desk, { ...resolved, tasks });
    runner.add(world.flows);
  }

  /** Serves one round of a call. */
  call(flow: ToolFlow, { callId, requestState, inputResponses }: CallLeg): Promise<unknown> {
    const run = (own: Parameters<ToolFlow["run"]>[1]) => flow.run(IN_A_ROUND, own);
    const served = { version: undefined, run };
    return this.#rounds.serve<unknown>(served, {
      method: "tools/call",
      target: flow.name,
      params: { name: flow.name, _meta: { "mcp-parley/call-id": callId } },
      inputResponses,
      requestState,
      authInfo: { token: "ann", clientId: "app", scopes: [], extra: { iss: "issuer", sub: "ann" } },
      capabilities: CAPABILITIES,
      checkCapabilities: true,
      signal: new AbortController().signal,
      sendProgress: async () => undefined,
    });
  }
}
