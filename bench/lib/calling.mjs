// Whole calls of two rounds, by clients of this process to servers of others.
import { assertSame, interleave, rate } from "./measure.mjs";

const WARM_CALLS = 300;

/**
 * @param sides by name: a caller of callers.mjs.
 * @returns calls per second and this process's CPU us for each, by name.
 */
export async function compareCalls(what, sides, flight, { repeats, ms }) {
  const results = [];
  for (const { call } of Object.values(sides)) {
    for (let done = 0; done < WARM_CALLS; done += 32) await Promise.all(Array.from({ length: 32 }, call));
    results.push((await call()).content);
  }
  assertSame(what, ...results);
  const measured = Object.entries(sides).map(([name, { call }]) => [name, () => rate(flight, ms, call)]);
  return interleave(repeats, Object.fromEntries(measured));
}

/** Makes callers, hands them over by name, and closes them whatever happens. */
export async function withCallers(makers, work) {
  const callers = {};
  try {
    for (const [name, make] of Object.entries(makers)) callers[name] = await make();
    return await work(callers);
  } finally {
    for (const caller of Object.values(callers)) await caller.close();
  }
}
