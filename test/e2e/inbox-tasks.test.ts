/** H19 to H29, B45, B48: calls that go on as tasks, in an inbox over real HTTP, in front of a server written by hand. */
import { Client } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import type { CallView } from "../../src/inbox/api.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import { leanHttpTransport } from "../../src/transport/index.ts";
import { done, type HandTasks, handTasks, question } from "../helpers/hand-tasks.ts";
import { over, waiting } from "./inbox-browser.ts";
import { type WorldOptions, world } from "./inbox-world.ts";

const yes = { action: "accept", content: { confirm: true } } as const;
const types = (call: CallView) => call.history.map(({ type }) => type);
const methods = ({ seen }: HandTasks) => seen.map(({ method }) => method);

async function leanly(url: string): Promise<Client> {
  const client = new Client({ name: "h", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
  await client.connect(leanHttpTransport(url) as never);
  return client;
}

async function desk(options: WorldOptions = {}) {
  const server = await handTasks();
  onTestFinished(() => server.close());
  const made = await world({ server: server as never, ...options });
  const page = await made.browser();
  const isTask = ({ task }: CallView) => task !== undefined;
  const begun = async (target = "build") => page.until((await page.start("desk", target)).id, isTask);
  return { ...made, server, page, begun };
}

describe("a call that goes on as a task", () => {
  it("H19: is looked at until it has ended, and shown as it stands meanwhile, in the list and by itself", async () => {
    const { server, page, begun } = await desk();
    Object.assign(server.knobs, { ttlMs: 3_600_000, message: "1 of 2" });
    const before = Date.now();
    const call = await begun();
    expect(call).toMatchObject({ state: "sending", task: { status: "working", message: { text: "1 of 2" } } });
    expect(call.waitingOnServer).toBeUndefined();
    expect(call.task?.since).toBeGreaterThanOrEqual(before);
    expect(call.task?.endsAt).toBe((call.task?.since ?? 0) + 3_600_000);
    server.knobs.message = "2 of 2";
    const later = await page.until(call.id, ({ task }) => task?.message?.text === "2 of 2");
    expect(later.version).toBeGreaterThan(call.version);
    expect((await page.inbox()).calls[0]).toMatchObject({
      state: "sending",
      task: { status: "working", message: { text: "2 of 2" }, since: call.task?.since },
    });
    server.knobs.status = "completed";
    const ended = await page.until(call.id, over);
    expect(ended).toMatchObject({
      state: "complete",
      result: { text: { text: "built" } },
      task: { status: "completed" },
    });
    expect(types(ended)).toEqual(["started", "task", "ended"]);
    const looks = server.count("tasks/get");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.count("tasks/get"), "nobody looks at what has ended").toBe(looks);
    expect(server.count("tools/call")).toBe(1);
  });

  it("looks that bring no news tell nobody", async () => {
    const { server, page, begun } = await desk();
    const call = await begun();
    const events = await page.events();
    const looks = server.count("tasks/get");
    await expect.poll(() => server.count("tasks/get")).toBeGreaterThan(looks + 5);
    expect(events.seen.filter(({ type }) => type === "call")).toEqual([]);
    expect((await page.until(call.id, () => true)).version).toBe(call.version);
    events.stop();
  });

  it("T1, U1: a server's words are bounded and made visible", async () => {
    const { server, page, store, begun } = await desk();
    server.knobs.message = `\u202Ehttps://evil.example ${"x".repeat(100_000)}`;
    const { id } = await begun();
    const { task } = await page.until(id, (call) => call.task?.message !== undefined);
    expect(task?.message?.text).toMatch(/^⟨U\+202E⟩https:⟨link⟩\/\/evil\.example x/);
    expect(task?.message?.text.length).toBeLessThan(1_200);
    expect(task?.message?.warnings.length).toBeGreaterThan(0);
    expect(JSON.stringify((await store.get(id))?.task).length, "kept").toBeLessThan(3_000);
    server.knobs.status = "reticulating\u0000";
    await page.until(id, (call) => call.task?.status === "reticulating⟨U+0000⟩");
  });

  it("B48, H22, H23: a question is put once however often it is seen, answered by one update, and the task goes on", async () => {
    const { server, page, begun } = await desk();
    const { id } = await begun();
    Object.assign(server.knobs, {
      status: "input_required",
      asks: { size: question("Size?", { n: { type: "integer" } }) },
    });
    const asked = await page.until(id, waiting);
    expect(asked).toMatchObject({ open: 1, task: { status: "input_required" } });
    expect((await page.inbox()).waiting).toBe(1);
    const looks = server.count("tasks/get");
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.count("tasks/get"), "a person is waited for").toBe(looks);
    const answer = { action: "accept", content: { n: 4 } } as const;
    await page.decide(asked, answer);
    await page.until(id, ({ task }) => task?.status === "working");
    // A server may show an answered key for a while (H27).
    Object.assign(server.knobs, { status: "input_required", asks: { size: question("Size?"), go: question("Go?") } });
    const again = await page.until(id, waiting);
    expect(again.questions.map(({ view }) => view.key)).toEqual(["go"]);
    await page.decide(again, { action: "decline" });
    await expect.poll(() => server.count("tasks/update")).toBe(2);
    server.knobs.status = "completed";
    const ended = await page.until(id, over);
    expect(types(ended)).toEqual(["started", "task", "asked", "decided", "sent", "asked", "decided", "sent", "ended"]);
    const updates = server.seen.filter(({ method }) => method === "tasks/update");
    expect(updates.map(({ params }) => params["inputResponses"])).toEqual([
      { size: answer },
      { go: { action: "decline" } },
    ]);
  });

  it("D1: the policy is asked first, as for any question", async () => {
    const policy: NonNullable<WorldOptions["policy"]> = {
      decide: ({ context }) =>
        context.key === "auto"
          ? { type: "answer", response: { action: "decline" }, rule: "never at night" }
          : { type: "fail", rule: "not that", reason: "no" },
    };
    const { server, page, begun } = await desk({ policy });
    const { id } = await begun();
    Object.assign(server.knobs, { status: "input_required", asks: { auto: question("Go?") } });
    await expect.poll(() => server.count("tasks/update")).toBe(1);
    Object.assign(server.knobs, { status: "input_required", asks: { other: question("Go?") } });
    const ended = await page.until(id, over);
    expect(ended).toMatchObject({ state: "failed", problem: expect.stringContaining("“not that” of the policy") });
    expect(ended.problem, "nobody waits for it any more").toContain("The server was told to cancel its task.");
    expect(methods(server).at(-1)).toBe("tasks/cancel");
  });

  it("a secret that a task asks for is sent, and forgotten once the server has it (B35)", async () => {
    const { server, page, store, begun } = await desk({ allowSecretFields: ["apiKey"] });
    const { id } = await begun();
    Object.assign(server.knobs, {
      status: "input_required",
      asks: { login: question("Log in", { apiKey: { type: "string" } }) },
    });
    const asked = await page.until(id, waiting);
    await page.decide(asked, { action: "accept", content: { apiKey: "hunter2-hunter2" } });
    await page.until(id, ({ task }) => task?.status === "working");
    expect(server.seen.some(({ params }) => JSON.stringify(params).includes("hunter2"))).toBe(true);
    expect(JSON.stringify(await store.get(id))).not.toContain("hunter2");
  });
});

