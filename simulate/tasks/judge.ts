/** What is promised of tasks, checked while the world runs. */
import type { TaskHold } from "../../src/tasks/contract.ts";
import type { TaskReplica } from "./replica.ts";

interface Done {
  readonly idempotencyKey: string;
  readonly by: TaskReplica;
}

export class TaskJudge {
  broken: string | undefined;
  /** Effects that happened again under the same key. */
  repeated = 0;
  readonly #effects = new Map<string, Done[]>();
  /** Steps on record at the store: they must not begin again. */
  readonly #recorded = new Set<string>();
  /** The first answer that the store took, by question text. */
  readonly #answers = new Map<string, string>();
  /** Question texts by task and key on the wire. */
  readonly #questions = new Map<string, string>();
  readonly #ends = new Map<string, string>();
  readonly #holders = new Map<string, string>();

  violation(what: string): void {
    this.broken ??= what;
  }

  /** A process that sleeps in the middle of a step may do it late; but it must not begin what is over. */
  begins(label: string, step: string): void {
    const name = `${label}/${step}`;
    if (this.#ends.get(label)?.startsWith("cancelled")) this.violation(`${name} began after its task was cancelled`);
    if (this.#recorded.has(name)) this.violation(`${name} began again after it was on record`);
  }

  effect(label: string, step: string, done: Done): void {
    const name = `${label}/${step}`;
    const before = this.#effects.get(name) ?? [];
    this.#effects.set(name, [...before, done]);
    const [base, branch] = step.split("-");
    if (branch !== undefined && this.#effects.has(`${label}/${base}-${1 - Number(branch)}`))
      this.violation(`both ends of race ${label}/${base} took effect`);
    if (before.length === 0) return;
    this.repeated++;
    if (before.some(({ idempotencyKey }) => idempotencyKey !== done.idempotencyKey))
      this.violation(`${name} was done under two keys`);
    if ([...before, done].every(({ by }) => by.faults === 0))
      this.violation(`${name} was done twice, and nothing went wrong`);
  }

  recorded(label: string, steps: readonly string[]): void {
    for (const step of steps) this.#recorded.add(`${label}/${step}`);
  }

  /** H24: a key on the wire means one question for the life of its task. */
  shown(label: string, wireKey: string, message: string): void {
    const name = `${label} ${wireKey}`;
    const before = this.#questions.get(name);
    if (before !== undefined && before !== message) this.violation(`${name} means two questions`);
    this.#questions.set(name, message);
  }

  stored(label: string, wireKey: string, answer: string): void {
    const message = this.#questions.get(`${label} ${wireKey}`);
    if (message === undefined) this.violation(`${label}: an answer to ${wireKey} was stored, which nobody was asked`);
    else if (!this.#answers.has(message)) this.#answers.set(message, answer);
  }

  /** H26: the first answer is the one that the flow is given. */
  answered(message: string, answer: string): void {
    const first = this.#answers.get(message);
    if (first === undefined) this.violation(`a flow was given an answer to "${message}", which nobody gave`);
    else if (first !== answer) this.violation(`"${message}" was answered ${first}, and the flow was given ${answer}`);
  }

  /** H14: an end is an end. */
  seen(label: string, end: string): void {
    const before = this.#ends.get(label);
    if (before !== undefined && before !== end) this.violation(`${label} ended as ${before}, and then as ${end}`);
    this.#ends.set(label, end);
  }

  claimed({ id, holder }: TaskHold): void {
    this.#holders.set(id, holder);
  }

  /** Only who claimed it last may end a run. */
  settled({ id, holder }: TaskHold): void {
    if (this.#holders.get(id) !== holder) this.violation("a run was ended by somebody who had lost it");
  }
}
