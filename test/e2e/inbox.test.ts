/** The inbox over real HTTP, in front of a real SDK server: what a person can do, and what is sent for it. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/calls/clock.ts";
import type { CallView } from "../../src/inbox/api.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import type { Policy } from "../../src/policy/decision.ts";
import type { Model } from "../../src/sampling/model.ts";
import { over, waiting } from "./inbox-browser.ts";
import { handServer, LINK, STATE } from "./inbox-server.ts";
import { world } from "./inbox-world.ts";

const yes = { action: "accept", content: { yes: true } } as const;
const answersOf = (leg: { params: Record<string, unknown> } | undefined) => leg?.params["inputResponses"];
const types = (call: CallView) => call.history.map(({ type }) => type);

describe("inbox", () => {
  it("a question waits, is answered, and the call completes; history says who decided and when", async () => {
    const { browser, server } = await world();
    const page = await browser();
    const call = await page.asked("desk", "confirm", { arguments: { what: "lamp" } });
    expect(call).toMatchObject({ state: "waiting", open: 1, round: 1, serverName: "desk", target: "confirm" });
    expect(call.arguments?.text).toContain("lamp");
    const before = Date.now();
    expect((await page.decide(call, yes)).status).toBe(200);
    const done = await page.until(call.id, over);
    expect(done.result).toMatchObject({ text: { text: expect.stringContaining('"yes":true') }, isError: false });
    expect(types(done)).toEqual(["started", "asked", "decided", "sent", "ended"]);
    const decided = done.history.find(({ type }) => type === "decided");
    expect(decided).toMatchObject({ question: "ok", action: "accept", by: { type: "person" }, round: 1 });
    expect(decided?.at).toBeGreaterThanOrEqual(before);
    expect(server.legs.map(answersOf)).toEqual([undefined, { ok: { action: "accept", content: { yes: true } } }]);
    expect(server.legs[1]?.params["requestState"]).toBe(`${STATE}:1`);
  });

  it("B30: declares what it can serve, and no more", async () => {
    const plain = await world();
    await (await plain.browser()).asked("desk", "confirm");
    const capabilitiesOf = ({ server }: typeof plain) =>
      server.legs[0]?.params._meta["io.modelcontextprotocol/clientCapabilities"];
    expect(capabilitiesOf(plain)).toEqual({ elicitation: { form: {}, url: {} } });
    const rich = await world({
      model: async () => ({ role: "assistant", content: { type: "text", text: "" }, model: "m" }),
      roots: { roots: [{ uri: "file:///home" }] },
    });
    await (await rich.browser()).asked("desk", "confirm");
    expect(capabilitiesOf(rich)).toEqual({ elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
  });

  it("several questions of a round wait for one another, and rounds follow until the end", async () => {
    const { browser, server } = await world();
    const page = await browser();
    const call = await page.asked("desk", "two");
    const half = (await page.decide(call, { action: "decline" }, 1)).body;
    expect(half).toMatchObject({ state: "waiting", open: 1 });
    expect(half.questions[1]?.decision).toMatchObject({ action: "decline", by: { type: "person" } });
    expect(server.legs, "nothing goes out before the last answer").toHaveLength(1);
    const bad = await page.decide(call, { action: "accept", content: { n: 1.5 } }, 0);
    expect([bad.status, bad.body.error]).toMatchObject([
      422,
      { code: "invalid_content", fields: { n: expect.stringContaining("whole number") } },
    ]);
    await page.decide(call, { action: "accept", content: { n: 4 } }, 0);
    const next = await page.until(call.id, ({ round }) => round === 2);
    expect(next.questions[0]?.view).toMatchObject({ message: { text: "4 decline; 3" } });
    await page.decide(next, { action: "cancel" });
    expect((await page.until(call.id, over)).result?.text.text).toBe("third: cancel");
  });

  it("D3: two tabs and a double click: one decision goes out, and the others are told whose stands", async () => {
    const { browser, server } = await world();
    const [tab, other] = [await browser(), await browser()];
    const call = await tab.asked("desk", "confirm");
    const clicks = await Promise.all([
      tab.decide(call, yes),
      other.decide(call, { action: "decline" }),
      tab.decide(call, yes),
      other.decide(call, { action: "cancel" }),
    ]);
    const statuses = clicks.map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 409, 409, 409]);
    const done = await tab.until(call.id, over);
    const stands = done.history.find(({ type }) => type === "decided");
    for (const { status, body } of clicks) {
      if (status !== 409) continue;
      expect(body.error).toMatchObject({ code: "already_decided", decision: { by: { type: "person" } } });
      expect(body.error.decision?.at).toBe(stands?.at);
    }
    expect(server.legs).toHaveLength(2);
    const late = await other.decide(call, yes);
    expect([late.status, late.body.error.code], "after the end too").toEqual([409, "already_decided"]);
  });

  it("a question whose time is over is expired: 410, nothing is sent, and it stays to be seen", async () => {
    let ahead = 0;
    const clock = { ...systemClock, now: () => Date.now() + ahead };
    const { browser, server } = await world({ humanTimeoutMs: 5000, clock });
    const page = await browser();
    const call = await page.asked("desk", "confirm");
    expect(call.answerBy, "the deadline is shown").toBeGreaterThan(Date.now());
    ahead = 5000;
    const late = await page.decide(call, yes);
    expect([late.status, late.body.error]).toEqual([410, expect.objectContaining({ code: "expired" })]);
    const ended = await page.until(call.id, over);
    expect(ended).toMatchObject({ state: "expired", problem: "Nobody answered in time; nothing was sent." });
    expect(server.legs).toHaveLength(1);
    expect((await page.inbox()).calls[0]).toMatchObject({ state: "expired" });
  });

  it("D1, B32: stop, mute and an ended inbox send nothing in anybody's name", async () => {
    const { browser, server, inbox } = await world();
    const page = await browser();
    const [stopped, muted, left] = [
      await page.asked("desk", "confirm"),
      await page.asked("desk", "two"),
      await page.asked("desk", "link"),
    ];
    expect((await page.post(`/api/calls/${stopped.id}/stop`)).body).toMatchObject({ state: "stopped" });
    await inbox.mute("desk", true);
    for (const { id } of [muted, left]) expect((await page.until(id, over)).state).toBe("stopped");
    await inbox.close();
    expect(server.legs).toHaveLength(3);
    expect(server.legs.map(answersOf)).toEqual([undefined, undefined, undefined]);
  });

  it("F6: nothing more from a muted server, until it is heard again", async () => {
    const { browser, server } = await world();
    const page = await browser();
    const waits = await page.asked("desk", "confirm");
    const view = await page.post("/api/servers/desk/mute", { muted: true });
    expect(view.body).toMatchObject({ servers: [{ id: "desk", muted: true }], waiting: 0 });
    const refused = await page.post("/api/calls", { server: "desk", method: "tools/call", target: "confirm" });
    expect([refused.status, refused.body.error.code]).toEqual([409, "server_muted"]);
    expect((await page.decide(waits, yes)).status).toBe(404);
    expect(server.legs).toHaveLength(1);
    await page.post("/api/servers/desk/mute", { muted: false });
    expect(await page.asked("desk", "confirm")).toMatchObject({ state: "waiting" });
  });

  it("L9, E24: a link is agreed to once; when it comes back the server is waited for, and asked on demand", async () => {
    const { browser, server } = await world();
    const page = await browser();
    const call = await page.asked("desk", "link");
    expect(call.waitingOnServer).toBeUndefined();
    expect(call.questions[0]?.view).toMatchObject({ kind: "url", repeated: false, url: { ok: true, href: LINK } });
    await page.decide(call, { action: "accept" });
    const back = await page.until(call.id, ({ round }) => round === 2);
    expect(back).toMatchObject({ state: "waiting", waitingOnServer: true });
    expect(back.questions[0]?.view).toMatchObject({ repeated: true });
    expect(
      types(back).filter((type) => type === "asked"),
      "consent is asked once",
    ).toHaveLength(1);
    expect(types(back).at(-1)).toBe("waiting_on_server");
    server.knobs.done = true;
    await page.post(`/api/calls/${call.id}/check`);
    expect((await page.until(call.id, over)).result?.text.text).toBe("linked");
    expect(server.legs.map(answersOf)).toEqual([undefined, { go: { action: "accept" } }, { go: { action: "accept" } }]);
    expect((await page.post(`/api/calls/${call.id}/check`)).status).toBe(409);
  });

  it("I16: a server that asks for patience is waited for, checked at once on demand, and can be left", async () => {
    const { browser, server } = await world({ pacing: { initialMs: 60_000, maxMs: 60_000 } });
    const page = await browser();
    const [call, other] = [await page.start("desk", "patience"), await page.start("desk", "patience")];
    for (const { id } of [call, other]) await page.until(id, ({ waitingOnServer }) => waitingOnServer === true);
    expect(server.legs).toHaveLength(2);
    server.knobs.done = true;
    await page.post(`/api/calls/${call.id}/check`);
    const done = await page.until(call.id, over);
    expect(done.result?.text.text).toBe("patience paid");
    expect(types(done)).toEqual(["started", "waiting_on_server", "ended"]);
    expect(server.legs.at(-1)?.params["requestState"]).toBe(`${STATE}:wait`);
    await page.post(`/api/calls/${other.id}/stop`);
    expect((await page.until(other.id, over)).state).toBe("stopped");
    expect(server.legs).toHaveLength(3);
  });

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
    expect(ended).toMatchObject({ state: "stopped", problem: "“sum” was refused; nothing was sent." });
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
    expect(seen, "only what is known to be harmless is not destructive").toEqual([true, true, true, false, true]);
  });

  it("B18, B40: what was not declared, or cannot be shown, fails within a second with its key, and nobody is asked", async () => {
    const { browser, server } = await world();
    const page = await browser();
    const field = { type: "string" };
    const rude = {
      sampling: { method: "sampling/createMessage", params: { messages: [], maxTokens: 1 } },
      unknown: { method: "dance", params: {} },
      crowd: {
        method: "elicitation/create",
        params: {
          message: "?",
          requestedSchema: {
            type: "object",
            properties: Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`f${at}`, field])),
          },
        },
      },
    };
    for (const [name, question] of Object.entries(rude)) {
      server.knobs.rude = question;
      const startedAt = performance.now();
      const { id } = await page.start("desk", "rude");
      const failed = await page.until(id, over);
      expect(performance.now() - startedAt, name).toBeLessThan(1000);
      expect(failed, name).toMatchObject({ state: "failed", problem: expect.stringContaining('"q"'), questions: [] });
      expect(types(failed)).not.toContain("asked");
    }
  });

  it("B40: a question that this host cannot serve any more is refused at once, and named; it can be ended", async () => {
    const store = memoryPending();
    const server = await handServer();
    onTestFinished(() => server.close());
    const model: Model = async () => ({ role: "assistant", content: { type: "text", text: "" }, model: "m" });
    const before = await world({ server, store, model });
    const call = await (await before.browser()).asked("desk", "sum");
    await before.inbox.close();
    const { browser } = await world({ server, store });
    const page = await browser();
    const stage = call.questions[0]?.sampling;
    if (stage?.stage !== "request") throw new Error("no request to review");
    const reply = await page.decide(call, { action: "run", params: stage.params });
    expect([reply.status, reply.body.error.code]).toEqual([422, "unanswerable"]);
    expect(reply.body.error.message).toContain("sum");
    expect((await page.decide(call, { action: "refuse" })).body.state).toBe("stopped");
    expect(server.legs).toHaveLength(1);
  });

  it("a call that another process stops is dropped here, request on its way included", async () => {
    const store = memoryPending();
    const server = await handServer();
    onTestFinished(() => server.close());
    const [here, there] = [await world({ server, store }), await world({ server, store })];
    const page = await here.browser();
    const call = await page.asked("desk", "confirm");
    let aborted = false;
    server.knobs.hold = new Promise(() => {});
    server.onAbort = () => {
      aborted = true;
    };
    await page.decide(call, yes);
    await expect.poll(() => server.legs.length).toBe(2);
    await there.inbox.stop(call.id);
    await expect.poll(() => aborted, { timeout: 5000 }).toBe(true);
    expect((await page.get<CallView>(`/api/calls/${call.id}`)).body.state).toBe("stopped");
  });

  it("a call to a server that is away fails at once, and says why", async () => {
    const { browser } = await world({
      servers: { gone: { connect: () => Promise.reject(new Error("no route")) } },
    });
    const page = await browser();
    const { id } = await page.start("gone", "confirm");
    expect(await page.until(id, over)).toMatchObject({
      state: "failed",
      problem: '"gone" cannot be reached: no route',
    });
    expect((await page.inbox()).servers.find((one) => one.id === "gone")).toMatchObject({ status: "unreachable" });
    const tools = await page.get<{ error: { code: string } }>("/api/servers/gone/tools");
    expect([tools.status, tools.body.error.code]).toEqual([502, "unreachable"]);
  });

  it("K12: a server of the 2025 era, which asks while the request is open, is not called at all", async () => {
    const { browser, server } = await world({
      servers: {
        old: {
          connect: async () => {
            const client = new Client({ name: "old", version: "1" }, { versionNegotiation: { mode: "legacy" } });
            await client.connect(new StreamableHTTPClientTransport(new URL(server.url)) as never);
            return client;
          },
        },
      },
    });
    const page = await browser();
    const { id } = await page.start("old", "confirm");
    expect(await page.until(id, over)).toMatchObject({
      state: "failed",
      problem: expect.stringContaining("2026-07-28"),
    });
    expect(server.legs).toHaveLength(0);
  });

  it("answers that did not get through go out by themselves when the server is back", async () => {
    const { browser, server } = await world({ retryMs: 300 });
    const page = await browser();
    const call = await page.asked("desk", "confirm");
    const port = Number(new URL(server.url).port);
    await server.close();
    await page.decide(call, yes);
    const stuck = await page.until(call.id, ({ problem }) => problem !== undefined);
    expect(stuck).toMatchObject({ state: "sending", waitingOnServer: true });
    expect(stuck.problem).toContain("ECONNREFUSED");
    const again = await handServer(port);
    onTestFinished(() => again.close());
    expect(await page.until(call.id, over)).toMatchObject({ state: "complete" });
    expect(again.legs.map(answersOf)).toEqual([{ ok: yes }]);
  });

  it("B24: answers that may have got through go out again because a person says so, and not before", async () => {
    const { browser, server } = await world({ retryMs: 1 });
    const page = await browser();
    const call = await page.asked("desk", "confirm");
    server.knobs.cut = true;
    await page.decide(call, yes);
    const stuck = await page.until(call.id, ({ problem }) => problem !== undefined);
    expect(stuck).toMatchObject({ state: "sending", waitingOnServer: true });
    const sent = server.legs.length;
    server.knobs.cut = false;
    // Anything else that takes turns: were it sent again by itself, it would be by then.
    const other = await page.asked("desk", "confirm");
    await page.decide(other, yes);
    await page.until(other.id, over);
    expect((await page.get<CallView>(`/api/calls/${call.id}`)).body.state).toBe("sending");
    expect(server.legs.length).toBe(sent + 2);
    await page.post(`/api/calls/${call.id}/check`);
    expect((await page.until(call.id, over)).state).toBe("complete");
  });

  it("tells what changed, at once", async () => {
    const { browser } = await world();
    const page = await browser();
    const events = await page.events();
    const call = await page.asked("desk", "confirm");
    await page.decide(call, yes);
    const done = await page.until(call.id, over);
    await expect
      .poll(() => events.seen.filter((event) => event.type === "call").at(-1))
      .toEqual({
        type: "call",
        id: call.id,
        version: done.version,
      });
    events.stop();
  });

  it("lists what can be started: forms where the schema is flat, prompts and resources too", async () => {
    const { browser } = await world();
    const page = await browser();
    const items = (await page.get<{ target: string; method: string }[]>("/api/servers/desk/tools")).body;
    expect(items.find(({ target }) => target === "reads")).toMatchObject({ method: "tools/call", destructive: false });
    expect(items.find(({ target }) => target === "greet")).toMatchObject({
      method: "prompts/get",
      form: { fields: [{ field: { name: "lang", required: true } }] },
    });
    expect(items.find(({ target }) => target === "note://one")).toMatchObject({ method: "resources/read" });
    const call = await page.start("desk", "note://one", { method: "resources/read" });
    expect((await page.until(call.id, over)).result?.text.text).toBe("a note");
  });

  it("B45: a full store refuses a new call before anything is sent", async () => {
    const { browser, server } = await world({ store: memoryPending({ maxCalls: 1 }) });
    const page = await browser();
    await page.asked("desk", "confirm");
    const full = await page.post("/api/calls", { server: "desk", method: "tools/call", target: "confirm" });
    expect([full.status, full.body.error]).toMatchObject([503, { code: "limit_exceeded" }]);
    expect(full.body.error.message).toContain("nothing was sent");
    expect(server.legs).toHaveLength(1);
    expect(waiting((await page.get<CallView>(`/api/calls/${(await page.inbox()).calls[0]?.id}`)).body)).toBe(true);
  });
});
