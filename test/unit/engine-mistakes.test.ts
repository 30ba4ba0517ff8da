/** What authors and clients get wrong, and that it ends in a clear error instead of a hang, a crash or a silent yes. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createParley, type Flow, type ParleyEvent, tool } from "../../src/index.ts";
import { decline, no, playFlow, startFlow, yes } from "../../src/testing.ts";

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
const textOf = (result: unknown) =>
  JSON.parse((result as { content: { text: string }[] }).content[0]?.text ?? "null") as unknown;
const flowOf = (handler: (flow: Flow) => Promise<unknown>) =>
  tool("t", {}, async (_args, flow) => text(await handler(flow)));
const fault = (reason: string) => expect.objectContaining({ code: -32603, data: { reason } });
const fast = { limits: { divergenceGraceMs: 20 } };
const later = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

describe("consent", () => {
  it("B13 B50 a forgotten await on a question fails the call: nobody was asked", async () => {
    const forgetful = flowOf(async (flow) => {
      const ok: unknown = flow.confirm("ok", "Delete?");
      return ok ? "deleted" : "kept";
    });
    await expect(playFlow(forgetful)).rejects.toThrow(/without awaiting question "ok".*Write "await"/);
  });

  it.each<[string, (flow: Flow) => unknown]>([
    ["awaited", (flow) => flow.confirm("x", "X?")],
    ["raced", (flow) => Promise.race([flow.confirm("x", "X?"), flow.step("s", () => 1)])],
    ["chained", (flow) => flow.confirm("x", "X?").then(() => 1)],
    ["joined", (flow) => Promise.all([flow.outcome.confirm("x", "X?")])],
    ["returned", async (flow) => flow.confirm("x", "X?")],
  ])("a question that is %s is waited for, one way or another", async (_, use) => {
    const own = flowOf(async (flow) => {
      await use(flow);
      return "end";
    });
    await expect(startFlow(own).next()).resolves.toBeDefined();
  });

  it("the loser of a race that was put to the person is only named", async () => {
    const events: ParleyEvent[] = [];
    const race = flowOf((flow) => Promise.race([flow.confirm("a", "A?"), flow.confirm("b", "B?")]));
    const call = startFlow(race, { onEvent: (event) => events.push(event) });
    await call.next();
    expect(textOf((await call.next({ b: yes() })).result)).toBe(true);
    expect(events).toContainEqual(expect.objectContaining({ type: "unawaited_question", key: "a" }));
  });

  it("a question that loses to the end of the flow, at whatever microtask, was not forgotten", async () => {
    for (let hops = 0; hops < 24; hops++) {
      const late = async (flow: Flow) => {
        for (let hop = 0; hop < hops; hop++) await null;
        return await flow.confirm("late", "Late?");
      };
      const race = flowOf((flow) => Promise.race([late(flow), Promise.resolve("first")]));
      const { result, questions } = await startFlow(race).next();
      expect(result === undefined ? Object.keys(questions) : textOf(result), `${hops} hops`).toEqual("first");
    }
  });

  it("C24 an answer that came unasked stops counting when the question no longer allows it", async () => {
    let unsolicited: "accept" | undefined = "accept";
    const ask = flowOf(async (flow) => [
      await flow.confirm("a", "A?", unsolicited === undefined ? {} : { unsolicited }),
      await flow.confirm("b", "B?"),
    ]);
    const call = startFlow(ask);
    expect(Object.keys((await call.next({ a: yes() })).questions)).toEqual(["b"]);
    unsolicited = undefined;
    expect(Object.keys((await call.next({ b: yes() })).questions)).toEqual(["a"]);
    expect(textOf((await call.next({ a: no(), b: yes() })).result ?? (await call.next({ b: yes() })).result)).toEqual([
      false,
      true,
    ]);
  });

  it("design 3.4 a question that changes every second round ends as unstable, too", async () => {
    let price = 0;
    const buy = flowOf(async (flow) => [
      await flow.confirm("price", `Pay ${price}?`),
      await flow.confirm("end", "End?"),
    ]);
    const call = startFlow(buy);
    await call.next();
    const outcome = (async () => {
      for (let round = 0; round < 10; round++) {
        await call.next({ price: yes() });
        price++;
        await call.next({ end: yes() });
      }
    })();
    await expect(outcome).rejects.toEqual(fault("question_unstable"));
    expect(price).toBeLessThan(5);
  });

  it("A18 what a form has no field for is not carried in the state", async () => {
    const two = flowOf(async (flow) => [await flow.confirm("a", "A?"), await flow.confirm("b", "B?")]);
    const [plain, stuffed] = await Promise.all(
      [{ confirm: true }, { confirm: true, junk: "x".repeat(70_000) }].map(async (content) => {
        const call = startFlow(two);
        await call.next();
        return (await call.next({ a: { action: "accept", content } })).requestState?.length;
      }),
    );
    expect(stuffed).toBe(plain);
  });
});

describe("no hang", () => {
  it("a question inside a step is refused by name", async () => {
    const nested = flowOf((flow) => flow.step("s", () => flow.confirm("q", "?")));
    await expect(playFlow(nested)).rejects.toThrow(/question "q" comes from inside step "s"/);
  });

  it("a step inside a step is refused by name, also behind an await", async () => {
    const nested = flowOf((flow) =>
      flow.step("s", async () => {
        await later(1);
        return flow.step("inner", () => 1);
      }),
    );
    await expect(playFlow(nested)).rejects.toThrow(/step "inner" comes from inside step "s"/);
  });

  it("a step inside a step is refused, also when another step has ended meanwhile, or before", async () => {
    const nested = flowOf(async (flow) => {
      await flow.step("before", () => later(1));
      await Promise.all([
        flow.step("short", () => later(1)),
        flow.step("long", async () => {
          await later(20);
          return flow.step("inner", () => 1);
        }),
      ]);
    });
    await expect(playFlow(nested)).rejects.toThrow(/step "inner" comes from inside step "long"/);
  });

  it("a flow goes on asking and stepping after a step: its context has ended", async () => {
    const plain = flowOf(async (flow) => {
      await flow.step("one", () => later(1));
      return [await flow.step("two", () => 2), await flow.confirm("q", "?")];
    });
    expect(textOf((await playFlow(plain, { answers: { q: yes() } })).result)).toEqual([2, true]);
  });

  it.each(["sequential", "parallel"])(
    "B17 a question that was asked again and then left out is a divergence: %s",
    async (how) => {
      let price = 120;
      const buy = flowOf(async (flow) => {
        if (price > 100) await flow.confirm("big", `Pay ${price}?`);
        if (how === "parallel") return Promise.all([flow.step("reserve", () => 1), flow.confirm("go", "Go?")]);
        await flow.step("reserve", () => 1);
        return flow.confirm("go", "Go?");
      });
      const call = startFlow(buy, fast);
      await call.next();
      await call.next({ big: yes() });
      price = 130;
      expect(Object.keys((await call.next({ go: yes() })).questions)).toContain("big");
      price = 90;
      await expect(call.next({ big: yes() })).rejects.toThrow(/did not ask again for "big"/);
    },
  );

  it("playing a flow that returns nothing ends with what to return", async () => {
    const nothing = tool("nothing", {}, (async () => undefined) as never);
    await expect(playFlow(nothing)).rejects.toThrow(/returned no result object.*content/);
  });
});

describe("no crash", () => {
  it("A24 a decline of a question that is not awaited yet is no unhandled rejection", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on("unhandledRejection", note);
    const eager = flowOf(async (flow) => {
      const name = flow.form("name", { message: "Name?", schema: z.object({ name: z.string() }) });
      const failing = flow.step("s", () => Promise.reject(new Error("boom")));
      const ok = await flow.confirm("ok", "Ok?");
      return [ok, await failing.catch(() => "caught"), await name.catch(() => "declined")];
    });
    const call = startFlow(eager);
    await call.next();
    const second = await call.next({ name: decline() });
    expect(Object.keys(second.questions)).toEqual(["ok"]);
    await later(10);
    expect(textOf((await call.next({ ok: yes() })).result)).toEqual([true, "caught", "declined"]);
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["a text", "building"],
    ["nothing", undefined],
    ["no number", { message: "building" }],
    ["a number that is none", { progress: Number.NaN }],
    ["a total that is no number", { progress: 1, total: "3" }],
    ["a message that is no text", { progress: 1, message: 3 }],
  ])("H31 a report of progress that is %s is refused, awaited or not", async (_, wrong) => {
    for (const awaited of [true, false]) {
      const report = (given: unknown) =>
        flowOf(async (flow) => {
          const said = flow.progress(given as { progress: number });
          if (awaited) await said;
          return "end";
        });
      const right = { progress: 1, total: 2, message: "half" };
      expect(textOf((await playFlow(report(right))).result)).toBe("end");
      const refused = { code: "configuration", message: expect.stringContaining("{ progress: number") };
      await expect(playFlow(report(wrong))).rejects.toMatchObject(refused);
    }
  });

  it("I2 nothing is reported after the round is over", async () => {
    const sent: number[] = [];
    const busy = flowOf(async (flow) => {
      let progress = 0;
      const timer = setInterval(() => void flow.progress({ progress: ++progress }), 2);
      setTimeout(() => clearInterval(timer), 60);
      await later(10);
      return flow.confirm("ok", "Ok?");
    });
    await startFlow(busy, { onProgress: ({ progress }) => sent.push(progress) }).next();
    const before = sent.length;
    await later(40);
    expect(sent.length).toBe(before);
    expect(before).toBeGreaterThan(0);
  });

  it("an observer that throws costs nobody a result", async () => {
    const done = flowOf(async () => "done");
    const throwing = () => {
      throw new Error("observer");
    };
    expect(textOf((await playFlow(done, { onEvent: throwing })).result)).toBe("done");
  });
});

describe("steps", () => {
  it.each([
    ["a message that is no text", Object.assign(new Error("x"), { message: { a: 1 } })],
    ["no name", Object.assign(new Error("x"), { name: undefined })],
    ["an object without text", Object.create(null)],
    ["nothing", undefined],
    ["a code that is no number", Object.assign(new Error("x"), { code: Number.NaN })],
    [
      "a message that throws when it is read",
      Object.defineProperty(new Error("x"), "message", {
        get: () => {
          throw new Error("no");
        },
      }),
    ],
  ])("whatever is thrown is recorded and read back alike: %s", async (_, thrown) => {
    const seen: unknown[] = [];
    const odd = flowOf(async (flow) => {
      await flow
        .step("s", () => {
          throw thrown;
        })
        .catch((error: { failure: unknown }) => seen.push(error.failure));
      return flow.confirm("a", "A?");
    });
    await playFlow(odd, { answers: { a: yes() } });
    expect(seen[1]).toEqual(seen[0]);
    expect(seen).toHaveLength(2);
  });

  it("I6 a step is not tried again when the client has gone", async () => {
    let tries = 0;
    const gone = new AbortController();
    const retrying = flowOf((flow) =>
      flow.step(
        "s",
        () => {
          tries++;
          throw new Error("busy");
        },
        { retry: { attempts: 5, delayMs: 20 } },
      ),
    );
    const round = startFlow(retrying, { signal: gone.signal }).next();
    await later(5);
    gone.abort(new Error("gone"));
    await expect(round).rejects.toThrow("gone");
    await later(40);
    expect(tries).toBe(1);
  });
});

describe("limits and definitions", () => {
  it("L7 the answer to the last question a call may ask counts", async () => {
    const once = flowOf((flow) => flow.confirm("a", "A?"));
    const { result } = await playFlow(once, { limits: { rounds: 1 }, answers: { a: yes() } });
    expect(textOf(result)).toBe(true);
  });

  it("a lone surrogate in a question is named", async () => {
    const cut = flowOf((flow) => flow.confirm("a", "Hi \ud83d"));
    await expect(playFlow(cut)).rejects.toMatchObject({ code: "invalid_question", details: { key: "a" } });
  });

  it("what is sampled is what was judged, whatever becomes of the object later", async () => {
    const params = {
      messages: [{ role: "user" as const, content: { type: "text" as const, text: "safe" } }],
      maxTokens: 5,
    };
    const mutate = flowOf(async (flow) => {
      const asked = flow.sample("s", params);
      (params.messages[0] as { content: { text: string } }).content.text = "evil";
      return asked;
    });
    const { questions } = await startFlow(mutate).next();
    expect(JSON.stringify(questions)).toContain("safe");
    expect(JSON.stringify(questions)).not.toContain("evil");
  });

  it("an input_required result of the author's own making is refused", async () => {
    const own = tool("own", {}, async () => ({ resultType: "input_required", requestState: "forged" }) as never);
    await expect(startFlow(own).next()).rejects.toThrow(/of its own making/);
  });

  it.each([
    ["a version that is no text", () => tool("t", { version: 2 as never }, async () => text(1))],
    ["a bare record of fields", () => tool("t", { inputSchema: { env: z.string() } as never }, async () => text(1))],
    ["a life of centuries", () => createParley({ limits: { roundTtlMs: 2 ** 50 }, callers: "anonymous" })],
  ])("refused at definition: %s", (_, define) => {
    expect(define).toThrow(expect.objectContaining({ code: "configuration" }));
  });

  it("C11 a principal that names nobody is refused, not shared", async () => {
    const authInfo = { token: "t", clientId: "c", scopes: [] };
    const done = flowOf(async () => "done");
    const { RoundServer } = await import("../../src/server/serve.ts");
    const { resolveOptions } = await import("../../src/server/options.ts");
    for (const principal of [{}, Promise.resolve({ subject: "s" })]) {
      const server = new RoundServer(resolveOptions({ callers: "authenticated", principal: () => principal as never }));
      const request = {
        method: "tools/call" as const,
        target: "t",
        params: { name: "t" },
        inputResponses: undefined,
        requestState: undefined,
        authInfo,
        capabilities: {},
        checkCapabilities: true,
        signal: new AbortController().signal,
        sendProgress: async () => undefined,
      };
      await expect(server.serve({ version: undefined, run: (flow) => done.run({}, flow) }, request)).rejects.toThrow(
        /option principal/,
      );
    }
  });
});
