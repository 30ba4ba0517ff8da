/** The inbox over real HTTP, in front of a real SDK server: what a person can do, and what is sent for it. */
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/calls/clock.ts";
import type { CallView } from "../../src/inbox/api.ts";
import { over } from "./inbox-browser.ts";
import { LINK, STATE } from "./inbox-server.ts";
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
    const extensions = { "io.modelcontextprotocol/tasks": {} };
    expect(capabilitiesOf(plain)).toEqual({ elicitation: { form: {}, url: {} }, extensions });
    const rich = await world({
      model: async () => ({ role: "assistant", content: { type: "text", text: "" }, model: "m" }),
      roots: { roots: [{ uri: "file:///home" }] },
    });
    await (await rich.browser()).asked("desk", "confirm");
    expect(capabilitiesOf(rich)).toEqual({ elicitation: { form: {}, url: {} }, sampling: {}, roots: {}, extensions });
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
});
