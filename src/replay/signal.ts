/**
 * What a run needs of an `AbortSignal`. One is a `RunSignal`; a serving side that makes a real one only for flows that
 * ask for it saves more than its own part of a round.
 */
export interface RunSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
  /** The real one, made when it is first asked for. Absent on a signal that is real. */
  readonly real?: AbortSignal;
}

/** The `AbortSignal` to hand to an author's code, or to the platform. */
export function abortSignalOf(signal: RunSignal): AbortSignal {
  return signal.real ?? (signal as AbortSignal);
}
