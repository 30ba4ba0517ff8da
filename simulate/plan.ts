/** Flows of the simulated world: small programs of questions and steps that travel as the call's arguments. */
import type { Flow } from "../src/flow/types.ts";
import type { StepContext } from "../src/replay/types.ts";
import type { Rng } from "./rng.ts";

export interface Step {
  readonly step: string;
  /** How long it works. */
  readonly ms: number;
  /** The first try throws before it does anything. */
  readonly fails?: true;
  /** Stops when its signal says so. */
  readonly heeds?: true;
}
export type Op =
  | { readonly ask: string }
  | { readonly confirm: string }
  | Step
  | { readonly all: readonly Plan[] }
  /** The first branch that ends decides which step comes next. */
  | { readonly race: readonly Plan[]; readonly next: string }
  /** The flow ends by throwing. */
  | { readonly fail: string };
export type Plan = readonly Op[];

/** What a plan does to the world, and what it tells the judge. */
export interface Scene {
  begun(callId: string, round: number): void;
  /** A question is put to the flow's engine, which may know its answer. */
  asked(message: string): void;
  effect(step: Step, context: StepContext, callId: string): Promise<string>;
  answered(key: string, message: string, answer: string): void;
}

/** @param part Told apart from other plans of the same flow. */
export function drawPlan(rng: Rng, longestMs: number, part = ""): Plan {
  let count = 0;
  const name = (letter: string) => `${letter}${++count}${part}`;
  const leaf = (): Op => {
    const kind = rng.next();
    if (kind < 0.4) return { ask: name("q") };
    if (kind < 0.55) return { confirm: name("c") };
    const ms = rng.chance(0.15) ? rng.int(0, longestMs) : rng.int(0, 30);
    return {
      step: name("s"),
      ms,
      ...(rng.chance(0.1) && { fails: true as const }),
      ...(rng.chance(0.3) && { heeds: true as const }),
    };
  };
  const branch = () => Array.from({ length: rng.int(1, 2) }, leaf);
  const plan = Array.from({ length: rng.int(1, 5) }, (): Op => {
    const kind = rng.next();
    if (kind < 0.7) return leaf();
    if (kind < 0.85) return { all: Array.from({ length: rng.int(2, 3) }, branch) };
    return { race: [branch(), branch()], next: name("t") };
  });
  return rng.chance(0.08) ? [...plan, { fail: name("f") }] : plan;
}

/** Runs a plan. Every question's text tells what happened before it, so that an answer to another one shows. */
export async function runPlan(label: string, plan: Plan, flow: Flow, scene: Scene): Promise<Record<string, string>> {
  const seen: Record<string, string> = {};

  async function sequence(ops: Plan, before: string): Promise<string> {
    let trail = before;
    for (const op of ops) trail = digest(`${trail};${await perform(op, trail)}`);
    return trail;
  }

  async function perform(op: Op, trail: string): Promise<string> {
    if ("ask" in op) {
      const message = `${label}/${op.ask} after ${trail}`;
      scene.asked(message);
      const { echo } = await flow.form(op.ask, {
        message,
        schema: { type: "object", properties: { echo: { type: "string" } }, required: ["echo"] },
      });
      return note(op.ask, message, echo);
    }
    if ("confirm" in op) {
      const message = `${label}/${op.confirm} after ${trail}`;
      scene.asked(message);
      return note(op.confirm, message, String(await flow.confirm(op.confirm, message)));
    }
    if ("step" in op) return step(op);
    if ("all" in op) return (await Promise.all(op.all.map((branch) => sequence(branch, trail)))).join(",");
    if ("race" in op) {
      const winner = await Promise.race(op.race.map((branch, index) => sequence(branch, trail).then(() => index)));
      return step({ step: `${op.next}-${winner}`, ms: 0 });
    }
    throw new Error(`planned failure ${op.fail}`);
  }

  async function step(op: Step): Promise<string> {
    const { step: key } = op;
    const receipt = await flow.step(
      key,
      (context) => {
        if (op.fails && context.attempt === 1) throw new Error("not yet");
        return scene.effect(op, context, flow.callId);
      },
      { retry: { attempts: 2, delayMs: 20 } },
    );
    seen[key] = receipt;
    return receipt;
  }

  function note(key: string, message: string, answer: string): string {
    scene.answered(key, message, answer);
    seen[key] = answer;
    return answer;
  }

  scene.begun(flow.callId, flow.round);
  await sequence(plan, "start");
  return seen;
}

/** A person's yes or no, as a function of the question's text. */
export function decision(message: string): boolean {
  return Number.parseInt(digest(message).slice(-1), 36) % 2 === 0;
}

/** FNV-1a: short, and another text is (nearly) never alike. */
function digest(text: string): string {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash.toString(36);
}
