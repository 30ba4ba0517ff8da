import { expect, it } from "vitest";
import { file, parley, serving, YES } from "../helpers/cli.ts";

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
