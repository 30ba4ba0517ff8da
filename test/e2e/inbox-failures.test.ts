/** Servers that break the rules or are away, and answers of which nobody knows whether they arrived. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/calls/clock.ts";
import type { CallView } from "../../src/inbox/api.ts";
import { createInbox } from "../../src/inbox/inbox.ts";
import { memoryPending } from "../../src/pending/memory.ts";
import type { Model } from "../../src/sampling/model.ts";
import { connect } from "../helpers/http.ts";
import { over, waiting } from "./inbox-browser.ts";
import { handServer } from "./inbox-server.ts";
import { world } from "./inbox-world.ts";

const yes = { action: "accept", content: { yes: true } } as const;
const answersOf = (leg: { params: Record<string, unknown> } | undefined) => leg?.params["inputResponses"];
const types = (call: CallView) => call.history.map(({ type }) => type);

describe("inbox in trouble", () => {
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

  it("B18: a question nested too deep to be kept ends its call; nobody is told that the server is away", async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`;
    const question = {
      method: "elicitation/create",
      params: { message: "?", requestedSchema: { type: "object", properties: {} } },
    };
    const { browser, server } = await world({
      servers: {
        deep: {
          connect: async () => {
            const client = await connect(server.url);
            const { transport } = client;
            const send = transport?.send.bind(transport);
            if (transport === undefined || send === undefined) throw new Error("not connected");
            transport.send = async (message, options) => {
              if (!("method" in message) || message.method !== "tools/call") return send(message, options);
              const asked = JSON.stringify({ q: question }).replace('"message"', `"_meta":${deep},"message"`);
              const result = `{"resultType":"input_required","requestState":"s","inputRequests":${asked}}`;
              const id = "id" in message ? message.id : 0;
              transport.onmessage?.(JSON.parse(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`));
            };
            return client;
          },
        },
      },
    });
    const page = await browser();
    const { id } = await page.start("deep", "any");
    const ended = await page.until(id, over);
    expect([ended.state, ended.problem]).toEqual(["failed", expect.stringContaining("cannot be kept")]);
    expect((await page.asked("desk", "confirm")).state, "the others go on").toBe("waiting");
  });

  it("a call that cannot be read is reported, and keeps no other from going on", async () => {
    let ahead = 0;
    const now = () => Date.now() + ahead;
    const store = memoryPending({ now });
    const server = await handServer();
    onTestFinished(() => server.close());
    const before = await world({ server, store });
    const page = await before.browser();
    const [poisoned, other] = [await page.asked("desk", "confirm"), await page.asked("desk", "confirm")];
    await before.inbox.close();
    const elsewhere = createInbox({ store, servers: { other: { connect: () => Promise.reject(new Error()) } } });
    for (const { id } of [poisoned, other]) await elsewhere.decide(id, "r1-0", yes);
    await elsewhere.close();
    ahead = 120_000;
    expect((await store.due(["desk"], 9)).toSorted(), "both wait to be gone on with").toEqual(
      [poisoned.id, other.id].toSorted(),
    );
    const update: typeof store.update = (id, change) =>
      id === poisoned.id ? Promise.reject(new Error("sealed by a key that is gone")) : store.update(id, change);
    const { browser, errors } = await world({ server, store: { ...store, update }, clock: { ...systemClock, now } });
    expect((await (await browser()).until(other.id, over)).state).toBe("complete");
    expect(errors.map(String).join()).toContain("sealed by a key that is gone");
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

  it("a clock that is set back does not keep this process from hearing what another does", async () => {
    let ahead = 3_600_000;
    const now = () => Date.now() + ahead;
    const [store, clock] = [memoryPending({ now }), { ...systemClock, now }];
    const server = await handServer();
    onTestFinished(() => server.close());
    const [here, there] = [await world({ server, store, clock }), await world({ server, store, clock })];
    const call = await (await here.browser()).asked("desk", "confirm");
    const told: string[] = [];
    here.inbox.subscribe((event) => {
      if (event.type === "call") told.push(event.id);
    });
    ahead = 0;
    await there.inbox.stop(call.id);
    await expect.poll(() => told, { timeout: 5000 }).toContain(call.id);
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

  it("an answer given in time goes out even if its carrier comes after the time was over", async () => {
    const store = memoryPending();
    const server = await handServer();
    onTestFinished(() => server.close());
    const before = await world({ server, store, humanTimeoutMs: 60_000 });
    const call = await (await before.browser()).asked("desk", "confirm");
    await before.inbox.close();
    const elsewhere = createInbox({ store, servers: { other: { connect: () => Promise.reject(new Error()) } } });
    await elsewhere.decide(call.id, "r1-0", yes);
    await elsewhere.close();
    const clock = { ...systemClock, now: () => Date.now() + 120_000 };
    const { browser } = await world({ server, store, clock });
    expect((await (await browser()).until(call.id, over)).state).toBe("complete");
    expect(server.legs.map(answersOf)).toEqual([undefined, { ok: yes }]);
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
    expect(stuck.problem).toMatch(/^"desk" cannot be reached: .*ECONNREFUSED/);
    expect(stuck.unreachable?.at).toBeGreaterThan(stuck.startedAt);
    expect(types(stuck).at(-1)).toBe("unreachable");
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
    expect(stuck).toMatchObject({ state: "sending", waitingOnServer: true, unreachable: {} });
    expect(stuck.unreachable, "not by itself").not.toHaveProperty("at");
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

  it("L13: a state that is refused starts the call over, and the person who is asked again is told why", async () => {
    const { browser, server } = await world();
    const page = await browser();
    const call = await page.asked("desk", "confirm");
    expect(call.questions[0]?.view.startedOver).toBeUndefined();
    server.knobs.refuse = true;
    await page.decide(call, yes);
    const again = await page.until(call.id, ({ state, round }) => state === "waiting" && round > 1);
    expect(types(again)).toEqual(["started", "asked", "decided", "sent", "started_over", "asked"]);
    expect(again.questions[0]?.view.startedOver).toBe(true);
    await page.decide(again, yes);
    expect((await page.until(call.id, over)).state).toBe("complete");
    expect(server.legs.map(answersOf)).toEqual([undefined, { ok: yes }, undefined, { ok: yes }]);
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
