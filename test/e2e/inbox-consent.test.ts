/** What is agreed to apart: secrets, the use of a model, folders; and what a policy settles. Nothing leaks on the way. */
import { describe, expect, it } from "vitest";
import type { CallView } from "../../src/inbox/api.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import type { Policy } from "../../src/policy/decision.ts";
import { samplingLimits } from "../../src/sampling/limits.ts";
import { over } from "./inbox-browser.ts";
import { STATE } from "./inbox-server.ts";
import { world } from "./inbox-world.ts";

const answersOf = (leg: { params: Record<string, unknown> } | undefined) => leg?.params["inputResponses"];

describe("consent at the inbox", () => {
  it("F1, B35: a form that asks for a secret cannot be agreed to; when the host allows it, the answer is masked", async () => {
    const strict = await world();
    const page = await strict.browser();
    const call = await page.asked("desk", "secret");
    const content = { user: "ada", apiKey: "hunter2-hunter2" };
    expect(call.questions[0]?.view.refused[0]).toContain("apiKey");
    const refused = await page.decide(call, { action: "accept", content });
    expect([refused.status, refused.body.error.code]).toEqual([422, "unanswerable"]);
    expect((await page.decide(call, { action: "decline" })).status, "no is always possible").toBe(200);
    await page.until(call.id, over);

    const lenient = await world({ allowSecretFields: ["apiKey"] });
    const other = await lenient.browser();
    const events = await other.events();
    const allowed = await other.asked("desk", "secret");
    lenient.server.knobs.hold = new Promise((resolve) => setTimeout(resolve, 100));
    const taken = (await other.decide(allowed, { action: "accept", content })).body;
    expect(taken.questions[0]?.answer).toEqual([
      { label: "user", value: "“ada”" },
      { label: "apiKey", value: "••••••••" },
    ]);
    await other.until(allowed.id, over);
    expect(answersOf(lenient.server.legs[1]), "the server has it").toMatchObject({ login: { content } });
    expect(other.bodies.join("\n")).not.toContain("hunter2");
    expect(JSON.stringify(await lenient.store.get(allowed.id)), "and nobody keeps it").not.toContain("hunter2");
    events.stop();
  });

  it("M1: the state, the params' metadata and the session of another are in no response", async () => {
    const { browser, store } = await world({
      model: async () => ({
        role: "assistant",
        content: { type: "text", text: "4" },
        model: "m",
        _meta: { trace: "private-meta" },
      }),
      roots: { roots: [{ uri: "file:///home" }] },
    });
    const page = await browser();
    const events = await page.events();
    for (const tool of ["confirm", "two", "link", "sum", "where", "patience"]) await page.start("desk", tool);
    await expect.poll(async () => (await page.inbox()).waiting).toBe(5);
    for (const { id, target } of (await page.inbox()).calls) {
      const call = (await page.get<CallView>(`/api/calls/${id}`)).body;
      expect(JSON.stringify(await store.get(id)), "it is there to leak").toContain(STATE);
      if (target !== "sum") continue;
      const stage = call.questions[0]?.sampling;
      if (stage?.stage !== "request") throw new Error("not there yet");
      await page.decide(call, { action: "run", params: stage.params });
      await page.until(id, ({ questions }) => questions[0]?.sampling?.stage === "response");
    }
    await page.get("/api/servers/desk/tools");
    expect(page.bodies.join("\n")).toContain("Add up");
    expect(page.bodies.join("\n")).not.toMatch(/opaque-state|private-meta|_meta|requestState/);
    events.stop();
  });

  it("S1, F13: sampling is approved, run, reviewed and sent, each apart; edits go through, and no stage is skipped", async () => {
    const given: unknown[] = [];
    let fail = true;
    const { browser, server } = await world({
      model: async (params) => {
        given.push(params);
        if (fail) throw new Error("out of tokens");
        return { role: "assistant", content: { type: "text", text: "5" }, model: "m", stopReason: "endTurn" };
      },
    });
    const page = await browser();
    const call = await page.asked("desk", "sum");
    const request = call.questions[0]?.sampling;
    if (request?.stage !== "request") throw new Error("no request to review");
    const answer = { role: "assistant", content: { type: "text", text: "mine" }, model: "m" } as const;
    expect((await page.decide(call, { action: "send", result: answer })).status, "nothing was reviewed").toBe(422);
    const greedy = await page.decide(call, { action: "run", params: { ...request.params, maxTokens: 51 } });
    expect([greedy.status, greedy.body.error.message]).toEqual([422, expect.stringContaining("at most 50")]);
    expect(given).toHaveLength(0);

    const messages = [{ role: "user", content: { type: "text", text: "Add up 2 and 3" } }] as const;
    const params = { ...request.params, messages: [...messages], maxTokens: 20 };
    await page.decide(call, { action: "run", params });
    const failed = await page.until(call.id, ({ questions }) => questions[0]?.sampling?.stage === "failed");
    expect(failed.questions[0]?.sampling).toMatchObject({ reason: "The model failed: out of tokens" });
    fail = false;
    await page.decide(call, { action: "run", params });
    const reviewed = await page.until(call.id, ({ questions }) => questions[0]?.sampling?.stage === "response");
    expect(given.at(-1)).toMatchObject({ messages, maxTokens: 20, _meta: { note: "private-meta" } });
    const stage = reviewed.questions[0]?.sampling;
    if (stage?.stage !== "response") throw new Error("no response to review");
    expect(stage.view.parts[0]?.text.text).toBe("5");
    expect(server.legs, "nothing is sent unseen").toHaveLength(1);
    await page.decide(call, {
      action: "send",
      result: { ...stage.result, content: { type: "text", text: "five" } } as never,
    });
    expect((await page.until(call.id, over)).result?.text.text).toBe('sum: {"type":"text","text":"five"} by m');
  });

  it("F14: what servers may make the model do is bounded, and a limit that is passed is named before a run", async () => {
    let runs = 0;
    const { browser } = await world({
      samplingLimits: samplingLimits({ maxRequestsPerMinute: 1 }),
      model: async () => {
        runs += 1;
        return { role: "assistant", content: { type: "text", text: "5" }, model: "m" };
      },
    });
    const page = await browser();
    const replies = [];
    for (let at = 0; at < 2; at += 1) {
      const call = await page.asked("desk", "sum");
      const stage = call.questions[0]?.sampling;
      if (stage?.stage !== "request") throw new Error("no request to review");
      replies.push(await page.decide(call, { action: "run", params: stage.params }));
    }
    expect(replies.map(({ status }) => status)).toEqual([200, 503]);
    expect(replies[1]?.body.error).toMatchObject({ code: "limit_exceeded" });
    expect(replies[1]?.body.error.message).toContain("maxRequestsPerMinute");
    await expect.poll(() => runs).toBe(1);
  });

  it("F11, F14: a call's share of the model is one share, however often the call is read from its store", async () => {
    let runs = 0;
    const { browser } = await world({
      samplingLimits: samplingLimits({ maxTokensPerCall: 70 }),
      model: async () => {
        runs += 1;
        return { role: "assistant", content: { type: "text", text: "5" }, model: "m" };
      },
    });
    const page = await browser();
    const first = await page.asked("desk", "sum");
    const stage = first.questions[0]?.sampling;
    if (stage?.stage !== "request") throw new Error("no request to review");
    const run = { action: "run", params: stage.params } as const;
    expect((await page.decide(first, run)).status).toBe(200);
    await page.until(first.id, ({ questions }) => questions[0]?.sampling?.stage === "response");
    const again = await page.decide(first, run);
    expect([again.status, again.body.error?.message]).toEqual([503, expect.stringContaining("maxTokensPerCall")]);
    expect((await page.decide(await page.asked("desk", "sum"), run)).status, "another call has its own").toBe(200);
    await expect.poll(() => runs).toBe(2);
  });

  it("F14: a run that a store in trouble kept from beginning gives its place back", async () => {
    const store = memoryPending();
    let broken = false;
    const shaky: typeof store = {
      ...store,
      update: (id, change) => (broken ? Promise.reject(new Error("disk full")) : store.update(id, change)),
    };
    const { browser } = await world({
      store: shaky,
      samplingLimits: samplingLimits({ maxConcurrent: 1 }),
      model: async () => ({ role: "assistant", content: { type: "text", text: "5" }, model: "m" }),
    });
    const page = await browser();
    const call = await page.asked("desk", "sum");
    const stage = call.questions[0]?.sampling;
    if (stage?.stage !== "request") throw new Error("no request to review");
    const run = { action: "run", params: stage.params } as const;
    broken = true;
    expect((await page.decide(call, run)).status).toBe(500);
    broken = false;
    expect((await page.decide(call, run)).status).toBe(200);
  });

  it("B21, F21: refusing sampling or roots ends the call, and nothing is sent", async () => {
    const { browser, server } = await world({
      model: () => new Promise(() => {}),
      roots: { roots: [{ uri: "file:///home/ada", name: "Home" }] },
    });
    const page = await browser();
    const sum = await page.asked("desk", "sum");
    expect((await page.decide(sum, { action: "decline" })).status, "there is no such answer").toBe(422);
    const request = sum.questions[0]?.sampling;
    if (request?.stage !== "request") throw new Error("no request to review");
    const run = { action: "run", params: request.params } as const;
    expect((await page.decide(sum, run)).body.questions[0]?.sampling).toEqual({ stage: "running" });
    expect((await page.decide(sum, run)).status, "it is running").toBe(409);
    const ended = (await page.decide(sum, { action: "refuse" })).body;
    expect(ended).toMatchObject({ state: "stopped", problem: "“sum” was refused; no answer was sent." });
    const where = await page.asked("desk", "where");
    expect((await page.decide(where, { action: "refuse" })).body.state).toBe("stopped");
    expect(server.legs.map(answersOf)).toEqual([undefined, undefined]);

    const told = await page.asked("desk", "where");
    expect(told.questions[0]?.roots, "F25: what would be told").toEqual([{ uri: "file:///home/ada", name: "Home" }]);
    await page.decide(told, { action: "accept" });
    expect((await page.until(told.id, over)).result?.text.text).toBe(
      'roots: [{"uri":"file:///home/ada","name":"Home"}]',
    );
  });

  it("the policy comes first, and what it decides is recorded as its own", async () => {
    const seen: boolean[] = [];
    const policy: Policy = {
      decide({ request, context, destructive }) {
        seen.push(destructive);
        if (context.key === "first")
          return { type: "answer", rule: "numbers", response: { action: "accept", content: { n: 1 } } };
        if (context.target === "reads")
          return { type: "answer", rule: "reads", response: { action: "accept", content: {} } };
        if (context.target === "link") return { type: "fail", rule: "no-links", reason: "links are not followed here" };
        if (request.method === "roots/list") return { type: "ask" };
        return { type: "ask", rule: "rest" };
      },
    };
    const { browser, server } = await world({ policy });
    const page = await browser();
    const call = await page.asked("desk", "two");
    expect(call.questions.map(({ decision }) => decision?.by)).toEqual([
      { type: "policy", rule: "numbers" },
      undefined,
    ]);
    await page.decide(call, { action: "accept", content: {} }, 1);
    const next = await page.until(call.id, ({ round }) => round === 2);
    expect(next.history.filter(({ type }) => type === "decided").map((event) => "by" in event && event.by)).toEqual([
      { type: "policy", rule: "numbers" },
      { type: "person" },
    ]);
    const read = await page.start("desk", "reads");
    expect((await page.until(read.id, over)).result?.text.text, "no person is needed").toBe("read");
    const link = await page.start("desk", "link");
    const failed = await page.until(link.id, over);
    expect(failed).toMatchObject({ state: "failed", problem: expect.stringContaining("links are not followed here") });
    expect(failed.problem).toContain("no-links");
    expect(server.legs.filter(({ params }) => params["name"] === "link").map(answersOf)).toEqual([undefined]);
    expect(seen, "only what is said to be harmless is not destructive").toEqual([true, true, true, false, true]);
  });
});
