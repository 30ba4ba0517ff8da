import { setTimeout as sleep } from "node:timers/promises";
import type { HoldClock } from "./once.ts";

/** The system's monotonic clock and timers; a renewal timer keeps no process alive. */
export const systemHoldClock: HoldClock = {
  now: () => performance.now(),
  sleep: (ms) => sleep(ms),
  every: (ms, callback) => {
    const timer = setInterval(callback, ms);
    timer.unref();
    return () => clearInterval(timer);
  },
};
