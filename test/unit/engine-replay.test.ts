import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type Flow, FlowDiverged, type ParleyEvent, tool } from "../../src/index.ts";
import { accept, playFlow, startFlow, yes } from "../../src/testing.ts";

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
const textOf = (result: unknown) =>
  JSON.parse((result as { content: { text: string }[] }).content[0]?.text ?? "null") as unknown;
const flowOf = (handler: (flow: Flow) => Promise<unknown>, version?: string) =>
  tool("t", version === undefined ? {} : { version }, async (_args, flow) => text(await handler(flow)));
const fast = { limits: { divergenceGraceMs: 20 } };

/** The author's errors reach the wire as JSON-RPC errors; their data names the code. */
const fault = (reason: string) => expect.objectContaining({ code: -32603, data: { reason } });

describe("recorded order", () => {
  const later = <T>(ms: number, value: T) => new Promise<T>((resolve) => setTimeout(resolve, ms, value));

  it("a race over steps ends on replay as it ended the first time, although the loser is asked first", async () => {
    const winners: unknown[] = [];
    const race = flowOf(async (flow) => {
      const slow = flow.step("slow", () => later(30, "slow"));
      const quick = flow.step("quick", () => later(5, "quick"));
      winners.push(await Promise.race([slow, quick]));
      await slow;
      await flow.confirm("go", "Go?");
      return winners;
    });
    const { result } = await playFlow(race, { answers: { go: yes() } });
    expect(textOf(result)).toEqual(["quick", "quick"]);
  });

  it("a race does not depend on how many promises stand between a step and its use", async () => {
    const winners: unknown[] = [];
    const deep = async (promise: Promise<unknown>) => {
      for (let hop = 0; hop < 10; hop++) await null;
      const value = await promise;
      for (let hop = 0; hop < 10; hop++) await null;
      return value;
    };
    const race = flowOf(async (flow) => {
      const first = deep(flow.step("a", () => "a"));
      const second = flow.step("b", async () => {
        await null;
        return "b";
      });
      winners.push(await Promise.race([first, second]));
      await flow.confirm("go", "Go?");
      return winners;
    });
    for (const replay of ["when-needed", "every-step"] as const) {
      winners.length = 0;
      await playFlow(race, { answers: { go: yes() }, replay });
      expect(new Set(winners).size, replay).toBe(1);
    }
  });

  it("an entry is released only when all that the one before it set off has run, however deep it is awaited", async () => {
    const winners: string[] = [];
    const race = flowOf(async (flow) => {
      const shallow = flow.step("slow", () => later(10, "slow"));
      const deep = (async () => {
        const nested = async () => (async () => flow.step("quick", () => "quick"))();
        return await nested();
      })();
      winners.push(await Promise.race([shallow, deep]));
      await shallow;
      await flow.confirm("go", "Go?");
      return "end";
    });
    await playFlow(race, { answers: { go: yes() } });
    expect(winners).toEqual(["quick", "quick"]);
  });

  it("a race over questions gives the answer that came first, and the other is simply dropped", async () => {
    const race = flowOf(async (flow) => {
      const first = await Promise.race([
        flow.confirm("a", "A?").then(() => "a"),
        flow.confirm("b", "B?").then(() => "b"),
      ]);
      await flow.confirm("end", "End?");
      return first;
    });
    const call = startFlow(race);
    await call.next();
    await call.next({ b: yes() });
    expect(textOf((await call.next({ end: yes() })).result)).toBe("b");
  });

  it("what is awaited elsewhere between two questions does not end the round early", async () => {
    const slow = flowOf(async (flow) => {
      await later(30, null);
      const a = await flow.confirm("a", "A?");
      await later(30, null);
      return [a, await flow.confirm("b", "B?")];
    });
    const { result, rounds } = await playFlow(slow, { answers: { a: yes(), b: yes() } });
    expect([textOf(result), rounds.length]).toEqual([[true, true], 3]);
  });

  it("a round waits for running steps before it asks, so that nothing done is lost", async () => {
    let runs = 0;
    const mixed = flowOf(async (flow) => {
      const [ok, value] = await Promise.all([flow.confirm("ok", "Ok?"), flow.step("work", () => later(40, ++runs))]);
      return [ok, value, runs];
    });
    const { result } = await playFlow(mixed, { answers: { ok: yes() } });
    expect(textOf(result)).toEqual([true, 1, 1]);
  });

  it("design 3.2 a catch-all around a question cannot swallow the suspension", async () => {
    let swallowed = 0;
    const greedy = flowOf(async (flow) => {
      try {
        return await flow.confirm("a", "A?");
      } catch {
        swallowed++;
        return "swallowed";
      } finally {
        swallowed += 0;
      }
    });
    const call = startFlow(greedy);
    expect(Object.keys((await call.next()).questions)).toEqual(["a"]);
    expect(textOf((await call.next({ a: yes() })).result)).toBe(true);
    expect(swallowed).toBe(0);
  });
});

