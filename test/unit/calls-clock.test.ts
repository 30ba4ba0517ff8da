import { expect, test } from "vitest";
import { within } from "../../src/calls/clock.ts";
import { ParleyError } from "../../src/errors.ts";
import type { Signal } from "../../src/internal/lazy-signal.ts";
import { HandClock } from "./calls-peer.ts";

const limit = (ms: number) => ({ ms, error: () => new ParleyError("leg_timeout", "late") });
const never = new AbortController().signal;

test("within: what ends the work first is what is thrown, not what the abort makes the work throw", async () => {
  const clock = new HandClock();
  const work = (signal: Signal) =>
    new Promise<never>((_, reject) => {
      signal.addEventListener("abort", () => reject(new Error("from the work")));
    });
  const late = expect(within(clock, never, [limit(10)], work)).rejects.toMatchObject({ code: "leg_timeout" });
  await clock.pass(10);
  await late;

  const owner = new AbortController();
  const aborted = expect(within(clock, owner.signal, [limit(10)], work)).rejects.toThrow("the owner");
  owner.abort(new Error("the owner"));
  await aborted;
  expect(clock.pending).toBe(0);
});

test("within: work that settles in time leaves nothing behind; a limit of Infinity has no timer", async () => {
  const clock = new HandClock();
  await expect(within(clock, never, [limit(10)], async () => 1)).resolves.toBe(1);
  await expect(
    within(clock, never, [limit(10)], async () => {
      throw new Error("own");
    }),
  ).rejects.toThrow("own");
  const endless = within(clock, never, [limit(Number.POSITIVE_INFINITY)], async () => clock.pending);
  await expect(endless).resolves.toBe(0);
  expect(clock.pending).toBe(0);
});
