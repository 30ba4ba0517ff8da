import type { ParleyError } from "../errors.ts";
import { LazySignal, type Signal } from "../internal/lazy-signal.ts";

/** Time, injected: tests pass a hand-driven one. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Calls back once after `ms`; the returned function takes it back. */
  after(ms: number, callback: () => void): () => void;
}

/** The longest delay a Node timer can hold; longer ones are chained. */
const LONGEST_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const arm = (left: number): void => {
      const step = Math.min(left, LONGEST_MS);
      timer = setTimeout(() => (left > step ? arm(left - step) : callback()), step);
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

/** A budget: `ms` may be `Infinity`; `error` is made only when it runs out. */
export interface Limit {
  ms: number;
  error: () => ParleyError;
}

/**
 * Runs `work` until it settles, `outer` aborts or a limit runs out; whatever ends it first is what is thrown. The
 * scope handed to `work` is aborted in the last two cases, and `work` may abort it itself; with a limit that
 * is over already, `work` does not begin. Nothing is left behind: no timer, no listener.
 */
export function within<T>(
  clock: Clock,
  outer: Signal,
  limits: readonly Limit[],
  work: (scope: LazySignal) => Promise<T>,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    outer.throwIfAborted();
    const over = limits.find(({ ms }) => ms <= 0);
    if (over !== undefined) throw over.error();
    const scope = new LazySignal();
    const timers: (() => void)[] = [];
    const leave = (): void => {
      outer.removeEventListener("abort", onOuter);
      for (const cancel of timers) cancel();
    };
    const stop = (reason: unknown): void => {
      leave();
      // First the reason, then the abort: what the abort makes `work` throw must not win the race.
      reject(reason);
      scope.abort(reason);
    };
    const onOuter = (): void => stop(outer.reason);
    outer.addEventListener("abort", onOuter);
    for (const { ms, error } of limits) {
      if (ms !== Number.POSITIVE_INFINITY) timers.push(clock.after(ms, () => stop(error())));
    }
    work(scope).then(
      (value) => {
        leave();
        resolve(value);
      },
      (error: unknown) => {
        leave();
        reject(error);
      },
    );
  });
}

/** Resolves after `ms`; when `signal` fires it only takes its timer back (see {@link within}). */
export function pause(clock: Clock, ms: number, signal: Signal): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, resolve);
    signal.addEventListener("abort", cancel);
  });
}
