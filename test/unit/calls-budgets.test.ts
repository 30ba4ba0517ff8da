import { expect, test, vi } from "vitest";
import { accept, done, form, HandClock, inOrder, interim, scripted, settle } from "./calls-peer.ts";

const name = "deploy";
const never = () => new Promise<never>(() => {});
const HOUR_MS = 3_600_000;

test("B38, I11: a person's time does not count toward a leg", async () => {
  const clock = new HandClock();
  const peer = await scripted(inOrder(interim({ a: form() }, "s"), done()));
  const answer = async () => {
    await new Promise<void>((resolve) => clock.after(5000, resolve));
    return accept();
  };
  const call = peer.calls({ clock, legTimeoutMs: 1000, responders: { form: answer } }).callTool({ name });
  await clock.pass(5000);
  await expect(call).resolves.toMatchObject({ content: [{ text: "done" }] });
  expect(clock.pending).toBe(0);
});

test("B38: nobody answers: the human limit ends the call by name, and nothing is sent", async () => {
  const clock = new HandClock();
  const peer = await scripted(inOrder(interim({ a: form(), b: form() }, "s")));
  let signal: AbortSignal | undefined;
  const responders = {
    form: (_: unknown, context: { signal: AbortSignal }) => {
      signal = context.signal;
      return never();
    },
  };
  const call = peer.calls({ clock, humanTimeoutMs: HOUR_MS, responders }).callTool({ name });
  const failure = expect(call).rejects.toMatchObject({ code: "human_timeout", details: { keys: ["a", "b"] } });
  await clock.pass(HOUR_MS - 1);
  expect(signal?.aborted).toBe(false);
  await clock.pass(1);
  await failure;
  expect(signal?.aborted).toBe(true);
  expect(peer.requests).toHaveLength(1);
  expect(peer.notifications).toHaveLength(0);
  expect(clock.pending).toBe(0);
});

test("B38, I10: a server that is slow on leg 2 is a leg timeout, and the leg is cancelled", async () => {
  const clock = new HandClock();
  const peer = await scripted(inOrder(interim({ a: form() }, "s"), "silence"));
  const calls = peer.calls({ clock, legTimeoutMs: 1000, responders: { form: async () => accept() } });
  const failure = expect(calls.callTool({ name })).rejects.toMatchObject({ code: "leg_timeout" });
  await clock.pass(1000);
  await failure;
  const requestId = peer.requests[1]?.id;
  expect(peer.notifications).toMatchObject([{ method: "notifications/cancelled", params: { requestId } }]);
});

test("B3, B25: a result on the last allowed leg is kept; a question on it is not put to anybody", async () => {
  const asked = vi.fn(async () => accept());
  const peer = await scripted(inOrder(interim({ a: form() }), interim({ a: form() }), done("last")));
  await expect(peer.calls({ maxRounds: 3, responders: { form: asked } }).callTool({ name })).resolves.toBeDefined();
  expect(asked).toHaveBeenCalledTimes(2);
  const endless = await scripted(inOrder(interim({ a: form() })));
  asked.mockClear();
  const failure = endless.calls({ maxRounds: 3, responders: { form: asked } }).callTool({ name });
  await expect(failure).rejects.toMatchObject({
    code: "rounds_exceeded",
    details: { maxRounds: 3, questions: { a: form() } },
  });
  expect(asked).toHaveBeenCalledTimes(2);
  expect(endless.requests).toHaveLength(3);
});

test("B03, I16: 50 state-only rounds stop at the cap with a named error, paced with growth and jitter", async () => {
  const clock = new HandClock();
  const peer = await scripted((_, count) => (count > 50 ? done() : interim(undefined, `w${count}`)));
  const call = peer.calls({ clock, random: () => 1 - Number.EPSILON, maxRounds: 8 }).callTool({ name });
  const failure = expect(call).rejects.toMatchObject({ code: "rounds_exceeded" });
  await settle();
  expect(peer.requests).toHaveLength(1);
  await clock.pass(299);
  expect(peer.requests).toHaveLength(1);
  await clock.pass(60_000);
  await failure;
  expect(peer.requests).toHaveLength(8);
  const waits = peer.events.flatMap((event) => (event.type === "paced" ? [Math.round(event.ms)] : []));
  expect(waits).toEqual([300, 600, 1200, 2400, 4800, 6000, 6000]);
  expect(peer.requests[1]?.params).toMatchObject({ name, requestState: "w1" });
  expect(peer.requests[1]?.params).not.toHaveProperty("inputResponses");
});

