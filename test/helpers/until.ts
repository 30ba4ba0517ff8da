import { setTimeout as sleep } from "node:timers/promises";

/** Looks until there is something; generous, because a busy machine is slow and not wrong. */
export async function until<T>(look: () => T | undefined | Promise<T | undefined>, withinMs = 20_000): Promise<T> {
  const givesUpAt = performance.now() + withinMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > givesUpAt) throw new Error(`Nothing came within ${withinMs} ms.`);
    await sleep(5);
  }
}
