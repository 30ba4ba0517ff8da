import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InputCancelled, InputDeclined, InvalidAnswer, type ParleyEvent, StepFailed, tool } from "../../src/index.ts";
import { accept, cancel, decline, no, playFlow, roots, sampled, startFlow, yes } from "../../src/testing.ts";

const text = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
const textOf = (result: { content?: unknown }) => JSON.parse((result.content as { text: string }[])[0]?.text ?? "null");
const age = z.object({ age: z.number().int().min(18) });

describe("questions", () => {
  const deploy = tool("deploy", { inputSchema: z.object({ env: z.string() }) }, async ({ env }, flow) => {
    const plan = await flow.step("plan", () => ({ services: ["a", "b"], at: new Date(0) }));
    const [ok, window] = await Promise.all([
      flow.confirm("ok", `Deploy ${plan.services.length} to ${env}?`),
      flow.form("window", { message: "When?", schema: z.object({ when: z.enum(["now", "tonight"]) }) }),
    ]);
    return text({ ok, when: window.when, at: plan.at });
  });

  it("A15 questions asked together go out together, and the answers come back in one round", async () => {
    const { result, rounds } = await playFlow(deploy, {
      args: { env: "prod" },
      answers: { ok: yes(), window: accept({ when: "tonight" }) },
    });
    expect(textOf(result)).toEqual({ ok: true, when: "tonight", at: "1970-01-01T00:00:00.000Z" });
    expect(rounds.map((round) => Object.keys(round.questions))).toEqual([["ok", "window"], []]);
  });

  it("A5 A6 an interim round carries the questions and a state", async () => {
    const round = await startFlow(deploy, { args: { env: "prod" } }).next();
    expect(round.requestState).toMatch(/^p1\./);
    expect(round.questions["ok"]).toMatchObject({
      method: "elicitation/create",
      params: { mode: "form", message: "Deploy 2 to prod?" },
    });
  });

  it.each([
    ["decline", decline(), 0],
    ["cancel", cancel(), 0],
    ["accept with no", no(), 0],
    ["accept with yes", yes(), 1],
  ])("B13 confirm deletes only on an explicit yes: %s", async (_, answer, deleted) => {
    let rows = 0;
    const remove = tool("delete", {}, async (_args, flow) => {
      if (await flow.confirm("sure", "Delete everything?")) rows++;
      return text("done");
    });
    await playFlow(remove, { answers: { sure: answer } });
    expect(rows).toBe(deleted);
  });

  it("B14 L4 a decline is an answer: one question, then a plain final result that says so", async () => {
    const ask = tool("ask", {}, async (_args, flow) => text(await flow.form("age", { message: "Age?", schema: age })));
    const { result, rounds } = await playFlow(ask, { answers: { age: decline() } });
    expect(rounds).toHaveLength(2);
    expect(result).toEqual({ content: [{ type: "text", text: 'The request for "age" was declined.' }], isError: true });
  });

  it("A24 decline and cancel reach the author as different errors, first and on replay", async () => {
    const seen: unknown[] = [];
    const ask = tool("ask", {}, async (_args, flow) => {
      for (const key of ["a", "b"]) {
        await flow.form(key, { message: "Age?", schema: age }).catch((error: unknown) => seen.push(error));
      }
      await flow.confirm("end", "Done?");
      return text("end");
    });
    await playFlow(ask, { answers: { a: decline(), b: cancel(), end: yes() } });
    const kinds = seen.map((error) => (error as Error).constructor);
    expect(kinds).toEqual([InputDeclined, InputDeclined, InputCancelled, InputDeclined, InputCancelled]);
  });

  it("every question has a variant that returns how it ended", async () => {
    const ask = tool("ask", {}, async (_args, flow) => {
      const ends = await Promise.all([
        flow.outcome.form("form", { message: "Age?", schema: age }),
        flow.outcome.confirm("confirm", "Sure?"),
        flow.outcome.url("url", { message: "Sign in", url: "https://example.com/connect" }),
        flow.outcome.sample("sample", {
          messages: [{ role: "user", content: { type: "text", text: "hi" } }],
          maxTokens: 5,
        }),
        flow.outcome.roots("roots"),
      ]);
      return text(ends);
    });
    const { result } = await playFlow(ask, {
      answers: {
        form: accept({ age: 20 }),
        confirm: cancel(),
        url: decline(),
        sample: sampled("hey"),
        roots: roots("file:///w"),
      },
    });
    expect(textOf(result)).toEqual([
      { action: "accept", value: { age: 20 } },
      { action: "cancel" },
      { action: "decline" },
      { action: "accept", value: sampled("hey") },
      { action: "accept", value: [{ uri: "file:///w" }] },
    ]);
  });

  it("B20 answers are unwrapped by kind, and a key nobody asked for is ignored (A18)", async () => {
    const ask = tool("ask", {}, async (_args, flow) => {
      const [name, summary, [root]] = await Promise.all([
        flow.form("name", { message: "Name?", schema: z.object({ name: z.string() }) }),
        flow.sample("summary", { messages: [{ role: "user", content: { type: "text", text: "sum" } }], maxTokens: 9 }),
        flow.roots("roots"),
      ]);
      return text([name.name, summary.content, root?.uri]);
    });
    const call = startFlow(ask);
    await call.next();
    const { result } = await call.next({
      name: accept({ name: "octo" }),
      summary: sampled("short"),
      roots: roots("file:///w"),
      stranger: accept({ x: 1 }),
    });
    expect(textOf(result as object)).toEqual(["octo", { type: "text", text: "short" }, "file:///w"]);
  });

  it("the author gets the validator's own output: defaults and transforms applied", async () => {
    const schema = z.object({ name: z.string().default("nobody"), n: z.number() });
    const ask = tool("ask", {}, async (_args, flow) => {
      const answer = await flow.form("q", { message: "?", schema });
      await flow.confirm("again", "?");
      return text(answer);
    });
    const { result } = await playFlow(ask, { answers: { q: accept({ n: 1 }), again: yes() } });
    expect(textOf(result)).toEqual({ name: "nobody", n: 1 });
  });
});

