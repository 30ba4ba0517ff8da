import { describe, expect, it } from "vitest";
import { type Flow, tool } from "../../src/index.ts";
import { accept, decline, fakeClock, startFlow, yes } from "../../src/testing.ts";

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
const flowOf = (handler: (flow: Flow) => Promise<unknown>) =>
  tool("t", {}, async (_args, flow) => text(await handler(flow)));
const link = { message: "Connect", url: "https://example.com/connect", pollMs: 0, everyMs: 1 };

describe("E11 E12 L1 a link that leads to something: consent, then rounds that ask nothing", () => {
  it("is asked once, waits by state-only rounds, and ends when it is done", async () => {
    let looks = 0;
    const connect = flowOf(async (flow) => {
      await flow.url("go", { ...link, until: () => ++looks > 2 });
      return [await flow.confirm("next", "Next?"), looks];
    });
    const call = startFlow(connect);
    expect(Object.keys((await call.next()).questions)).toEqual(["go"]);
    const waiting = await call.next({ go: accept() });
    expect(waiting).toMatchObject({ questions: {}, requestState: expect.any(String), result: undefined });
    expect((await call.next()).questions).toEqual({});
    expect(Object.keys((await call.next()).questions)).toEqual(["next"]);
    expect((await call.next({ next: yes() })).result).toEqual(text([true, 3]));
  });

  it("a decline waits for nothing", async () => {
    const connect = flowOf(async (flow) => {
      await flow.url("go", { ...link, until: () => Promise.reject(new Error("looked")) });
      return "unreachable";
    });
    const call = startFlow(connect);
    await call.next();
    expect((await call.next({ go: decline() })).result).toMatchObject({ isError: true });
  });

  it("ends with url_incomplete when the author's time is over, counted over all rounds", async () => {
    const clock = fakeClock();
    const connect = flowOf(async (flow) => {
      try {
        await flow.url("go", { ...link, waitMs: 1_000, until: () => false });
        return "done";
      } catch (error) {
        return (error as { code: string }).code;
      }
    });
    const call = startFlow(connect, { clock });
    await call.next();
    await call.next({ go: accept() });
    clock.advance(999);
    expect((await call.next()).result).toBeUndefined();
    clock.advance(1);
    expect((await call.next()).result).toEqual(text("url_incomplete"));
  });

  it("a round waits within pollMs before it says that it still waits", async () => {
    let looks = 0;
    const connect = flowOf(async (flow) => {
      await flow.url("go", { ...link, pollMs: 5_000, until: () => ++looks > 3 });
      return looks;
    });
    const clock = fakeClock();
    const call = startFlow(connect, { clock });
    await call.next();
    expect((await call.next({ go: accept() })).result).toEqual(text(4));
  });

  it("waiting rounds do not use up the rounds a call may ask", async () => {
    let done = false;
    const connect = flowOf(async (flow) => {
      await flow.url("go", { ...link, until: () => done });
      return "done";
    });
    const call = startFlow(connect, { limits: { rounds: 2 } });
    await call.next();
    await call.next({ go: accept() });
    for (let round = 0; round < 5; round++) await call.next();
    done = true;
    expect((await call.next()).result).toEqual(text("done"));
  });

  it("what until throws is recorded as a failure, first and on replay", async () => {
    const seen: unknown[] = [];
    const connect = flowOf(async (flow) => {
      await flow
        .url("go", { ...link, until: () => Promise.reject(new Error("store down")) })
        .catch((error) => seen.push(error.code));
      return flow.confirm("next", "Next?");
    });
    const call = startFlow(connect);
    await call.next();
    await call.next({ go: accept() });
    await call.next({ next: yes() });
    expect(seen).toEqual(["step_failed", "step_failed"]);
  });
});