describe("the end of a task", () => {
  it.each([
    ["H15: that failed", { status: "failed" }, /^The task failed at "desk": it broke \(error -31500\)/],
    ["that somebody else cancelled", { status: "cancelled" }, /cancelled at its server/],
    ["H18, H20: that the server does not know any more", { forgotten: true }, /does not know the task any more/],
  ])("%s ends the call with a reason", async (_what, change, reason) => {
    const { server, page, begun } = await desk();
    const { id } = await begun();
    Object.assign(server.knobs, change);
    const ended = await page.until(id, over);
    expect(ended).toMatchObject({ state: "failed", problem: expect.stringMatching(reason) });
    expect(methods(server), "there is nothing to cancel").not.toContain("tasks/cancel");
  });

  it("of a tool that reports a failure of its own is complete, and the list says so", async () => {
    const { server, page, begun } = await desk();
    Object.assign(server.knobs, { status: "completed", result: done("no luck", { isError: true }) });
    const { id } = await begun();
    expect(await page.until(id, over)).toMatchObject({ state: "complete", isError: true, result: { isError: true } });
    expect((await page.inbox()).calls[0]).toMatchObject({ state: "complete", isError: true });
    const plain = await page.start("desk", "plain");
    await page.until(plain.id, over);
    expect((await page.inbox()).calls[0]?.isError).toBeUndefined();
  });

  it("H28: Stop cancels it at the server, and says so", async () => {
    const { server, page, begun } = await desk();
    for (const asks of [{}, { go: question("Go?") }]) {
      const { id } = await begun();
      if ("go" in asks) {
        Object.assign(server.knobs, { status: "input_required", asks });
        await page.until(id, waiting);
      }
      const stopped = (await page.post(`/api/calls/${id}/stop`)).body;
      expect(over(stopped) || stopped.ending).toBe(true);
      const ended = await page.until(id, over);
      expect(ended).toMatchObject({
        state: "stopped",
        problem: "A person stopped the call; no answer is sent. The server was told to cancel its task.",
        questions: [],
      });
      expect(types(ended).slice(-2)).toEqual(["ending", "ended"]);
      expect(methods(server).at(-1)).toBe("tasks/cancel");
      expect(server.count("tasks/update")).toBe(0);
      Object.assign(server.knobs, { status: "working", asks: {} });
    }
  });

  it("H28: a server that is out of reach is told when it is back; stopped twice, the call ends and says that it was not", async () => {
    const { server, page, begun } = await desk({ retryMs: 30 });
    const [first, second] = [await begun(), await begun()];
    server.knobs.cut = /tasks\/cancel/;
    for (const { id } of [first, second]) await page.post(`/api/calls/${id}/stop`);
    await expect.poll(() => server.count("tasks/cancel")).toBeGreaterThan(3);
    const trying = await page.until(first.id, ({ problem }) => problem !== undefined);
    expect(trying).toMatchObject({ state: "sending", ending: true });
    expect(trying.waitingOnServer).toBeUndefined();
    const given = (await page.post(`/api/calls/${second.id}/stop`)).body;
    expect(given).toMatchObject({ state: "stopped", problem: expect.stringContaining("The server was not told") });
    server.knobs.cut = undefined;
    const ended = await page.until(first.id, over);
    expect(ended.problem).toContain("The server was told to cancel its task.");
  });

  it("B24: a server that is down is said to be out of reach, and when it is tried again", async () => {
    const server = await handTasks();
    const { browser } = await world({ servers: { lean: { connect: () => leanly(server.url) } }, retryMs: 60 });
    const page = await browser();
    const { id } = await page.until((await page.start("lean", "build")).id, ({ task }) => task !== undefined);
    expect((await page.until(id, () => true)).unreachable).toBeUndefined();
    await server.close();
    const out = await page.until(id, ({ problem }) => problem?.includes("ECONNREFUSED") === true);
    expect(out.problem).toMatch(/^"lean" cannot be reached: /);
    expect(out.unreachable?.at).toBeGreaterThan(out.startedAt);
    expect(types(out)).toEqual(["started", "task", "unreachable"]);
    await page.post(`/api/calls/${id}/stop`);
    const stopping = await page.until(id, ({ unreachable, ending }) => ending === true && unreachable !== undefined);
    expect(types(stopping)).toEqual(["started", "task", "unreachable", "ending", "unreachable"]);
    await page.post(`/api/calls/${id}/stop`);
  });

  it("F6: nothing more from its server cancels it too", async () => {
    const { server, page, begun } = await desk();
    const { id } = await begun();
    await page.post("/api/servers/desk/mute", { muted: true });
    const ended = await page.until(id, over);
    expect(ended.problem).toMatch(/nothing more from this server; no answer was sent. The server was told to cancel/);
    expect(server.count("tasks/cancel")).toBe(1);
  });

  it("B40: a question that cannot be put ends the call, and cancels its task", async () => {
    const { server, page, begun } = await desk();
    const { id } = await begun();
    Object.assign(server.knobs, {
      status: "input_required",
      asks: { q: { method: "sampling/createMessage", params: {} } },
    });
    const ended = await page.until(id, over);
    expect(ended).toMatchObject({ state: "failed", problem: expect.stringContaining("broke rule") });
    expect(methods(server).at(-1)).toBe("tasks/cancel");
  });
});

