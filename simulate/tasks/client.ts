/** A host of the simulated world: calls, answers rounds, looks after the task that the call becomes, loses patience. */
import type { ToolFlow } from "../../src/flow/define.ts";
import type { DetailedTask } from "../../src/protocol/tasks.ts";
import { isTerminal } from "../../src/protocol/tasks.ts";
import type { InputRequests } from "../../src/protocol/types.ts";
import type { Cluster } from "../cluster.ts";
import { decision } from "../plan.ts";
import { withoutReason } from "./judge.ts";
import type { CallLeg, TaskReplica } from "./replica.ts";
import type { TaskStage } from "./stage.ts";

type TaskWorld = TaskStage & { readonly cluster: Cluster<TaskReplica> };

const CALLER = { issuer: "issuer", subject: "ann", clientId: "app" };

interface Served {
  readonly resultType: "input_required" | "task" | "complete";
  readonly inputRequests?: InputRequests;
  readonly requestState?: string;
  readonly taskId?: string;
}

export class TaskClient {
  readonly #world: TaskWorld;
  readonly #flow: ToolFlow;
  readonly #callId: string;
  /** Questions that were answered wrongly once. */
  readonly #missed = new Set<string>();
  ended = false;

  constructor(world: TaskWorld, flow: ToolFlow) {
    this.#world = world;
    this.#flow = flow;
    this.#callId = world.rng.bytes(16).toString("hex");
  }

  async run(): Promise<void> {
    const { rng, config, kernel, judge } = this.#world;
    const label = this.#flow.name;
    const taskId = await this.#begin();
    if (taskId === undefined) return;
    const cancelsAt = rng.chance(config.cancels) ? kernel.now + rng.int(0, 1_500) : Number.POSITIVE_INFINITY;
    for (;;) {
      if (kernel.now >= cancelsAt) await this.#tell((replica) => replica.desk.cancel(taskId, CALLER));
      const task = await this.#tell((replica) => replica.desk.get(taskId, CALLER));
      if (task === undefined) return judge.violation(`${label}: its own caller does not find it`);
      if (isTerminal(task.status)) {
        judge.seen(label, `${task.status} ${JSON.stringify(task.result ?? task.error ?? "")}`);
        this.#world.count(`ended ${task.status}`);
        if (this.ended) return;
        // Looks once more later: an end is an end.
        this.ended = true;
        await kernel.sleep(rng.int(1, 2_000));
        continue;
      }
      await this.#answer(taskId, task);
      await kernel.sleep(rng.int(20, 150));
    }
  }

  /** Drives the rounds until the call has become a task. */
  async #begin(): Promise<string | undefined> {
    const { judge, rng, kernel, count } = this.#world;
    const label = this.#flow.name;
    let leg: CallLeg = { callId: this.#callId, requestState: undefined, inputResponses: undefined };
    for (;;) {
      const served = await this.#round(leg);
      if (served.resultType === "task") {
        judge.begun(label, String(served.taskId));
        if (leg.requestState !== undefined) count("handed over after rounds");
        // A copy of the last round that was on its way for long.
        const late = leg;
        if (rng.chance(0.3)) kernel.after(rng.int(0, 3_000), undefined, () => void this.#round(late));
        return served.taskId;
      }
      if (served.resultType !== "input_required") {
        judge.violation(`${label} ended before it was a task`);
        return undefined;
      }
      const inputResponses = this.#answersTo(served.inputRequests ?? {});
      for (const [key, request] of Object.entries(served.inputRequests ?? {}))
        if (key in inputResponses) judge.gave(messageOf(request), JSON.stringify(inputResponses[key]));
      leg = { ...leg, requestState: served.requestState, inputResponses };
    }
  }

  /** One round, at one replica or at two: what the second says must be what the first said. */
  async #round(leg: CallLeg): Promise<Served> {
    const { rng, config, judge } = this.#world;
    const label = this.#flow.name;
    const send = async () => (await this.#tell((replica) => replica.call(this.#flow, leg))) as Served;
    const copies = rng.chance(config.duplicates) ? [send(), send()] : [send()];
    const [first, second] = (await Promise.all(copies)) as [Served, Served?];
    for (const { taskId } of second === undefined ? [first] : [first, second])
      if (taskId !== undefined) judge.begun(label, taskId);
    if (second !== undefined && first.resultType !== second.resultType)
      judge.violation(`${label}: one round was answered with ${first.resultType} and ${second.resultType}`);
    return first;
  }

  async #answer(taskId: string, { inputRequests = {} }: DetailedTask): Promise<void> {
    const { rng, judge } = this.#world;
    for (const [key, request] of Object.entries(inputRequests)) judge.shown(this.#flow.name, key, messageOf(request));
    // Some at a time, and sometimes twice with another answer: the first that is stored counts.
    const chosen = Object.fromEntries(Object.entries(inputRequests).filter(() => rng.chance(0.7)));
    if (Object.keys(chosen).length === 0) return;
    const send = (given: Record<string, unknown>) =>
      this.#tell((replica) => replica.desk.update(taskId, CALLER, given));
    const again = rng.chance(0.3) ? [send(this.#answersTo(chosen))] : [];
    await Promise.all([send(this.#answersTo(chosen)), ...again]);
  }

  #answersTo(requests: InputRequests): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(requests).map(([key, request]) => [key, this.#answerTo(messageOf(request))]),
    );
  }

  #answerTo(message: string): object {
    const { rng } = this.#world;
    const base = withoutReason(message);
    if (/^[^/]+\/c/.test(base)) return { action: "accept", content: { confirm: decision(base) } };
    if (!this.#missed.has(base) && rng.chance(0.1)) {
      this.#missed.add(base);
      return { action: "accept", content: { echo: 7 } };
    }
    return { action: "accept", content: { echo: `e${rng.int(0, 9)}` } };
  }

  /** Asks a replica until one answers: requests and answers are lost, and replicas die. */
  async #tell<T>(request: (replica: TaskReplica) => Promise<T>): Promise<T> {
    const { kernel, rng, config, cluster, faulty } = this.#world;
    for (;;) {
      const replica = cluster.any();
      const lost = () => faulty() && rng.chance(config.loss);
      const answer = await new Promise<{ value: T } | undefined>((resolve) => {
        kernel.after(1_500, undefined, () => resolve(undefined));
        if (replica === undefined || lost()) return;
        kernel.after(rng.int(1, config.delayMs), replica, () => {
          request(replica).then(
            (value) => {
              if (lost()) return;
              kernel.after(rng.int(1, config.delayMs), replica, () => resolve({ value }));
            },
            () => kernel.after(1, replica, () => resolve(undefined)),
          );
        });
      });
      if (answer !== undefined) return answer.value;
      await kernel.sleep(rng.int(10, 60));
    }
  }
}

function messageOf({ params }: InputRequests[string]): string {
  return (params as { message: string }).message;
}
