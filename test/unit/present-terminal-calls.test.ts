/** Several calls at one terminal: turns, rounds that are reviewed, ways to stop, and links that are waited for. */
import { setTimeout } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { type TerminalOptions, terminalResponders } from "../../src/present/index.ts";
import type { ElicitFormParams, SamplingResult } from "../../src/protocol/types.ts";
import { samplingLimits } from "../../src/sampling/index.ts";
import { done, form, inOrder, interim, link, scripted } from "./calls-peer.ts";
import { CTRL_C, contextOf, DOWN, ENTER, ESC, FakeTerminal, UP } from "./present-fake-terminal.ts";

const NAME: ElicitFormParams = {
  message: "Name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};
function responders(terminal: FakeTerminal, options: TerminalOptions = {}) {
  return terminalResponders({ input: terminal.input, output: terminal.output, settleMs: 2, ...options });
}
const ended = (promise: Promise<unknown>) =>
  promise.then(
    (value) => ({ value, code: undefined }),
    (error: { code: string }) => ({ value: undefined, code: error.code }),
  );

describe("turns", () => {
  test("the one being typed is not disturbed: another call's question, and its end, write nothing", async () => {
    const terminal = new FakeTerminal();
    const { form } = responders(terminal);
    const first = form!(NAME, contextOf({ key: "one", callId: "1" }));
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for", "h", "a", "l", "f");
    await setTimeout(20);
    const before = terminal.output.written;
    const call = new AbortController();
    const second = ended(form!(NAME, contextOf({ key: "two", callId: "2", signal: call.signal })));
    await setTimeout(20);
    call.abort();
    expect(await second).toMatchObject({ code: "aborted" });
    expect(terminal.output.written).toBe(before);
    await terminal.at("", ENTER);
    await terminal.at("Send this to server", ENTER);
    expect(await first).toEqual({ action: "accept", content: { name: "half" } });
  });

  test("D2: keys typed ahead are dropped between two queued questions too", async () => {
    const terminal = new FakeTerminal();
    const { form } = responders(terminal, { settleMs: 20 });
    const yes = { message: "Sure?", requestedSchema: { type: "object" as const, properties: {} } };
    const first = ended(form!(yes, contextOf({ key: "one", callId: "1" })));
    const second = form!(yes, contextOf({ key: "two", callId: "2" }));
    // One burst: the first answer, and what would agree to the second.
    await terminal.at("Agree to what", `${UP}${ENTER}${UP}${UP}${ENTER}`, UP, UP, ENTER);
    expect(await first).toMatchObject({ value: { action: "decline" } });
    await terminal.shows("question “two”");
    await terminal.at("Agree to what", ENTER);
    expect(await second).toEqual({ action: "cancel" });
  });

  test("D3: one answer wins: what a time-out took away, a late key does not answer", async () => {
    const terminal = new FakeTerminal();
    const call = new AbortController();
    const answer = ended(responders(terminal).form!(NAME, contextOf({ signal: call.signal })));
    await terminal.shows("Answer?");
    call.abort();
    terminal.input.write(`${DOWN}${ENTER}`);
    expect(await answer).toMatchObject({ code: "aborted", value: undefined });
    await terminal.shows("Question “window” of server “deploy-server” is gone");
  });
});

test("M1 M2: a state goes back as it came with its own retry only, and is neither on the screen nor in an event", async () => {
  const terminal = new FakeTerminal();
  const state = "opaque \u001b[2J\u202e é";
  const peer = await scripted(inOrder(interim({ one: form() }, state), interim({ two: form() }), done()));
  const call = peer.calls({ responders: responders(terminal) }).callTool({ name: "t" });
  await terminal.at("Agree to what", UP, ENTER);
  await terminal.shows("question “two”");
  await terminal.at("Agree to what", UP, ENTER);
  await call;
  expect(peer.requests.map(({ params }) => params["requestState"])).toEqual([undefined, state, undefined]);
  expect(terminal.text).not.toContain("opaque");
  expect(JSON.stringify(peer.events)).not.toContain("opaque");
});

describe("F6: ways to stop", () => {
  test("stop this call ends it as Ctrl-C does: nothing goes to the server", async () => {
    const terminal = new FakeTerminal();
    const peer = await scripted(inOrder(interim({ ok: form() }, "s"), done()));
    const call = ended(peer.calls({ responders: responders(terminal) }).callTool({ name: "t" }));
    // From "Dismiss", where the highlight stands, one down.
    await terminal.at("Agree to what", DOWN, ENTER);
    expect(await call).toMatchObject({ code: "aborted" });
    expect(peer.requests).toHaveLength(1);
    expect(peer.events.at(-1)).toMatchObject({ type: "aborted" });
  });

  test("nothing more from this server: its calls end unseen, with no answer; other servers still ask", async () => {
    const terminal = new FakeTerminal();
    const surface = responders(terminal);
    const noisy = await scripted((_request, count) => (count < 9 ? interim({ ok: form() }, "s") : done()));
    const other = await scripted(inOrder(interim({ fine: form() }, "s"), done("fine")));
    const first = ended(noisy.calls({ responders: surface }).callTool({ name: "t" }));
    await terminal.at("Agree to what", DOWN, DOWN, ENTER);
    expect(await first).toMatchObject({ code: "aborted" });

    const written = terminal.output.written;
    const again = ended(noisy.calls({ responders: surface }).callTool({ name: "t" }));
    expect(await again).toMatchObject({ code: "aborted" });
    expect(terminal.output.written).toBe(written);
    expect(JSON.stringify(noisy.requests)).not.toMatch(/decline|cancel|inputResponses/);

    const third = ended(other.calls({ server: "other", responders: surface }).callTool({ name: "t" }));
    await terminal.at("question “fine”");
    await terminal.at("Agree to what", UP, UP, ENTER);
    expect(await third).toMatchObject({ value: { content: [{ text: "fine" }] } });
  });
});

describe("D19: a round is reviewed before it is sent", () => {
  const round = () => interim({ a: form({ name: { type: "string" } }), b: form(), c: link() }, "s");
  async function asked() {
    const terminal = new FakeTerminal();
    const peer = await scripted(inOrder(round(), done()));
    const call = ended(peer.calls({ responders: responders(terminal) }).callTool({ name: "t" }));
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for field 1", "x", ENTER);
    await terminal.at("Nothing is sent before", ENTER);
    await terminal.at("Agree to what", UP, ENTER);
    await terminal.at("Visit this", UP, UP, ENTER);
    await terminal.at("Go on as soon", ENTER);
    return { terminal, peer, call, answers: () => peer.requests[1]?.params["inputResponses"] };
  }

  test("all of it is shown and sent as it is", async () => {
    const { terminal, call, answers } = await asked();
    for (const line of [
      "Question “a”",
      "“name”: “x”",
      "Question “b”",
      "Declined.",
      "You agreed to visit example.com.",
    ]) {
      await terminal.shows(line);
    }
    await terminal.at("Send these 3 answers?", ENTER);
    await call;
    expect(answers()).toEqual({
      a: { action: "accept", content: { name: "x" } },
      b: { action: "decline" },
      c: { action: "accept" },
    });
  });

  test.each<[string, string[], (terminal: FakeTerminal) => Promise<void>, object]>([
    [
      "a form",
      [ENTER],
      async (terminal) => {
        await terminal.at("Nothing is sent before", DOWN, ENTER);
        await terminal.at("Text for field 1", "y", ENTER);
        await terminal.at("Nothing is sent before", ENTER);
      },
      { a: { action: "accept", content: { name: "xy" } } },
    ],
    [
      "a no",
      [DOWN, ENTER],
      (terminal) => terminal.at("Agree to what", UP, UP, ENTER),
      { b: { action: "accept", content: {} } },
    ],
    [
      "a link, back to no",
      [DOWN, DOWN, ENTER],
      (terminal) => terminal.at("You agreed to visit this", DOWN, ENTER),
      { c: { action: "decline" } },
    ],
  ])("%s is changed, and the rest stays", async (_name, which, change, expected) => {
    const { terminal, call, answers } = await asked();
    await terminal.at("Send these 3 answers?", DOWN, ENTER);
    await terminal.at("Which one?", ...which);
    await change(terminal);
    await terminal.at("Send these 3 answers?", ENTER);
    await call;
    expect(answers()).toMatchObject({ a: { action: "accept" }, b: {}, c: {}, ...expected });
  });

  test("Escape dismisses all of it: each is a cancel, none a decline", async () => {
    const { terminal, call, answers } = await asked();
    await terminal.at("Send these 3 answers?", ESC);
    await call;
    expect(answers()).toEqual({ a: { action: "cancel" }, b: { action: "cancel" }, c: { action: "cancel" } });
  });

  test("Ctrl-C at the review ends the call, and nothing of it is sent", async () => {
    const { terminal, call, peer } = await asked();
    await terminal.at("Send these 3 answers?", CTRL_C);
    expect(await call).toMatchObject({ code: "aborted" });
    expect(peer.requests).toHaveLength(1);
  });

  test("one that comes late, behind a slow policy say, is waited for", async () => {
    const terminal = new FakeTerminal();
    const { form } = responders(terminal);
    const of = (key: string) => contextOf({ callId: "1", key });
    const early = [form!(NAME, of("a")), form!(NAME, of("b"))];
    await terminal.at("Answer?", DOWN, ENTER);
    await terminal.shows("question “b”");
    const late = form!(NAME, of("c"));
    await terminal.at("Answer?", DOWN, ENTER);
    await terminal.shows("question “c”");
    await terminal.at("Answer?", ESC);
    await terminal.at("Send these 3 answers?", ENTER);
    expect(await Promise.all([...early, late])).toEqual([
      { action: "decline" },
      { action: "decline" },
      { action: "cancel" },
    ]);
  });

  test("answers of two calls are not mixed, and a call that ends takes its held answers along", async () => {
    const terminal = new FakeTerminal();
    const { form } = responders(terminal);
    const call = new AbortController();
    const of = (callId: string, key: string, signal = new AbortController().signal) =>
      contextOf({ callId, key, signal });
    const one = ended(form!(NAME, of("1", "one", call.signal)));
    const two = ended(form!(NAME, of("1", "two", call.signal)));
    const other = form!(NAME, of("2", "other"));
    await terminal.at("Answer?", DOWN, ENTER);
    await terminal.shows("question “two”");
    await terminal.shows("Answer?");
    call.abort();
    expect([await one, await two]).toMatchObject([{ code: "aborted" }, { code: "aborted" }]);
    await terminal.at("question “other”");
    await terminal.at("Answer?", DOWN, ENTER);
    expect(await other).toEqual({ action: "decline" });
    expect(terminal.text).not.toContain("Your answers to server");
  });
});

describe("L9/E22/E24: a link that comes back", () => {
  const params = { mode: "url", message: "x", url: "https://a.example/" } as const;
  test("keep waiting: the server checks after a pause, each longer than the last; nothing opens by itself", async () => {
    const openUrl = vi.fn(async () => {});
    const terminal = new FakeTerminal();
    const { url } = responders(terminal, { openUrl, waitMs: 40 });
    const again = () => url!(params, contextOf({ repeated: true, callId: "c" }));
    const first = again();
    const start = performance.now();
    await terminal.at("still waiting", DOWN, DOWN, ENTER);
    await terminal.shows("asked again in 1 seconds");
    expect(await first).toEqual({ action: "accept" });
    expect(await again()).toEqual({ action: "accept" });
    expect(performance.now() - start).toBeGreaterThan(115);
    expect(openUrl).not.toHaveBeenCalled();
    // Another call's link has its own patience.
    const other = ended(url!(params, contextOf({ repeated: true, callId: "d" })));
    await terminal.shows("still waiting for what happens at this address.");
    await setTimeout(100);
    terminal.input.write(ESC);
    expect(await other).toMatchObject({ value: { action: "cancel" } });
  });

  test("a wait can be left: Escape cancels, Ctrl-C ends the call", async () => {
    for (const [key, expected] of [
      [ESC, { value: { action: "cancel" } }],
      [CTRL_C, { code: "aborted" }],
    ] as const) {
      const terminal = new FakeTerminal();
      const answer = ended(responders(terminal, { waitMs: 60_000 }).url!(params, contextOf({ repeated: true })));
      await terminal.at("still waiting", DOWN, ENTER);
      await terminal.at("asked again in 60 seconds", key);
      expect(await answer).toMatchObject(expected);
    }
  });
});

describe("sampling beside other questions", () => {
  const prompt = {
    maxTokens: 50,
    messages: [{ role: "user" as const, content: { type: "text" as const, text: "Sum up." } }],
  };

  test("while the model works another call is asked; the answer is reviewed in its turn, and says whose it is", async () => {
    const terminal = new FakeTerminal();
    let finish = (_result: SamplingResult) => {};
    const model = () =>
      new Promise<SamplingResult>((resolve) => {
        finish = resolve;
      });
    const { sample, form } = responders(terminal, { model });
    const sampled = sample!(prompt, contextOf({ key: "sum", target: "summary", callId: "1" }));
    await terminal.at("Give this to your model?", UP, UP, UP, ENTER);
    await terminal.shows("The model is working");
    const other = form!(NAME, contextOf({ key: "name", callId: "2" }));
    await terminal.shows("Answer?");
    finish({ role: "assistant", model: "m", content: { type: "text", text: "Short." } });
    await setTimeout(20);
    expect(terminal.text).not.toContain("Short.");
    await terminal.at("", DOWN, ENTER);
    expect(await other).toEqual({ action: "decline" });
    await terminal.shows("gets an answer of your language model  (question “sum”)");
    await terminal.shows("tools/call “summary”");
    await terminal.at("Send this answer", UP, UP, UP, ENTER);
    expect(await sampled).toMatchObject({ content: { text: "Short." } });
  });

  test("F14: the host's limits hold at the terminal; what passes them is not shown", async () => {
    const terminal = new FakeTerminal();
    const model = async () => ({}) as SamplingResult;
    const { sample } = responders(terminal, { model, limits: samplingLimits({ maxTokensPerRequest: 49 }) });
    expect(await ended(sample!(prompt, contextOf()))).toMatchObject({ code: "limit_exceeded" });
    expect(terminal.output.written).toBe("");
  });
});
