import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SamplingParams, SamplingResult } from "../../src/protocol/types.ts";
import { reportUsage, type SamplingLimitsOptions, samplingLimits } from "../../src/sampling/index.ts";
import { HandClock } from "./calls-peer.ts";
import { contextOf } from "./present-fake-terminal.ts";

const ask = (maxTokens = 10, more: Partial<SamplingParams> = {}): SamplingParams => ({
  maxTokens,
  messages: [],
  ...more,
});
const of = (server = "a", callId = "1") => contextOf({ server: { id: server }, callId });
const answer = (): SamplingResult => ({ role: "assistant", model: "m", content: { type: "text", text: "x" } });
const withTools = { tools: [{ name: "t", inputSchema: { type: "object" as const } }] };

function limited(options: SamplingLimitsOptions) {
  const clock = new HandClock();
  const everything = Object.fromEntries(
    [
      "maxTokensPerRequest",
      "maxTokensPerCall",
      "maxTokensPerHour",
      "maxRequestsPerMinute",
      "maxConcurrent",
      "maxToolTurns",
    ].map((name) => [name, Number.POSITIVE_INFINITY]),
  );
  return { clock, limits: samplingLimits({ ...everything, ...options, clock }) };
}
/** What a passed limit throws: the limit and its option by name. */
const past = (limit: keyof SamplingLimitsOptions, most: number) =>
  expect.objectContaining({
    code: "limit_exceeded",
    message: expect.stringContaining(`raise ${limit}`),
    details: expect.objectContaining({ limit, most, key: "window" }),
  });

describe("F14: each limit holds by itself, and names itself", () => {
  test("maxTokensPerRequest", () => {
    const { limits } = limited({ maxTokensPerRequest: 10 });
    limits.check(ask(10), of());
    expect(() => limits.check(ask(11), of())).toThrow(past("maxTokensPerRequest", 10));
  });

  test("maxTokensPerCall: over all rounds of a call; another call has its own", () => {
    const { limits } = limited({ maxTokensPerCall: 25 });
    limits.check(ask(), of()).spent(answer());
    limits.check(ask(), of()).spent(answer());
    expect(() => limits.check(ask(), of())).toThrow(past("maxTokensPerCall", 25));
    limits.check(ask(5), of());
    limits.check(ask(), of("a", "2"));
  });

  test("maxTokensPerHour: of one server over its calls, and an hour later it is free again", async () => {
    const { limits, clock } = limited({ maxTokensPerHour: 20 });
    limits.check(ask(), of("a", "1")).spent(answer());
    await clock.pass(1000);
    limits.check(ask(), of("a", "2")).spent(answer());
    expect(() => limits.check(ask(), of("a", "3"))).toThrow(past("maxTokensPerHour", 20));
    limits.check(ask(), of("b", "4"));
    await clock.pass(3_600_000 - 1001);
    expect(() => limits.check(ask(), of("a", "3"))).toThrow(past("maxTokensPerHour", 20));
    await clock.pass(1);
    limits.check(ask(), of("a", "3"));
  });

  test("maxRequestsPerMinute: refused ones cost nothing, released ones count", async () => {
    const { limits, clock } = limited({ maxRequestsPerMinute: 2 });
    limits.check(ask(), of()).spent(answer());
    limits.check(ask(), of()).release();
    for (let times = 0; times < 3; times += 1) {
      expect(() => limits.check(ask(), of())).toThrow(past("maxRequestsPerMinute", 2));
    }
    limits.check(ask(), of("b"));
    await clock.pass(60_000);
    limits.check(ask(), of());
    limits.check(ask(), of());
  });

  test("maxConcurrent: over all servers, and a permit frees its place once", () => {
    const { limits } = limited({ maxConcurrent: 2 });
    const first = limits.check(ask(), of("a"));
    limits.check(ask(), of("b"));
    expect(() => limits.check(ask(), of("c"))).toThrow(past("maxConcurrent", 2));
    first.spent(answer());
    first.spent(answer());
    first.release();
    limits.check(ask(), of("c"));
    expect(() => limits.check(ask(), of("c"))).toThrow(past("maxConcurrent", 2));
  });

  test("F11 maxToolTurns: turns are counted in the call, and in the history a server sends along", () => {
    const { limits } = limited({ maxToolTurns: 2 });
    limits.check(ask(10, withTools), of());
    limits.check(ask(10, withTools), of());
    expect(() => limits.check(ask(10, withTools), of())).toThrow(past("maxToolTurns", 2));
    // The last turn of a bounded loop forbids tools; so does a request without any.
    limits.check(ask(10, { ...withTools, toolChoice: { mode: "none" } }), of());
    limits.check(ask(), of());

    const used = { role: "assistant" as const, content: { type: "tool_use" as const, id: "1", name: "t", input: {} } };
    const history = { ...withTools, messages: [used, used] };
    expect(() => limits.check(ask(10, history), of("b", "2"))).toThrow(past("maxToolTurns", 2));
  });
});

