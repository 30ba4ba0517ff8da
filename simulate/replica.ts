/** Replicas: the real round server in processes that crash, pause, restart, and are given new keys. */
import { ProtocolError } from "@modelcontextprotocol/server";
import { type ParleyOptions, resolveOptions } from "../src/server/options.ts";
import type { RoundServer as Server } from "../src/server/serve.ts";
import { RoundServer } from "../src/server/serve.ts";
import { ALL_CAPABILITIES } from "../src/testing/play.ts";
import { CLOCK_SKEW_MS, LEASE_MS, ROUND_TTL_MS, WAIT_MS } from "./config.ts";
import { Process } from "./kernel.ts";
import { type Plan, runPlan } from "./plan.ts";
import type { Leg, Reply } from "./wire.ts";
import type { World } from "./world.ts";

/** Trouble that excuses an effect done twice, if it came between the effect and its record. */
export interface Fault {
  readonly at: number;
  readonly kind: "crash" | "pause" | "store" | "client left";
}

/** One delivery of a leg to one incarnation. */
export interface Delivery {
  readonly id: number;
  readonly leg: Leg;
  readonly incarnation: Incarnation;
  readonly startedAt: number;
  readonly client: AbortController;
}

/** One life of a replica, from start to crash. */
export class Incarnation extends Process {
  readonly #world: World;
  readonly #server: Server;
  readonly keys: readonly Uint8Array[];
  readonly faults: Fault[] = [];
  /** Deliveries that have not been answered: their connections break when the process dies. */
  readonly open = new Map<Delivery, () => void>();

  constructor(world: World, name: string, keys: readonly Uint8Array[], offsetMs: number) {
    super(name);
    this.#world = world;
    this.keys = keys;
    const { kernel, rng, config, log } = world;
    const options: ParleyOptions = {
      keys,
      replicas: "many",
      callers: "authenticated",
      compress: config.compress,
      limits: { roundTtlMs: ROUND_TTL_MS, clockSkewMs: CLOCK_SKEW_MS, divergenceGraceMs: 200 },
      ledger: {
        store: world.mutant?.replica?.(world.store.connect(this)) ?? world.store.connect(this),
        record: config.record,
        journal: world.mutant?.journal ?? config.journal,
        journalAboveBytes: 400,
        leaseMs: LEASE_MS,
        waitMs: WAIT_MS,
      },
      now: () => 1_800_000_000_000 + kernel.now + offsetMs,
      random: (bytes) => rng.bytes(bytes),
      holdClock: {
        now: () => kernel.now + offsetMs,
        sleep: (ms) => kernel.sleep(Math.ceil(ms), this),
        every: (ms, callback) => kernel.every(ms, this, callback),
      },
      schedule: {
        afterMicrotasks: (callback) => kernel.soon(this, callback),
        turn: (callback) => void kernel.sleep(rng.int(0, 1), this).then(callback),
        sleep: (ms) => kernel.sleep(ms, this),
      },
      onEvent: (event) => {
        world.count(event.type === "state_refused" ? `refused: ${event.reason}` : event.type);
        if (event.type !== "round" && event.type !== "warning") log(() => `${name} says ${describe(event)}`);
      },
    };
    this.#server = new RoundServer(resolveOptions(options));
  }

  fault(kind: Fault["kind"]): void {
    this.#world.count(kind);
    this.faults.push({ at: this.#world.kernel.now, kind });
  }

  /** Serves one leg; `answer` is called unless the process dies first. */
  serve(leg: Leg, id: number, answer: (reply: Reply) => void): Delivery {
    const { kernel } = this.#world;
    const delivery: Delivery = { id, leg, incarnation: this, startedAt: kernel.now, client: new AbortController() };
    this.#answer(delivery).then((reply) => {
      if (!this.alive) return;
      this.open.delete(delivery);
      answer(reply);
    });
    return delivery;
  }

  async #answer(delivery: Delivery): Promise<Reply> {
    const { leg, client } = delivery;
    const { label, plan } = leg.args as { label: string; plan: Plan };
    const scene = this.#world.judge.sceneOf(delivery);
    const flow = {
      version: undefined,
      run: (own: Parameters<typeof runPlan>[2]) => runPlan(label, plan, own, scene),
    };
    const meta = leg.callId === undefined ? {} : { _meta: { "mcp-parley/call-id": leg.callId } };
    try {
      const serve = () =>
        this.#server.serve(flow, {
          method: "tools/call",
          target: "plan",
          params: { name: "plan", arguments: leg.args, ...meta },
          inputResponses: leg.answers,
          requestState: leg.state,
          authInfo: { token: leg.from, clientId: "app", scopes: [], extra: { iss: "issuer", sub: leg.from } },
          capabilities: ALL_CAPABILITIES,
          checkCapabilities: true,
          signal: client.signal,
          sendProgress: async () => undefined,
        });
      const value = await (this.#world.mutant?.around?.(leg, serve) ?? serve());
      const interim = "resultType" in value && value.resultType === "input_required";
      return { kind: interim ? "interim" : "result", bytes: JSON.stringify(value) };
    } catch (error) {
      return replyOf(error, client.signal.aborted);
    }
  }
}

const AGAIN = new Set(["ledger_unavailable", "round_running"]);

function replyOf(error: unknown, left: boolean): Reply {
  if (error instanceof ProtocolError) {
    const { code, message, data } = error;
    const reason = (data as { reason?: string } | undefined)?.reason ?? "";
    const bytes = JSON.stringify({ code, message, data });
    if (code === -32_602 && reason === "invalid_request_state") return { kind: "refused", bytes };
    return AGAIN.has(reason) ? { kind: "again", reason, bytes } : { kind: "fault", bytes };
  }
  if (left && error instanceof Error && error.message === "client left") return { kind: "gone", bytes: "" };
  return { kind: "threw", bytes: String(error) };
}

function describe(event: { type: string }): string {
  const { type, reason, attempt, message } = event as {
    type: string;
    reason?: string;
    attempt?: number;
    message?: string;
  };
  return [type, reason, attempt, message].filter((part) => part !== undefined).join(" ");
}