describe("what must not end a task", () => {
  it("B24: a server that is away, slow or unwell: the call keeps waiting, and is not started again", async () => {
    const { server, page, begun } = await desk({ retryMs: 30, legTimeoutMs: 200 });
    const { id } = await begun();
    const troubles: [Partial<HandTasks["knobs"]>, string][] = [
      [{ cut: /tasks\/get/ }, "cannot be reached"],
      [{ fails: { code: -32_603, message: "the store is away" } }, "the store is away"],
      [{ hold: { of: /tasks\/get/, until: new Promise(() => {}) } }, "within 200 ms"],
    ];
    for (const [trouble, problem] of troubles) {
      Object.assign(server.knobs, trouble);
      const troubled = await page.until(id, (call) => call.problem?.includes(problem) === true);
      expect(troubled.state).toBe("sending");
      Object.assign(server.knobs, { cut: undefined, fails: undefined, hold: undefined });
      await page.until(id, (call) => call.problem === undefined);
    }
    server.knobs.status = "completed";
    expect((await page.until(id, over)).state).toBe("complete");
    expect(server.count("tools/call")).toBe(1);
  });

  it("B24, H26: answers whose acknowledgement was lost are sent again by themselves, the same ones", async () => {
    const { server, page, begun } = await desk({ retryMs: 30 });
    const { id } = await begun();
    Object.assign(server.knobs, { status: "input_required", asks: { go: question("Go?") } });
    const asked = await page.until(id, waiting);
    server.knobs.cut = /tasks\/update/;
    await page.decide(asked, yes);
    await page.until(id, (call) => call.problem !== undefined);
    server.knobs.cut = undefined;
    await page.until(id, ({ task }) => task?.status === "working");
    const updates = server.seen.filter(({ method }) => method === "tasks/update");
    expect(updates.length).toBeGreaterThan(1);
    for (const { params } of updates) expect(params["inputResponses"]).toEqual({ go: yes });
  });

  it("H20: its questions expire with it, and with the host's time for people; then nothing is sent", async () => {
    const { server, page, begun } = await desk({ humanTimeoutMs: 60_000 });
    server.knobs.ttlMs = 400;
    const { id } = await begun();
    Object.assign(server.knobs, { status: "input_required", asks: { go: question("Go?") } });
    const asked = await page.until(id, waiting);
    expect(asked.answerBy).toBe((asked.task?.since ?? 0) + 400);
    const ended = await page.until(id, over);
    expect(ended).toMatchObject({
      state: "expired",
      problem: expect.stringContaining("Its task may go on at the server"),
    });
    expect(methods(server)).not.toContain("tasks/cancel");
  });

  it("B45: one that never ends is let go of after taskTimeoutMs, and not before; the time for ended calls does not count", async () => {
    const store = memoryPending({ keepEndedMs: 0, maxCalls: 2 });
    const { server, page, begun } = await desk({ store, taskTimeoutMs: 700, humanTimeoutMs: 100 });
    const { id, task } = await begun();
    // Makes room for itself by dropping ended calls.
    for (let count = 0; count < 3; count++) await page.until((await page.start("desk", "plain")).id, over);
    const ended = await page.until(id, over);
    expect(ended).toMatchObject({ state: "failed", problem: expect.stringContaining("taskTimeoutMs") });
    expect((ended.history.at(-1)?.at ?? 0) - (task?.since ?? 0)).toBeGreaterThanOrEqual(700);
    expect(server.count("tasks/get")).toBeGreaterThan(5);
  });

  it("many tasks hold up nobody: more than are looked at at once go on, and a question is answered at once", async () => {
    const { server, page, inbox } = await desk({ pollMs: 50 });
    let release = () => {};
    const until = new Promise<void>((resolve) => (release = resolve));
    const started = await Promise.all(
      Array.from({ length: 60 }, () => inbox.start({ server: "desk", method: "tools/call", target: "build" }, "host")),
    );
    for (const { id } of started) await page.until(id, ({ task }) => task !== undefined);
    // Every look hangs.
    server.knobs.hold = { of: /tasks\/get/, until };
    const before = server.count("tasks/get");
    const plain = await page.start("desk", "plain");
    expect((await page.until(plain.id, over)).state).toBe("complete");
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(server.count("tasks/get") - before, "looks at once").toBeLessThanOrEqual(16);
    release();
    server.knobs.status = "completed";
    for (const { id } of started) expect((await page.until(id, over)).state).toBe("complete");
  });
});