describe("divergence is loud (design 3.7)", () => {
  it("B17 a path that depends on chance never hands one question's answer to another", async () => {
    let coin = true;
    const events: ParleyEvent[] = [];
    const random = flowOf(async (flow) => {
      await flow.confirm(coin ? "x" : "y", "Go?");
      return flow.confirm("z", "More?");
    });
    const call = startFlow(random, { ...fast, onEvent: (event) => events.push(event) });
    await call.next();
    await call.next({ x: yes() });
    coin = false;
    const diverged = call.next({ y: yes(), z: yes() });
    await expect(diverged).rejects.toEqual(fault("flow_diverged"));
    await expect(diverged).rejects.toThrow(
      /did not ask again for "x".*Recorded: "x".*This run asked: "y".*renamed key/s,
    );
  });

  it("an entry that is left behind when the flow returns is a divergence, too", async () => {
    let short = false;
    const cut = flowOf(async (flow) => {
      if (!short) await flow.step("s", () => 1);
      if (!short) await flow.confirm("a", "A?");
      return "end";
    });
    const call = startFlow(cut, fast);
    await call.next();
    short = true;
    await expect(call.next({ a: yes() })).rejects.toThrow(/did not ask again for "s"/);
  });

  it("a key that is used for another kind than recorded is a divergence", async () => {
    let asStep = true;
    const swap = flowOf(async (flow) => {
      if (asStep) await flow.step("k", () => 1);
      else await flow.confirm("k", "K?");
      return flow.confirm("a", "A?");
    });
    const call = startFlow(swap, fast);
    await call.next();
    asStep = false;
    await expect(call.next({ a: yes() })).rejects.toThrow(/"k" is recorded as step and is now used as form/);
  });

  it("a step inserted before a recorded one is a divergence, and is not run", async () => {
    let inserted = false;
    let ran = 0;
    const changed = flowOf(async (flow) => {
      if (inserted) await flow.step("new", () => ++ran);
      await flow.step("old", () => 1);
      return flow.confirm("a", "A?");
    });
    const call = startFlow(changed, fast);
    await call.next();
    inserted = true;
    await expect(call.next({ a: yes() })).rejects.toEqual(fault("flow_diverged"));
    expect(ran).toBe(0);
  });

  it("slow work outside a step is given its time before anything is called a divergence", async () => {
    let ms = 0;
    const uneven = flowOf(async (flow) => {
      const [ok] = await Promise.all([
        flow.confirm("ok", "Ok?"),
        (async () => {
          if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
          return flow.step("late", () => 1);
        })(),
      ]);
      return [ok, await flow.confirm("next", "Next?")];
    });
    const call = startFlow(uneven);
    await call.next();
    ms = 60;
    await call.next({ ok: yes() });
    expect(textOf((await call.next({ next: yes() })).result)).toEqual([true, true]);
  });

  it("two uses of one key end the run with the hint to number keys, caught or not", async () => {
    const loop = flowOf(async (flow) => {
      await flow.confirm("again", "Again?").catch(() => undefined);
      return Promise.race([flow.confirm("again", "Again?").catch(() => "caught"), new Promise(() => undefined)]);
    });
    const call = startFlow(loop);
    await call.next();
    await expect(call.next({ again: yes() })).rejects.toThrow(/"again" is used twice.*number keys in loops/);
  });

  it("FlowDiverged carries both sequences", () => {
    const error = new FlowDiverged("x.", "y.", { missing: ["a"], recorded: ["a", "b"], asked: ["c"] });
    expect(error).toMatchObject({ code: "flow_diverged", missing: ["a"], recorded: ["a", "b"], asked: ["c"] });
  });
});

