/** One life of a replica that serves and runs tasks, from start to crash. */
import type { ToolFlow } from "../../src/flow/define.ts";
import { TASKS_EXTENSION } from "../../src/protocol/tasks.ts";
import { resolveOptions } from "../../src/server/options.ts";
import { RoundServer } from "../../src/server/serve.ts";
import { TaskDesk } from "../../src/server/tasks/desk.ts";
import { TaskRunner } from "../../src/server/tasks/runner.ts";
import { ALL_CAPABILITIES } from "../../src/testing/play.ts";
import { LEASE_MS } from "../config.ts";
import { Process } from "../kernel.ts";
import type { TaskWorld } from "./world.ts";

const CAPABILITIES = { ...ALL_CAPABILITIES, extensions: { [TASKS_EXTENSION]: {} } };

export class TaskReplica extends Process {
  readonly desk: TaskDesk;
  readonly #rounds: RoundServer;
  /** Trouble it was in so far. */
  faults = 0;

  constructor(world: TaskWorld, name: string) {
    super(name);
    const { kernel, rng } = world;
    const resolved = resolveOptions({
      keys: [world.key],
      replicas: "many",
      callers: "authenticated",
      limits: { divergenceGraceMs: 200 },
      tasks: {
        store: world.store.connect(this),
        leaseMs: LEASE_MS,
        lookMs: 100,
        concurrency: 3,
        concurrencyPerCaller: 2,
        drainMs: 50,
        maxAttempts: 1_000,
      },
      now: () => 1_800_000_000_000 + kernel.now,
      random: (bytes) => rng.bytes(bytes),
      holdClock: {
        now: () => kernel.now,
        sleep: (ms) => kernel.sleep(Math.ceil(ms), this),
        every: (ms, callback) => kernel.every(ms, this, callback),
      },
      schedule: {
        afterMicrotasks: (callback) => kernel.soon(this, callback),
        turn: (callback) => void kernel.sleep(rng.int(0, 1), this).then(callback),
        sleep: (ms) => kernel.sleep(ms, this),
      },
      onEvent: ({ type }) => world.count(type),
    });
    const { tasks } = resolved;
    if (tasks === undefined) throw new Error("no tasks");
    this.desk = new TaskDesk({ ...resolved, tasks });
    this.#rounds = new RoundServer(resolved, this.desk);
    const runner = new TaskRunner(this.desk, { ...resolved, tasks });
    runner.add(world.flows);
  }

  /** The call that becomes a task; the same again for the same name. */
  begin(flow: ToolFlow, callId: string): Promise<unknown> {
    const params = { name: flow.name, _meta: { "mcp-parley/call-id": callId } };
    const served = { version: undefined, run: (own: Parameters<ToolFlow["run"]>[1]) => flow.run({}, own) };
    return this.#rounds.serve<unknown>(served, {
      method: "tools/call",
      target: flow.name,
      params,
      inputResponses: undefined,
      requestState: undefined,
      authInfo: { token: "ann", clientId: "app", scopes: [], extra: { iss: "issuer", sub: "ann" } },
      capabilities: CAPABILITIES,
      checkCapabilities: true,
      signal: new AbortController().signal,
      sendProgress: async () => undefined,
    });
  }
}
