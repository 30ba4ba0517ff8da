/** What the default observer says, and what it keeps to itself. */
import { afterEach, expect, it, vi } from "vitest";
import { type ParleyEvent, warnOnly } from "../../src/server/events.ts";

afterEach(() => void vi.restoreAllMocks());

function saidOf(events: readonly ParleyEvent[]): unknown[] {
  const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const observe = warnOnly(false);
  for (const event of events) observe(event);
  const said = emit.mock.calls.map(([text]) => text);
  emit.mockRestore();
  return said;
}

const scope = { method: "tools/call", target: "build", callId: "c", round: 0 } as const;
const begun: ParleyEvent = { type: "task_begun", ...scope };
const completed: ParleyEvent = { type: "task_ended", ...scope, status: "completed" };
const failed: ParleyEvent = { type: "task_ended", ...scope, status: "failed", error: { message: "used twice" } };
const away: ParleyEvent = { type: "task_runner_failed", message: "the store is away" };

it("says that a task failed, in production too, and nothing of one that did not", () => {
  expect(saidOf([begun, completed])).toEqual([]);
  expect(saidOf([begun, failed])).toEqual(["tools/call build failed: used twice"]);
});

it("says once that tasks cannot be run, and again when they could meanwhile", () => {
  const text = "tasks cannot be run: the store is away";
  expect(saidOf([away, away])).toEqual([text]);
  expect(saidOf([away, begun, away])).toEqual([text, text]);
});
