// How everything here is measured: short batches that take turns, medians, and a check that both sides did the same.
import { isDeepStrictEqual } from "node:util";

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export function round(value, digits = 0) {
  return Number(value.toFixed(digits));
}

/** Operations per second with `flight` of them always in flight, for `ms`; and the CPU us of this process for each. */
export async function rate(flight, ms, operation) {
  const [begun, cpuBefore] = [performance.now(), process.cpuUsage()];
  let done = 0;
  const worker = async () => {
    while (performance.now() < begun + ms) {
      await operation();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: flight }, worker));
  const { user, system } = process.cpuUsage(cpuBefore);
  return { perSecond: done / ((performance.now() - begun) / 1_000), cpuUs: (user + system) / done };
}

/**
 * The sides take turns, so that what else the machine does falls on all of them; each goes first equally often.
 * @param sides functions that measure one batch and return a figure, or an object of figures.
 * @param budgetMs no further repeat begins after it.
 * @returns the median of every figure, by side.
 */
export async function interleave(repeats, sides, budgetMs = Number.POSITIVE_INFINITY) {
  const names = Object.keys(sides);
  const seen = Object.fromEntries(names.map((name) => [name, []]));
  const begun = performance.now();
  for (let repeat = 0; repeat < repeats && performance.now() < begun + budgetMs; repeat++) {
    for (let turn = 0; turn < names.length; turn++) {
      const name = names[(turn + repeat) % names.length];
      seen[name].push(await sides[name]());
    }
  }
  return Object.fromEntries(names.map((name) => [name, medians(seen[name])]));
}

function medians(samples) {
  if (typeof samples[0] === "number") return median(samples);
  return Object.fromEntries(Object.keys(samples[0]).map((key) => [key, median(samples.map((each) => each[key]))]));
}

/** Figures of unlike work say nothing. */
export function assertSame(what, ...results) {
  for (const other of results.slice(1)) {
    if (!isDeepStrictEqual(other, results[0])) {
      const [left, right] = [results[0], other].map((result) => JSON.stringify(result)?.slice(0, 200));
      throw new Error(`Refusing to compare unlike work (${what}): ${left} beside ${right}`);
    }
  }
}
