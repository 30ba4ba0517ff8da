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

describe("A7, L1: flow.until waits for what ends elsewhere, by rounds that ask nothing", () => {
  it("ends when it is done, and says when its time is up", async () => {
    const clock = fakeClock();
    const done = new Set<string>();
    const both = flowOf((flow) =>
      Promise.all([
        flow.until("word", () => done.has("word"), { waitMs: 1_000, pollMs: 0 }),
        flow.until("never", () => false, { waitMs: 1_000, pollMs: 0 }),
      ]),
    );
    const call = startFlow(both, { clock });
    expect(await call.next()).toMatchObject({ questions: {}, requestState: expect.any(String) });
    done.add("word");
    clock.advance(999);
    expect((await call.next()).result).toBeUndefined();
    // What was done stays done.
    done.clear();
    clock.advance(1);
    expect((await call.next()).result).toEqual(text([true, false]));
  });

  it("refuses a duration that is none, and a key that is used", async () => {
    const wrong = startFlow(flowOf((flow) => flow.until("w", () => true, { waitMs: -1 })));
    await expect(wrong.next()).rejects.toMatchObject({ code: "invalid_question" });
    const twice = startFlow(flowOf(async (flow) => [await flow.until("w", () => true), await flow.confirm("w", "W?")]));
    await expect(twice.next()).rejects.toMatchObject({ data: { reason: "duplicate_key" } });
  });
});

describe("H12: flow.background hands over once nothing else is open", () => {
  it("counts as handed over where a flow is played in memory, and keeps its place over replays", async () => {
    const flow = flowOf(async (flow) => {
      const [first, , inTask] = await Promise.all([
        flow.confirm("first", "First?"),
        flow.step("beside", () => "done"),
        flow.background(),
      ]);
      return [first, inTask, await flow.confirm("second", "Second?")];
    });
    for (const replay of ["when-needed", "every-step"] as const) {
      const call = startFlow(flow, { replay });
      expect(Object.keys((await call.next()).questions)).toEqual(["first"]);
      expect(Object.keys((await call.next({ first: yes() })).questions)).toEqual(["second"]);
      expect((await call.next({ second: yes() })).result).toEqual(text([true, true, true]));
    }
  });

  it("refuses options that are none", async () => {
    for (const options of [{ ttlMs: 0 }, { pollIntervalMs: 1.5 }, { otherwise: "elsewhere" as "refuse" }]) {
      const call = startFlow(flowOf((flow) => flow.background(options)));
      await expect(call.next()).rejects.toMatchObject({ code: "configuration" });
      expect(() => tool("t", { background: options }, () => text("x"))).toThrow(
        expect.objectContaining({ code: "configuration" }),
      );
    }
  });
});
