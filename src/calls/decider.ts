import type { InputResponse } from "../protocol/types.ts";

const deciders = new WeakMap<object, string>();

/**
 * Marks an answer as somebody's other than a person's: `policy:<rule>`, or a file's. Events and transcripts then say
 * so (D1). Wrappers that hand the answer on as it is keep the mark; nothing of it reaches the wire.
 */
export function decidedBy<T extends InputResponse>(by: string, answer: T): T {
  deciders.set(answer, by);
  return answer;
}

/** Who decided; `undefined` for whoever the surface asked. */
export function deciderOf(answer: unknown): string | undefined {
  return typeof answer === "object" && answer !== null ? deciders.get(answer) : undefined;
}
