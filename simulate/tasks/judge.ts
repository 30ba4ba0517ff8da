/** What is promised of tasks, checked while the world runs. */
import type { TaskHold } from "../../src/tasks/contract.ts";
import type { Life } from "../life.ts";

interface Done {
  readonly idempotencyKey: string;
  readonly by: Life;
  /** A round that nothing makes count once. */
  readonly loose: boolean;
}

interface AskedAt {
  readonly by: Life | undefined;
  readonly at: number;
}

/** Longest time from a question to its client, in ms, where nothing goes wrong: two messages, a look and the pause before it. */
const SEEN_WITHIN_MS = 700;

export class TaskJudge {
  broken: string | undefined;
  /** Effects that happened again under the same key. */
  repeated = 0;
  readonly #effects = new Map<string, Done[]>();
  /** Steps on record at the store: they must not begin again. */
  readonly #recorded = new Set<string>();
  /** The first answer that counts, by question text. */
  readonly #answers = new Map<string, string>();
  /** Question texts that were answered before the task began. */
  readonly #inRounds = new Set<string>();
  /** Question texts by task and key on the wire. */
  readonly #questions = new Map<string, string>();
  readonly #stored = new Set<string>();
  readonly #asked = new Map<string, AskedAt>();
  readonly #ends = new Map<string, string>();
  readonly #holders = new Map<string, string>();
  readonly #tasks = new Map<string, string>();

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
    const all = [...before, done];
    if (!all.some(({ loose }) => loose) && all.every(({ by }) => by.faults.length === 0))
      this.violation(`${name} was done twice, and nothing went wrong`);
  }

  /** The steps of a task that had an effect. */
  effectsOf(label: string): string[] {
    return [...this.#effects.keys()].filter((name) => name.startsWith(`${label}/`));
  }

  recorded(label: string, steps: readonly string[]): void {
    for (const step of steps) this.#recorded.add(`${label}/${step}`);
  }

  /** The call has become a task, with what it did so far. */
  created(label: string, steps: readonly string[]): void {
    this.recorded(label, steps);
  }

  /** H34: a call becomes one task, however often its last round is served. */
  begun(label: string, taskId: string): void {
    const before = this.#tasks.get(label);
    if (before !== undefined && before !== taskId) this.violation(`${label} became two tasks`);
    this.#tasks.set(label, taskId);
  }

  /** An answer in a round. One that fits counts, and is not asked for again (H36). */
  gave(message: string, answer: string): void {
    if (!fits(answer)) return;
    this.#inRounds.add(withoutReason(message));
    if (!this.#answers.has(withoutReason(message))) this.#answers.set(withoutReason(message), answer);
  }

  asked(message: string, by: Life | undefined, at: number): void {
    if (!this.#asked.has(message)) this.#asked.set(message, { by, at });
  }

  /** H17: what a run asked in a world without trouble is seen while a step of it still runs. */
  stillRuns(label: string, by: Life, now: number): void {
    for (const [message, asked] of this.#asked) {
      if (!message.startsWith(`${label}/`) || asked.by !== by || this.#inRounds.has(message)) continue;
      if (now - asked.at > SEEN_WITHIN_MS && ![...this.#questions.values()].includes(message))
        this.violation(`"${message}" was held back by a step`);
    }
  }

  /** H24: a key on the wire means one question for the life of its task. */
  shown(label: string, wireKey: string, message: string): void {
    const name = `${label} ${wireKey}`;
    const before = this.#questions.get(name);
    if (before !== undefined && before !== message) this.violation(`${name} means two questions`);
    if (this.#inRounds.has(withoutReason(message))) this.violation(`"${message}" was asked again by the task`);
    this.#questions.set(name, message);
  }

  stored(label: string, wireKey: string, answer: string): void {
    const message = this.#questions.get(`${label} ${wireKey}`);
    if (message === undefined) {
      this.violation(`${label}: an answer to ${wireKey} was stored, which nobody was asked`);
      return;
    }
    const first = !this.#stored.has(`${label} ${wireKey}`);
    this.#stored.add(`${label} ${wireKey}`);
    const base = withoutReason(message);
    if (first && fits(answer) && !this.#answers.has(base)) this.#answers.set(base, answer);
  }

  /** H26: the first answer is the one that the flow is given. */
  answered(message: string, answer: string): void {
    this.#asked.delete(message);
    const first = this.#answers.get(message);
    if (first === undefined) this.violation(`a flow was given an answer to "${message}", which nobody gave`);
    else if (first !== answer) this.violation(`"${message}" was answered ${first}, and the flow was given ${answer}`);
  }

  answerTo(message: string): string | undefined {
    return this.#answers.get(message);
  }

  /** H14: an end is an end. */
  seen(label: string, end: string): void {
    const before = this.#ends.get(label);
    if (before !== undefined && before !== end) this.violation(`${label} ended as ${before}, and then as ${end}`);
    this.#ends.set(label, end);
  }

  endOf(label: string): string | undefined {
    return this.#ends.get(label);
  }

  claimed({ id, holder }: TaskHold): void {
    this.#holders.set(id, holder);
  }

  /** Only who claimed it last may end a run. */
  settled({ id, holder }: TaskHold): void {
    if (this.#holders.get(id) !== holder) this.violation("a run was ended by somebody who had lost it");
  }
}

/** A question that is asked again says why after its own words. */
export function withoutReason(message: string): string {
  return message.split("\n\n", 1)[0] as string;
}

/** The flows of this world take a text or a yes or no. */
function fits(answer: string): boolean {
  const { content } = JSON.parse(answer) as { content: { echo?: unknown; confirm?: unknown } };
  return typeof content.echo === "string" || typeof content.confirm === "boolean";
}
