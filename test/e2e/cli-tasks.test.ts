import { expect, it } from "vitest";
import { file, parley, serving, YES } from "../helpers/cli.ts";
import { openListen } from "../helpers/listen.ts";
import { TaskWire, textIn } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

it("a call that goes on as a task is driven to its end, says so on standard error, and ends with its server", async () => {
  const server = await serving("tasks.mjs");
  try {
    const answers = file({ start: YES, publish: YES });
    const { code, out, err } = await parley(["call", server.url, "release", "--answers", answers]);
    expect({ code, out }).toEqual({ code: 0, out: "published\n" });
    const lines = err.trimEnd().split("\n");
    expect(lines[0]).toBe("parley: the call goes on as a task");
    // The server's words, made visible.
    expect(lines).toContain("parley: the call goes on as a task: build⟨U+001B⟩[2Jing");
  } finally {
    expect(await server.stop()).toBe(0);
  }
});

it.each(["native", "sdk"])("H30 its tasks are told of, on --mount %s", async (mount) => {
  const server = await serving("tasks.mjs", ["--mount", mount]);
  try {
    const wire = new TaskWire(server.url);
    const asked = (await wire.call("release")).result as { requestState: string };
    const begun = await wire.call("release", {}, { inputResponses: { start: YES }, requestState: asked.requestState });
    const taskId = String(begun.result?.["taskId"]);
    const stream = await openListen(server.url, { taskIds: [taskId] });
    expect(await stream.acknowledged()).toEqual({ taskIds: [taskId] });
    await until(() => stream.statuses().includes("input_required") || undefined);
    await wire.update(taskId, { publish: YES });
    await until(() => stream.ended || undefined);
    expect(textIn(stream.tasks().at(-1)?.["result"])).toBe("published");
  } finally {
    expect(await server.stop()).toBe(0);
  }
});
