/** Why a run is broken off. */
export type StopReason = "cancelled" | "expired" | "drained" | "lost";

/** The abort reason of a task's signal. */
export class TaskStopped extends Error {
  readonly why: StopReason;
  constructor(why: StopReason) {
    super(`The task was ${why === "drained" ? "given back" : why}`);
    this.name = "AbortError";
    this.why = why;
  }
}

export function isDrained({ reason }: AbortSignal): boolean {
  return reason instanceof TaskStopped && reason.why === "drained";
}