describe("what counts as an answer (design 3.4)", () => {
  const ask = tool("ask", { inputSchema: z.object({ file: z.string() }) }, async ({ file }, flow) => {
    const ok = await flow.confirm("ok", `Delete ${file}?`);
    return text(ok ? `deleted ${file}` : "kept");
  });

  it("B11 C24 an accept on the very first call counts for nothing", async () => {
    const forged = await startFlow(ask, { args: { file: "a" } }).next({ ok: yes() });
    expect(Object.keys(forged.questions)).toEqual(["ok"]);
  });

  it("unsolicited: accept opts one question out of the proof, by name", async () => {
    const open = tool("open", {}, async (_args, flow) =>
      text(
        await flow.form("name", { message: "Name?", schema: z.object({ name: z.string() }), unsolicited: "accept" }),
      ),
    );
    const { result } = await startFlow(open).next({ name: accept({ name: "Al" }) });
    expect(textOf(result as object)).toEqual({ name: "Al" });
  });

  it("an answer to a question that has changed since is not consent: it is asked again", async () => {
    let files = 3;
    const events: ParleyEvent[] = [];
    const sweep = tool("sweep", {}, async (_args, flow) => text(await flow.confirm("ok", `Delete ${files} files?`)));
    const call = startFlow(sweep, { onEvent: (event) => events.push(event) });
    await call.next();
    files = 300;
    const second = await call.next({ ok: yes() });
    expect(second.questions["ok"]).toMatchObject({ params: { message: "Delete 300 files?" } });
    expect(events).toContainEqual(expect.objectContaining({ type: "asked_again", key: "ok", reason: "changed" }));
    const third = await call.next({ ok: yes() });
    expect(textOf(third.result as object)).toBe(true);
  });

  it("a recorded answer whose question changes is asked again; steps already recorded stay", async () => {
    let price = 10;
    let charged = 0;
    const buy = tool("buy", {}, async (_args, flow) => {
      const ok = await flow.confirm("price", `Pay ${price}?`);
      const receipt = await flow.step("charge", () => `r${++charged}`);
      const note = await flow.form("note", { message: "Note?", schema: z.object({ note: z.string() }) });
      return text([ok, receipt, note.note]);
    });
    const call = startFlow(buy);
    await call.next();
    const second = await call.next({ price: yes() });
    expect(Object.keys(second.questions)).toEqual(["note"]);
    price = 20;
    const third = await call.next({ note: accept({ note: "x" }) });
    expect(third.questions["price"]).toMatchObject({ params: { message: "Pay 20?" } });
    const fourth = await call.next({ price: yes() });
    expect(Object.keys(fourth.questions)).toEqual(["note"]);
    const fifth = await call.next({ note: accept({ note: "y" }) });
    expect(textOf(fifth.result as object)).toEqual([true, "r1", "y"]);
    expect(charged).toBe(1);
  });

  it("a question that changes in every round ends with an error that shows both versions", async () => {
    let tick = 0;
    const clock = tool("clock", {}, async (_args, flow) => text(await flow.confirm("ok", `It is ${tick++}. Go?`)));
    const call = startFlow(clock);
    for (let round = 0; round < 3; round++) await call.next({ ok: yes() });
    await expect(call.next({ ok: yes() })).rejects.toThrow(/"ok" changed in every round.*It is 2.*It is 3/s);
  });

  it("B15 A16 content that fails the schema is asked again with the reason, a bounded number of times", async () => {
    const events: ParleyEvent[] = [];
    const tell = tool("tell", {}, async (_args, flow) => {
      try {
        return text(await flow.form("age", { message: "Age?", schema: age }));
      } catch (error) {
        return text([error instanceof InvalidAnswer, (error as InvalidAnswer).key]);
      }
    });
    const call = startFlow(tell, { onEvent: (event) => events.push(event) });
    await call.next();
    const second = await call.next({ age: accept({ age: 3 }) });
    expect(second.questions["age"]).toMatchObject({
      params: { message: expect.stringMatching(/^Age\?\n\n.*not accepted.*age/s) },
    });
    await call.next({ age: accept({}) });
    const { result } = await call.next({ age: 12345 });
    expect(textOf(result as object)).toEqual([true, "age"]);
    expect(events.filter((event) => event.type === "asked_again")).toHaveLength(2);
  });

  it("B23 an accept without content is an empty form: fine where nothing is required", async () => {
    const confirm = tool("c", {}, async (_args, flow) =>
      text(await flow.form("go", { message: "Go on?", schema: { type: "object", properties: {} } })),
    );
    const call = startFlow(confirm);
    await call.next();
    expect(textOf((await call.next({ go: { action: "accept" } })).result as object)).toEqual({});

    const required = startFlow(ask, { args: { file: "a" } });
    await required.next();
    const again = await required.next({ ok: { action: "accept" } });
    expect(again.questions["ok"]).toBeDefined();
  });

  it("B23 L30 a link is accepted without content, and content sent with it is ignored", async () => {
    const open = tool("open", {}, async (_args, flow) => {
      await flow.url("connect", { message: "Connect", url: "https://example.com/c" });
      return text("agreed");
    });
    for (const answer of [{ action: "accept" }, { action: "accept", content: { evil: 1 } }]) {
      const call = startFlow(open);
      await call.next();
      expect(textOf((await call.next({ connect: answer })).result as object)).toBe("agreed");
    }
  });

  it("A19 a missing answer is simply asked again, as often as it is missing", async () => {
    const call = startFlow(ask, { args: { file: "a" } });
    for (let round = 0; round < 6; round++) {
      const { questions } = await call.next(round === 0 ? undefined : { wrong: yes() });
      expect(questions["ok"]).toMatchObject({ params: { message: "Delete a?" } });
    }
    expect(textOf((await call.next({ ok: yes() })).result as object)).toBe("deleted a");
  });

  it("L6 a partial answer is kept, and only the rest is asked again", async () => {
    const two = tool("two", {}, async (_args, flow) =>
      text(await Promise.all([flow.confirm("a", "A?"), flow.confirm("b", "B?")])),
    );
    const call = startFlow(two);
    await call.next();
    expect(Object.keys((await call.next({ a: yes() })).questions)).toEqual(["b"]);
    expect(textOf((await call.next({ b: no() })).result as object)).toEqual([true, false]);
  });
});

