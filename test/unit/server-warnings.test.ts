/** What the default observer says, and what it keeps to itself. */
import { afterEach, expect, it, vi } from "vitest";
import { createParley, type TaskStore } from "../../src/index.ts";
import { type ParleyEvent, warnOnly } from "../../src/server/events.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

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

it("H11 says that tasks of a store that outlives the process cannot be opened again, where the key does not", () => {
  vi.stubEnv("PARLEY_KEYS", undefined);
  const memory = memoryTasks();
  const warned = (tasks: TaskStore | undefined, keys?: readonly Uint8Array[]) => {
    const events: ParleyEvent[] = [];
    const given = { ...(tasks && { tasks }), ...(keys && { keys }) };
    createParley({ ...given, callers: "authenticated", onEvent: (event) => void events.push(event) });
    return events.map((event) => event.type === "warning" && event.message);
  };
  const kept: TaskStore = { ...memory, volatile: undefined } as never;
  const [plain] = warned(undefined);
  expect(plain).toMatch(/^No key given: state is sealed with a random key/);
  expect(warned(memory)).toEqual([plain]);
  expect(warned(kept)).toEqual([
    expect.stringMatching(/^Tasks outlive this process.+none can be opened\. No key given/),
  ]);
  expect(warned(kept, [Uint8Array.from({ length: 32 }, (_, at) => at)])).toEqual([]);
});
