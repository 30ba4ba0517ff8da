/** One question at a time on one terminal, however many are asked at once (B29). */
const turns = new WeakMap<object, Promise<void>>();
const waiting = new WeakMap<object, number>();

/** How many questions wait for their turn on `terminal`. */
export function waitingAt(terminal: object): number {
  return waiting.get(terminal) ?? 0;
}

/** Runs `task` when every earlier task on `terminal` has ended. A wait ends early, by `aborted`, when `signal` fires. */
export async function inTurn<T>(
  terminal: object,
  signal: AbortSignal,
  aborted: () => Error,
  task: () => Promise<T>,
): Promise<T> {
  const earlier = turns.get(terminal) ?? Promise.resolve();
  const { promise: mine, resolve: done } = deferred();
  turns.set(
    terminal,
    earlier.then(() => mine),
  );
  try {
    waiting.set(terminal, waitingAt(terminal) + 1);
    await untilTurn(earlier, signal, aborted).finally(() => waiting.set(terminal, waitingAt(terminal) - 1));
    return await task();
  } finally {
    // A turn later: whoever asked several at once takes back the others first, when this one ended the call.
    setImmediate(done);
  }
}

/** Runs `write` when every task that is on `terminal` or waits for it has ended; at once when there is none. */
export function whenFree(terminal: object, write: () => void): void {
  const earlier = turns.get(terminal) ?? Promise.resolve();
  turns.set(terminal, earlier.then(write));
}

async function untilTurn(earlier: Promise<void>, signal: AbortSignal, aborted: () => Error): Promise<void> {
  if (signal.aborted) throw aborted();
  const { promise, resolve } = deferred();
  signal.addEventListener("abort", resolve, { once: true });
  try {
    await Promise.race([earlier, promise]);
  } finally {
    signal.removeEventListener("abort", resolve);
  }
  if (signal.aborted) throw aborted();
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
