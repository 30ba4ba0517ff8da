/** B38: human thinking time eats the tool's deadline. Two budgets, a clock that moves by hand, and a terminal. */
import { describe, expect, test } from "vitest";
import { terminalResponders } from "../../src/present/index.ts";
import { done, form, HandClock, interim, type Reply, scripted, settle } from "../unit/calls-peer.ts";
import { ENTER, FakeTerminal, UP } from "../unit/present-fake-terminal.ts";

async function call(second: Reply, humanTimeoutMs: number) {
  const clock = new HandClock();
  const terminal = new FakeTerminal();
  const { input, output } = terminal;
  const peer = await scripted((_request, count) => (count === 1 ? interim({ ok: form() }, "s") : second));
  const calls = peer.calls({
    responders: terminalResponders({ input, output, settleMs: 2 }),
    clock,
    legTimeoutMs: 1000,
    humanTimeoutMs,
  });
  const running = calls.callTool({ name: "t" }).then(
    (result) => ({ result, error: undefined }),
    (error: Error & { code: string }) => ({ result: undefined, error }),
  );
  await terminal.shows("Agree to what");
  return { clock, terminal, peer, running };
}
const AGREE = [UP, UP, ENTER];

describe("B38/I11: a leg's time-out is for the wire, the other one for people", () => {
  test("an answer after five times the leg's time-out succeeds", async () => {
    const { clock, terminal, running } = await call(done("in time"), 60_000);
    await clock.pass(5000);
    await terminal.at("", ...AGREE);
    expect(await running).toMatchObject({ result: { content: [{ text: "in time" }] } });
    expect(clock.pending).toBe(0);
  });

  test("never answered: it ends at the people's limit, says that nobody answered, and the question goes", async () => {
    const { clock, terminal, running, peer } = await call(done(), 60_000);
    await clock.pass(59_999);
    await settle();
    expect(terminal.input.raw).toBe(true);
    await clock.pass(1);
    const { error } = await running;
    expect(error).toMatchObject({
      code: "human_timeout",
      message: expect.stringContaining('Nobody answered "ok" in time'),
    });
    await terminal.shows("Question “ok” of server “files” is gone");
    expect(terminal.input.raw).toBe(false);
    expect(peer.requests).toHaveLength(1);
  });

  test("a server that is slow on the second leg is a leg's time-out, whatever people had", async () => {
    const { clock, terminal, running, peer } = await call("silence", 60_000);
    await clock.pass(5000);
    await terminal.at("", ...AGREE);
    while (peer.requests.length < 2) await settle();
    await clock.pass(1000);
    expect((await running).error).toMatchObject({ code: "leg_timeout" });
  });

  test("until when is on the screen; without a limit nothing is said of one", async () => {
    const limited = await call(done(), 90 * 60_000);
    const until = new Date(limited.clock.now() + 90 * 60_000);
    const minutes = String(until.getMinutes()).padStart(2, "0");
    expect(limited.terminal.text).toContain(`It can wait until ${until.getFullYear()}-`);
    expect(limited.terminal.text).toMatch(
      new RegExp(`\\d\\d:${minutes} \\(UTC[+-]\\d\\d:\\d\\d\\); then the call ends unanswered`),
    );
    await limited.terminal.at("", ...AGREE);
    await limited.running;

    const endless = await call(done(), Number.POSITIVE_INFINITY);
    expect(endless.terminal.text).not.toContain("It can wait until");
    await endless.terminal.at("", ...AGREE);
    await endless.running;
  });
});
