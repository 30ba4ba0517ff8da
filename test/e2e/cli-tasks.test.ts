/** Calls that go on as tasks, at the command line (H19, H28, T1). */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { file, MAIN, parley, serving, YES } from "../helpers/cli.ts";
import { handTasks, question } from "../helpers/hand-tasks.ts";
import { openListen } from "../helpers/listen.ts";
import { TaskWire, textIn } from "../helpers/tasks.ts";
import { CTRL_C, canHaveTerminal, DOWN, ENTER, onTerminal } from "../helpers/terminal.ts";
import { until } from "../helpers/until.ts";

const TASK = /^parley: The task of “release” at server “127\.0\.0\.1:\d+” is working(\.|: “build⟨U\+001B⟩\[2Jing”)$/;

it("a call that goes on as a task is driven to its end, says so on standard error, and ends with its server", async () => {
  const server = await serving("tasks.mjs");
  try {
    const answers = file({ start: YES, publish: YES });
    const { code, out, err } = await parley(["call", server.url, "release", "--answers", answers]);
    expect({ code, out }).toEqual({ code: 0, out: "published\n" });
    const lines = err.trimEnd().split("\n");
    for (const line of lines) expect(line).toMatch(TASK);
    // The server's words, made visible.
    expect(lines.at(-1)).toContain("“build⟨U+001B⟩[2Jing”");
  } finally {
    expect(await server.stop()).toBe(0);
  }
});

it("a task that fails by its flow's own fault is said on standard error, with what its caller was told", async () => {
  const server = await serving("failing.mjs");
  onTestFinished(async () => void (await server.stop()));
  const wire = new TaskWire(server.url);
  const twice = await wire.ended(await wire.begin("twice-as-task"));
  expect(twice).toMatchObject({ status: "failed", error: { data: { reason: "duplicate_key" } } });
  expect(await wire.ended(await wire.begin("throws-as-task"))).toMatchObject({ result: { isError: true } });
  await until(() => server.err().includes("throws-as-task") || undefined);
  expect(server.err()).toMatch(/warning: tools\/call twice-as-task failed: Key "k" is used twice/);
  expect(server.err()).toMatch(/warning: tools\/call throws-as-task failed: no disk/);
});

it("a signal while a task's step runs says for what the server waits; a second one ends it at once, with 4", async () => {
  const server = await serving("long-task.mjs");
  const wire = new TaskWire(server.url);
  const taskId = await wire.begin("long");
  await wire.when(taskId, ({ statusMessage }) => statusMessage === "in its step");
  const ended = server.stop();
  await until(() => server.err().includes("parley: waiting for a task that is running; the signal again") || undefined);
  // The wait is on, and one that comes at once is the first one passed on.
  await sleep(600);
  const from = performance.now();
  await server.stop("SIGINT");
  expect(await ended).toBe(4);
  expect(performance.now() - from).toBeLessThan(3_000);
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

describe("a signal while the task works", () => {
  async function interrupted(cut?: RegExp) {
    const server = await handTasks();
    onTestFinished(() => server.close());
    const child = spawn(process.execPath, [MAIN, "call", server.url, "build"]);
    onTestFinished(() => void child.kill("SIGKILL"));
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
    });
    const ended = once(child, "close");
    await expect.poll(() => server.count("tasks/get"), { timeout: 10_000 }).toBeGreaterThan(1);
    server.knobs.cut = cut;
    child.kill("SIGINT");
    const [code] = await ended;
    return { server, code, err };
  }

  it("H28: has it cancelled at the server before the process ends, and says so", async () => {
    const { server, code, err } = await interrupted();
    expect([code, server.count("tasks/cancel"), server.knobs.status]).toEqual([3, 1, "cancelled"]);
    expect(err).toMatch(
      /is working\.\nparley: The task of “build” at server “[\d.:]+” was cancelled\.\nparley: The call was aborted/,
    );
  });

  it("H28: says that it may go on when the server does not hear of it", async () => {
    const { code, err } = await interrupted(/tasks\/cancel/);
    expect(code).toBe(3);
    expect(err).toMatch(/“build” at server “[\d.:]+” could not be cancelled, and may go on there\.\n/);
  });
});

it("B24: a server that is away for a while is said to be, and the call goes on when it is back", async () => {
  const server = await handTasks();
  onTestFinished(() => server.close());
  server.knobs.cut = /tasks\/get/;
  const running = parley(["call", server.url, "build"]);
  await expect.poll(() => server.count("tasks/get"), { timeout: 15_000 }).toBeGreaterThan(3);
  const looks = server.count("tasks/get");
  server.knobs.cut = undefined;
  await expect.poll(() => server.count("tasks/get"), { timeout: 15_000 }).toBeGreaterThan(looks + 2);
  server.knobs.status = "completed";
  const { code, out, err } = await running;
  expect([code, out]).toEqual([0, "built\n"]);
  const told = err.split("\n").map((line) => line.replace(/^.*127\.0\.0\.1:\d+”/, ""));
  expect(told).toEqual([
    " is working.",
    ": the server cannot be reached; looking again.",
    ": the server is back. It is working.",
    "",
  ]);
});

it("H28: a question that nothing here can answer fails the call, and has its task cancelled, which is said", async () => {
  const server = await handTasks();
  onTestFinished(() => server.close());
  Object.assign(server.knobs, { status: "input_required", asks: { go: question("Go?") } });
  const { code, err } = await parley(["call", server.url, "build", "--answers", file({ other: YES })]);
  expect([code, server.count("tasks/cancel"), server.knobs.status]).toEqual([3, 1, "cancelled"]);
  expect(err).toMatch(/“build” at server “[\d.:]+” was cancelled\.\nparley: Nobody could answer "go"/);
  expect(err).not.toContain("may go on there");

  Object.assign(server.knobs, { status: "input_required", asks: { go: question("Go?") }, cut: /tasks\/cancel/ });
  const untold = await parley(["call", server.url, "build", "--answers", file({ other: YES })]);
  expect(untold.code).toBe(3);
  expect(untold.err).toContain("could not be cancelled, and may go on there.\nparley: Nobody could answer");
});

describe.skipIf(!canHaveTerminal)("at a terminal", () => {
  const task = async () => {
    const server = await handTasks();
    onTestFinished(() => server.close());
    Object.assign(server.knobs, { status: "input_required", asks: { go: question("Publish it?") } });
    return server;
  };
  const call = (url: string) => [process.execPath, MAIN, "call", url, "build"];

  it("a task's question is asked like any other, and the task goes on", { timeout: 30_000 }, async () => {
    const server = await task();
    const playing = onTerminal(
      [
        ["Your answer?", [DOWN, ENTER]],
        ["Send this", [ENTER]],
      ],
      call(server.url),
    );
    await expect.poll(() => server.count("tasks/update"), { timeout: 20_000 }).toBe(1);
    Object.assign(server.knobs, { message: "pub\u001b[2Jlishing" });
    await expect.poll(() => server.count("tasks/get"), { timeout: 5_000 }).toBeGreaterThan(4);
    server.knobs.status = "completed";
    const { screen, status } = await playing;
    expect(status).toBe(0);
    expect(screen).toContain("is working: “pub⟨U+001B⟩[2Jlishing”");
    expect(screen).toContain("built");
    expect(server.seen.filter(({ method }) => method === "tasks/update")[0]?.params["inputResponses"]).toEqual({
      go: { action: "accept", content: { confirm: true } },
    });
  });

  it("D1, H28: Ctrl-C at its question cancels it and answers nothing", { timeout: 30_000 }, async () => {
    const server = await task();
    const { screen, status } = await onTerminal([["Your answer?", [CTRL_C]]], call(server.url));
    expect(status).toBe(3);
    expect(screen).toContain("was cancelled.");
    expect([server.count("tasks/update"), server.count("tasks/cancel")]).toEqual([0, 1]);
  });
});