describe("versions (design 3.8)", () => {
  it("a state of another version starts the call over and continues nothing; the idempotency key stays", async () => {
    const keys: string[] = [];
    const handler = async (flow: Flow) => {
      await flow.step("pay", ({ idempotencyKey }) => void keys.push(idempotencyKey));
      return flow.confirm("a", "A?");
    };
    const first = startFlow(flowOf(handler, "1"));
    const asked = await first.next();
    const events: ParleyEvent[] = [];
    const second = startFlow(flowOf(handler, "2"), { onEvent: (event) => events.push(event) });
    const again = await second.next({ a: yes() }, { requestState: asked.requestState });
    expect(Object.keys(again.questions)).toEqual(["a"]);
    expect(events.map((event) => event.type)).toContain("started_over");
    expect(keys).toEqual([keys[0], keys[0]]);
    expect(textOf((await second.next({ a: yes() })).result)).toBe(true);
  });
});

describe("after the round (design 3.3)", () => {
  it("a stray may not ask, step or return into anything, and is named", async () => {
    const events: ParleyEvent[] = [];
    let strayRan = 0;
    let wake: () => void = () => undefined;
    const stray = flowOf(async (flow) => {
      void (async () => {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        void flow.step("late-step", () => ++strayRan);
        void flow.confirm("late-question", "?");
      })();
      return flow.confirm("a", "A?");
    });
    await startFlow(stray, { onEvent: (event) => events.push(event) }).next();
    wake();
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect(strayRan).toBe(0);
    expect(events.filter((event) => event.type === "stray")).toEqual([
      { type: "stray", key: "late-step", operation: "step", method: "tools/call", target: "t" },
      { type: "stray", key: "late-question", operation: "question", method: "tools/call", target: "t" },
    ]);
  });

  it("a step that nobody awaits when the flow returns is named", async () => {
    const events: ParleyEvent[] = [];
    const forgot = flowOf(async (flow) => {
      void flow.step("forgotten", () => new Promise((resolve) => setTimeout(resolve, 20)));
      return "end";
    });
    await startFlow(forgot, { onEvent: (event) => events.push(event) }).next();
    expect(events).toContainEqual(expect.objectContaining({ type: "unawaited_step", key: "forgotten" }));
  });

  it("I6 a client that goes away ends the round; the signal reaches the flow", async () => {
    const gone = new AbortController();
    let seen: AbortSignal | undefined;
    const wait = flowOf(async (flow) => {
      seen = flow.signal;
      return flow.step("wait", ({ signal }) => new Promise((resolve) => signal.addEventListener("abort", resolve)));
    });
    const round = startFlow(wait, { signal: gone.signal }).next();
    setTimeout(() => gone.abort(new Error("client left")), 10);
    await expect(round).rejects.toThrow("client left");
    expect(seen?.aborted).toBe(true);
  });
});