describe("what a request cost", () => {
  const left = (limits: ReturnType<typeof samplingLimits>) => {
    let tokens = 0;
    for (; tokens < 200; tokens += 1) {
      try {
        limits.check(ask(tokens + 1), of()).release();
      } catch {
        break;
      }
    }
    return tokens;
  };
  test.each<[string, (permit: { spent(result?: SamplingResult): void; release(): void }) => void, number]>([
    [
      "what the model reported, input included",
      (permit) => permit.spent(reportUsage(answer(), { inputTokens: 5, outputTokens: 1 })),
      94,
    ],
    ["all that was allowed, when it reported nothing", (permit) => permit.spent(answer()), 90],
    ["all that was allowed, when it failed on the way", (permit) => permit.spent(), 90],
    ["nothing, when it did not run", (permit) => permit.release(), 100],
    ["all that was allowed, while it runs", () => {}, 90],
  ])("is %s", (_name, end, expected) => {
    const { limits } = limited({ maxTokensPerCall: 100 });
    end(limits.check(ask(10), of()));
    expect(left(limits)).toBe(expected);
  });

  test("F14: over any run, what was allowed at once never passes a limit", () => {
    const step = fc.record({
      tokens: fc.integer({ min: 1, max: 40 }),
      call: fc.constantFrom("1", "2"),
      end: fc.constantFrom("spent", "release", "open"),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const { limits } = limited({ maxTokensPerHour: 100, maxTokensPerCall: 70, maxConcurrent: 3 });
        const model = { running: 0, total: 0, calls: { 1: 0, 2: 0 } as Record<string, number> };
        for (const { tokens, call, end } of steps) {
          const fits = model.running < 3 && model.total + tokens <= 100 && model.calls[call]! + tokens <= 70;
          try {
            const permit = limits.check(ask(tokens), of("a", call));
            expect(fits).toBe(true);
            if (end === "open") model.running += 1;
            else if (end === "spent") permit.spent(answer());
            else permit.release();
            if (end !== "release") {
              model.total += tokens;
              model.calls[call]! += tokens;
            }
          } catch (error) {
            expect(error).toMatchObject({ code: "limit_exceeded" });
            expect(fits).toBe(false);
          }
        }
      }),
    );
  });
});

test("defaults are finite, and a bad option is a configuration error that names it", () => {
  expect(() => samplingLimits().check(ask(8193), of())).toThrow(past("maxTokensPerRequest", 8192));
  for (const options of [{ maxConcurrent: -1 }, { maxConcurrent: 1.5 }, { maxConcurrent: Number.NaN }]) {
    expect(() => samplingLimits(options)).toThrow(
      expect.objectContaining({ code: "configuration", details: { option: "maxConcurrent" } }),
    );
  }
  expect(() => samplingLimits({ maxTokens: 1 } as never)).toThrow("option maxTokens is unknown");
});
