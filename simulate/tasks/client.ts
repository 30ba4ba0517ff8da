/** A host of the simulated world: begins a task, looks after it, answers, loses patience. */
import type { ToolFlow } from "../../src/flow/define.ts";
import type { DetailedTask } from "../../src/protocol/tasks.ts";
import { isTerminal } from "../../src/protocol/tasks.ts";
import { decision } from "../plan.ts";
import type { TaskReplica } from "./replica.ts";
import type { TaskWorld } from "./world.ts";

const CALLER = { issuer: "issuer", subject: "ann", clientId: "app" };

export class TaskClient {
  readonly #world: TaskWorld;
  readonly #flow: ToolFlow;
  readonly #callId: string;
  ended = false;

  constructor(world: TaskWorld, flow: ToolFlow) {
    this.#world = world;
    this.#flow = flow;
    this.#callId = world.rng.bytes(16).toString("hex");
  }

  async run(): Promise<void> {
    const { rng, config, kernel, judge } = this.#world;
    const label = this.#flow.name;
    const begun = (await this.#tell((replica) => replica.begin(this.#flow, this.#callId))) as { taskId: string };
    const { taskId } = begun;
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

  async #answer(taskId: string, { inputRequests = {} }: DetailedTask): Promise<void> {
    const { rng, judge } = this.#world;
    const open = Object.entries(inputRequests);
    for (const [key, { params }] of open) judge.shown(this.#flow.name, key, (params as { message: string }).message);
    // Some at a time, and sometimes twice with another answer: the first that is stored counts.
    const chosen = open.filter(() => rng.chance(0.7));
    if (chosen.length === 0) return;
    const answers = () =>
      Object.fromEntries(
        chosen.map(([key, { params }]) => [key, this.#answerTo((params as { message: string }).message)]),
      );
    const send = (given: Record<string, unknown>) =>
      this.#tell((replica) => replica.desk.update(taskId, CALLER, given));
    const again = rng.chance(0.3) ? [send(answers())] : [];
    await Promise.all([send(answers()), ...again]);
  }

  #answerTo(message: string): object {
    const { rng } = this.#world;
    if (/^[^/]+\/c/.test(message)) return { action: "accept", content: { confirm: decision(message) } };
    return { action: "accept", content: { echo: `e${rng.int(0, 9)}` } };
  }

  /** Asks a replica until one answers: requests and answers are lost, and replicas die. */
  async #tell<T>(request: (replica: TaskReplica) => Promise<T>): Promise<T> {
    const { kernel, rng, config, cluster, faulty } = this.#world;
    for (;;) {
      const replica = cluster.any();
      const lost = () => faulty() && rng.chance(config.loss);
      const answer = await new Promise<{ value: T } | undefined>((resolve) => {
        kernel.after(1_000, undefined, () => resolve(undefined));
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