describe("what a flow knows (design 3.9)", () => {
  it("caller, round, callId and supports", async () => {
    const seen: unknown[] = [];
    const look = flowOf(async (flow) => {
      seen.push([flow.caller, flow.round, flow.callId, flow.supports("elicitation.url"), flow.supports("sampling")]);
      return flow.confirm("a", "A?");
    });
    const authInfo = { token: "t", clientId: "c", scopes: [], extra: { sub: "s", iss: "i" } };
    const call = startFlow(look, { capabilities: { elicitation: {} }, authInfo });
    await call.next();
    await call.next({ a: yes() });
    const [first, second] = seen as [unknown[], unknown[]];
    expect(first).toEqual([{ clientId: "c", subject: "s", issuer: "i" }, 0, expect.any(String), false, false]);
    expect(second).toEqual([first[0], 1, first[2], false, false]);
  });

  it("I2 progress only ever grows within a round", async () => {
    const sent: number[] = [];
    const report = flowOf(async (flow) => {
      for (const progress of [1, 3, 2, 3, 4]) await flow.progress({ progress });
      return "end";
    });
    await playFlow(report, { onProgress: ({ progress }) => sent.push(progress) });
    expect(sent).toEqual([1, 3, 4]);
  });
});

describe("limits", () => {
  it("L7 a call that asks too often ends with an error that names the limit", async () => {
    const forever = flowOf(async (flow) => {
      for (let n = 0; ; n++) await flow.confirm(`q-${n}`, "More?");
    });
    const call = startFlow(forever, { limits: { rounds: 3 } });
    let round = await call.next();
    for (let n = 0; n < 2; n++) round = await call.next({ [Object.keys(round.questions)[0] as string]: yes() });
    await expect(call.next({ "q-2": yes() })).rejects.toThrow(/asked 3 times.*limits\.rounds/);
  });

  it("too many questions in one round are refused with the limit named", async () => {
    const many = flowOf((flow) => Promise.all(Array.from({ length: 17 }, (_, n) => flow.confirm(`q${n}`, "?"))));
    await expect(startFlow(many).next()).rejects.toThrow(/17 questions in one round; the limit is 16/);
  });

  it("a state that grows too large names the largest entry", async () => {
    const fat = flowOf(async (flow) => {
      await flow.step("small", () => "x");
      await flow.step("fat", () => "x".repeat(2000));
      return flow.confirm("a", "A?");
    });
    await expect(startFlow(fat, { limits: { stateBytes: 1500 } }).next()).rejects.toThrow(/largest entry is "fat"/);
  });

  it.each(["", "__proto__", "k".repeat(201), 7 as never])("a key that cannot travel is refused: %j", async (key) => {
    const bad = flowOf((flow) => flow.confirm(key, "?"));
    await expect(playFlow(bad)).rejects.toMatchObject({ code: "invalid_question", details: { field: "key" } });
  });
});

describe("replay: every-step (design 3.10)", () => {
  it.each(["when-needed", "every-step"] as const)("counts the changes of a question alike: %s", async (replay) => {
    let price = 0;
    const buy = flowOf((flow) =>
      Promise.all([flow.confirm("price", `Pay ${price}?`), flow.confirm("note", "Note?"), flow.confirm("end", "End?")]),
    );
    const call = startFlow(buy, { replay });
    await call.next();
    await call.next({ price: yes() });
    price++;
    await call.next({ note: yes() });
    price++;
    await call.next({ price: yes() });
    price++;
    await expect(call.next({ price: yes() })).rejects.toEqual(fault("question_unstable"));
  });

  it("runs the flow again after every entry, and each step still once", async () => {
    let runs = 0;
    const steps: string[] = [];
    const flow = flowOf(async (own) => {
      runs++;
      const [a, b] = await Promise.all([
        own.step("a", () => steps.push("a") && "A"),
        own.step("b", () => steps.push("b") && "B"),
      ]);
      const answer = await own.form("q", { message: "?", schema: z.object({ n: z.number() }) });
      return [a, b, answer.n, await own.step("c", () => steps.push("c") && "C")];
    });
    const { result, rounds } = await playFlow(flow, { replay: "every-step", answers: { q: accept({ n: 1 }) } });
    expect(textOf(result)).toEqual(["A", "B", 1, "C"]);
    expect(steps).toEqual(["a", "b", "c"]);
    expect(rounds).toHaveLength(2);
    expect(runs).toBeGreaterThan(4);
  });
});
