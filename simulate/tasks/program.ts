/** What the calls of this world do: rounds first, or not; then a task. */
import { type ToolFlow, tool } from "../../src/flow/define.ts";
import type { InputRequest, InputResponse } from "../../src/protocol/types.ts";
import { playFlow } from "../../src/testing/play.ts";
import { LEASE_MS } from "../config.ts";
import { drawPlan, type Op, type Plan, runPlan, type Scene } from "../plan.ts";
import type { Rng } from "../rng.ts";

export interface Program {
  readonly label: string;
  /** What is done in rounds; `undefined`: it is a task from the start. */
  readonly rounds: Plan | undefined;
  readonly task: Plan;
  readonly races: boolean;
}

/** Tells a flow that it runs in a round, and not in its task. */
export const IN_A_ROUND = { place: "round" };

/** Where a flow runs. */
export type Place = "round" | "task";

export function drawProgram(rng: Rng, label: string): Program {
  // Without a ledger a round that is served twice may end a race in two ways.
  const calm = (op: Op) => !("race" in op) && !("fail" in op);
  const rounds = rng.chance(0.6) ? drawPlan(rng, LEASE_MS, "r").filter(calm) : undefined;
  const task = drawPlan(rng, LEASE_MS * 2);
  return { label, rounds, task, races: task.some((op) => "race" in op) };
}

export function flowOf({ label, rounds, task }: Program, sceneIn: (place: Place) => Scene): ToolFlow {
  return tool(label, rounds === undefined ? { background: {} } : {}, async (args: object, flow) => {
    const scene = sceneIn("place" in args && args.place === IN_A_ROUND.place ? "round" : "task");
    const before = rounds === undefined ? {} : await runPlan(label, rounds, flow, scene);
    if (rounds !== undefined) await flow.background();
    const after = await runPlan(label, task, flow, scene);
    // Side by side, what ends first is the world's to decide.
    const seen = Object.entries({ ...before, ...after }).sort(([a], [b]) => (a < b ? -1 : 1));
    return { content: [{ type: "text", text: JSON.stringify(Object.fromEntries(seen)) }] };
  });
}

/** The same program in the foreground of a world without trouble, with the same answers. */
export async function playInForeground(
  program: Program,
  answerTo: (message: string) => string | undefined,
): Promise<{ text: string; effects: string[] }> {
  const { label } = program;
  const effects: string[] = [];
  const scene: Scene = {
    begun: () => undefined,
    asked: () => undefined,
    effect: async ({ step }) => {
      effects.push(`${label}/${step}`);
      return `did ${step}`;
    },
    answered: () => undefined,
  };
  const plain = { ...program, rounds: program.rounds && smooth(program.rounds), task: smooth(program.task) };
  const respond = ({ params }: InputRequest) => {
    const { message } = params as { message: string };
    return JSON.parse(answerTo(message) ?? `"nobody answered ${message}"`) as InputResponse;
  };
  const answers = new Proxy({}, { get: () => respond });
  try {
    const { result } = await playFlow(
      flowOf(plain, () => scene),
      { answers, limits: { rounds: 100 } },
    );
    const [content] = (result as { content: { text: string }[] }).content;
    return { text: content?.text ?? "", effects };
  } catch (error) {
    return { text: (error as Error).message, effects };
  }
}

/** Without first tries that throw, which cost time and change nothing. */
function smooth(plan: Plan): Plan {
  return JSON.parse(JSON.stringify(plan, (key, value: unknown) => (key === "fails" ? undefined : value))) as Plan;
}