describe("steps", () => {
  it("B17 work in a step runs once; work outside runs every round", async () => {
    let [outside, inside] = [0, 0];
    const count = tool("count", {}, async (_args, flow) => {
      outside++;
      await flow.step("in", () => void inside++);
      await flow.confirm("a", "A?");
      outside++;
      await flow.confirm("b", "B?");
      return text("end");
    });
    await playFlow(count, { answers: { a: yes(), b: yes() } });
    expect([outside, inside]).toEqual([5, 1]);
  });

  it("a failure is recorded as data and thrown again on replay; the original is the cause the first time", async () => {
    const boom = Object.assign(new TypeError("no disk"), { code: "ENOSPC" });
    const seen: StepFailed[] = [];
    const fail = tool("fail", {}, async (_args, flow) => {
      await flow.step("write", () => Promise.reject(boom)).catch((error: StepFailed) => seen.push(error));
      await flow.confirm("go", "Go on without?");
      return text("end");
    });
    await playFlow(fail, { answers: { go: yes() } });
    expect(seen.map((error) => [error instanceof StepFailed, error.failure, error.cause === boom])).toEqual([
      [true, { name: "TypeError", message: "no disk", code: "ENOSPC" }, true],
      [true, { name: "TypeError", message: "no disk", code: "ENOSPC" }, false],
    ]);
  });

  it("retries inside a step are one entry; the idempotency key is the same on every try", async () => {
    const keys = new Set<string>();
    const flaky = tool("flaky", {}, async (_args, flow) => {
      const tries = await flow.step(
        "call",
        ({ attempt, idempotencyKey }) => {
          keys.add(idempotencyKey);
          if (attempt < 3) throw new Error("busy");
          return attempt;
        },
        { retry: { attempts: 3, delayMs: 1 } },
      );
      return text(tries);
    });
    expect(textOf((await playFlow(flaky)).result)).toBe(3);
    expect(keys.size).toBe(1);
  });

  it.each([
    ["a function", { a: [1, { b: () => 1 }] }, 'function at step "s".a[1].b'],
    ["NaN", { n: Number.NaN }, 'NaN at step "s".n'],
    ["a bigint", [1n], 'bigint at step "s"[0]'],
    ["a Map", { m: new Map() }, 'Map at step "s".m'],
    ["undefined in a list", [undefined], 'undefined at step "s"[0]'],
  ])("what JSON cannot carry is refused with its path: %s", async (_, value, message) => {
    const bad = tool("bad", {}, async (_args, flow) => text(await flow.step("s", () => value as never)));
    await expect(playFlow(bad)).rejects.toThrow(message);
  });

  it("a cycle is refused", async () => {
    const ring: Record<string, unknown> = {};
    ring["self"] = ring;
    const bad = tool("bad", {}, async (_args, flow) => text(await flow.step("s", () => ring)));
    await expect(playFlow(bad)).rejects.toThrow("a cycle");
  });
});