test("totalTimeoutMs ends the call while a person thinks, and while it is paced", async () => {
  for (const reply of [interim({ a: form() }, "s"), interim(undefined, "s")]) {
    const clock = new HandClock();
    const peer = await scripted(inOrder(reply));
    const options = { clock, totalTimeoutMs: 3000, pacing: { initialMs: 5000 }, responders: { form: never } };
    const failure = expect(peer.calls(options).callTool({ name })).rejects.toMatchObject({ code: "total_timeout" });
    await clock.pass(3000);
    await failure;
    expect(clock.pending).toBe(0);
    expect(peer.notifications).toHaveLength(0);
  }
});

test("B22: an abort between two rounds takes the question away and sends nothing", async () => {
  const owner = new AbortController();
  const peer = await scripted(inOrder(interim({ a: form() }, "s")));
  let signal: AbortSignal | undefined;
  const form1 = (_: unknown, context: { signal: AbortSignal }) => {
    signal = context.signal;
    return never();
  };
  const call = peer.calls({ responders: { form: form1 } }).callTool({ name }, { signal: owner.signal });
  const reason = new Error("tab closed");
  const failure = expect(call).rejects.toMatchObject({ code: "aborted", cause: reason });
  await settle();
  owner.abort(reason);
  await failure;
  expect(signal?.aborted).toBe(true);
  expect(peer.requests).toHaveLength(1);
  expect(peer.notifications).toHaveLength(0);
});

test("I5: an abort with a leg in flight cancels that leg; while pacing it ends the pause", async () => {
  for (const [reply, cancelled] of [
    ["silence", 1],
    [interim(undefined, "s"), 0],
  ] as const) {
    const clock = new HandClock();
    const owner = new AbortController();
    const peer = await scripted(inOrder(reply));
    const call = peer.calls({ clock }).callTool({ name }, { signal: owner.signal });
    const failure = expect(call).rejects.toMatchObject({ code: "aborted" });
    await settle();
    owner.abort();
    await failure;
    expect(peer.notifications).toHaveLength(cancelled);
    expect(clock.pending).toBe(0);
  }
  const peer = await scripted(inOrder(done()));
  const call = peer.calls().callTool({ name }, { signal: AbortSignal.abort() });
  await expect(call).rejects.toMatchObject({ code: "aborted" });
  expect(peer.requests).toHaveLength(0);
});

test("B29: questions of one round are put together; one failure takes its siblings off the screen", async () => {
  const peer = await scripted(inOrder(interim({ a: form(), b: form(), c: form() }, "s")));
  const signals: AbortSignal[] = [];
  const responders = {
    form: async (_: unknown, context: { key: string; signal: AbortSignal }) => {
      signals.push(context.signal);
      if (context.key !== "c") return never();
      await settle();
      throw new Error("the window was destroyed");
    },
  };
  const failure = peer.calls({ responders }).callTool({ name });
  await expect(failure).rejects.toMatchObject({ code: "unanswerable", details: { key: "c", server: "files" } });
  expect(signals).toHaveLength(3);
  expect(signals.every(({ aborted }) => aborted)).toBe(true);
  expect(peer.requests).toHaveLength(1);
});

test("B32: a surface that forgets to pass an answer on fails the call; no refusal is made up", async () => {
  const peer = await scripted(inOrder(interim({ a: form() }, "s"), done()));
  const control = { form: async () => accept() };
  await expect(peer.calls({ responders: control }).callTool({ name })).resolves.toBeDefined();
  for (const broken of [
    async () => undefined,
    () => undefined,
    async () => ({}),
    async () => {
      throw new Error("x");
    },
  ]) {
    const peer = await scripted(inOrder(interim({ a: form() }, "s"), done()));
    const failure = peer.calls({ responders: { form: broken as never } }).callTool({ name });
    await expect(failure).rejects.toMatchObject({ code: expect.stringMatching(/^(unanswerable|invalid_content)$/) });
    expect(peer.requests).toHaveLength(1);
  }
});

test("B40: a forced declaration without a surface fails within a second, naming the key and the server", async () => {
  const peer = await scripted(inOrder(interim({ k: form() }, "s")));
  const startedAt = Date.now();
  const call = peer.calls().callTool({ name }, { capabilities: { elicitation: { form: {} } } });
  await expect(call).rejects.toMatchObject({ code: "unanswerable", details: { key: "k", server: "files" } });
  await expect(call).rejects.toThrow(/"k".*"files"/);
  expect(Date.now() - startedAt).toBeLessThan(1000);
});

test("B40: when one question has no responder, none of the others is shown", async () => {
  const peer = await scripted(inOrder(interim({ a: form(), r: { method: "roots/list" } }, "s")));
  const asked = vi.fn(async () => accept());
  const capabilities = { elicitation: {}, roots: {} };
  const call = peer.calls({ responders: { form: asked } }).callTool({ name }, { capabilities });
  await expect(call).rejects.toMatchObject({ code: "unanswerable", details: { key: "r" } });
  expect(asked).not.toHaveBeenCalled();
});