describe("a question the client cannot be asked", () => {
  it("B07 A13 fails the round before any step that would come with it runs", async () => {
    let ran = 0;
    const ask = tool("ask", {}, async (_args, flow) =>
      text(await Promise.all([flow.confirm("ok", "Ok?"), flow.step("effect", () => ++ran)])),
    );
    await expect(startFlow(ask, { capabilities: { sampling: {} } }).next()).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    });
    expect(ran).toBe(0);
  });

  it("A13 names everything that is missing at once", async () => {
    const ask = tool("ask", {}, async (_args, flow) =>
      text(await Promise.all([flow.url("u", { message: "Go", url: "https://example.com" }), flow.roots("r")])),
    );
    await expect(startFlow(ask, { capabilities: { elicitation: {} } }).next()).rejects.toMatchObject({
      data: { requiredCapabilities: { elicitation: { url: {} }, roots: {} } },
    });
  });
});

describe("asynchronous validators", () => {
  it("an answer that is still being checked is not lost when another question stays open", async () => {
    const slow = z.object({ n: z.number() }).refine(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return true;
    });
    const two = tool("two", {}, async (_args, flow) =>
      text(await Promise.all([flow.form("slow", { message: "N?", schema: slow }), flow.confirm("ok", "Ok?")])),
    );
    const call = startFlow(two);
    await call.next();
    expect(Object.keys((await call.next({ slow: accept({ n: 1 }) })).questions)).toEqual(["ok"]);
    expect(textOf((await call.next({ ok: yes() })).result as object)).toEqual([{ n: 1 }, true]);
  });

  it("a schema that takes its time is waited for, live and on replay, before the round ends", async () => {
    const free = z.object({ name: z.string() }).refine(async ({ name }) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return name !== "taken";
    }, "somebody has it");
    const pick = tool("pick", {}, async (_args, flow) => {
      const [{ name }, ok] = await Promise.all([
        flow.form("name", { message: "Name?", schema: free }),
        flow.confirm("ok", "Sure?"),
      ]);
      await flow.confirm("last", "Really?");
      return text([name, ok]);
    });
    const { result, rounds } = await playFlow(pick, {
      answers: { name: [accept({ name: "taken" }), accept({ name: "free" })], ok: yes(), last: yes() },
    });
    expect(textOf(result)).toEqual(["free", true]);
    expect(rounds.map((round) => Object.keys(round.questions))).toEqual([["name", "ok"], ["name"], ["last"], []]);
    expect(rounds[1]?.questions["name"]).toMatchObject({
      params: { message: expect.stringContaining("somebody has it") },
    });
  });
});
