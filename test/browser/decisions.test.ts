/** Who decides, and when it counts (rules D1 to D3, F6; requirements D18 to D20; field cases B32, B38). */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AskingServer, askingServer, confirm, form } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { showQuestion } from "./question.ts";
import { expectClean, openTab, openWorld, type Tab, type World } from "./world.ts";

inBrowser("decisions on the page", () => {
  let browser: Browser;
  let world: World;
  let deploys: AskingServer;
  let tab: Tab;

  beforeAll(async () => {
    [browser, deploys] = await Promise.all([launch(), askingServer()]);
    const policy: NonNullable<Parameters<typeof openWorld>[1]>["policy"] = {
      decide: ({ context }) =>
        context.key === "auto"
          ? { type: "answer", response: { action: "decline" }, rule: "never at night" }
          : { type: "ask" },
    };
    world = await openWorld({ deploys }, { policy });
    tab = await openTab(browser, world);
  });
  afterEach(() => expectClean(tab));
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  const state = async (id: string) => (await world.inbox.call(id)).state;
  const waiting = async (id: string) => (await world.inbox.call(id)).open;
  const asked = (question: object = confirm(), more: Record<string, object> = {}) =>
    showQuestion({ world, tab, name: "deploys", server: deploys }, [{ q: question, ...more }]);

  it("L13: a question that comes again after a refused state says why, and so does history", async () => {
    const { id } = await asked();
    deploys.refuses = true;
    await tab.press(/^Decline/);
    const why = tab.page.getByText("The server no longer accepts the earlier answers");
    await why.nth(1).waitFor();
    expect(await why.count()).toBe(2);
    await tab.press(/^Decline/);
    await expect.poll(() => state(id)).toBe("complete");
    await expect.poll(() => why.count(), { message: "history keeps it" }).toBe(1);
  });

  describe("D3: two tabs", () => {
    let other: Tab;
    beforeAll(async () => {
      other = await openTab(browser, world);
    });
    afterAll(() => other.close());

    it("D3: the first decision counts, and the other tab shows whose it was", async () => {
      const { id, answers } = await asked();
      await other.show(`#/call/${id}`);
      await tab.press(/^Decline/);
      await expect.poll(() => state(id)).toBe("complete");
      await other.page.getByText("by a person").first().waitFor();
      expect(await other.page.getByRole("button", { name: /^(Decline|Review)/ }).count()).toBe(0);
      expect(answers()).toEqual([{ action: "decline" }]);
    });

    it("D3: a tab that has not heard of it is told, and overwrites nothing", async () => {
      const { id, answers } = await asked(form("Name?", { name: { type: "string" } }), { r: confirm() });
      await other.show(`#/call/${id}`);
      await other.page.route(`**/api/calls/${id}`, (route) => route.abort());
      await tab.press(/^Decline/);
      await expect.poll(() => waiting(id)).toBe(1);
      await other.page.getByRole("textbox").fill("too late");
      await other.press("Review my answer");
      await other.page.getByRole("heading", { name: /once its other questions are decided too/ }).waitFor();
      await other.press("Send this answer");
      const told = other.page.getByText("Already decided elsewhere.");
      await told.waitFor();
      expect(await told.locator("..").textContent()).toContain("Declined by a person");
      expect((await world.inbox.call(id)).questions[0]?.decision?.action).toBe("decline");
      expect(answers()).toEqual([]);
      await other.page.unroute(`**/api/calls/${id}`);
      await world.inbox.stop(id);
    });

    it("D3: at the very same time, one of two wins", async () => {
      const { id, answers } = await asked();
      await other.show(`#/call/${id}`);
      await Promise.all([tab.press(/^Decline/), other.press(/^Dismiss/)]);
      await expect.poll(() => state(id)).toBe("complete");
      expect(answers()).toHaveLength(1);
      expectClean(other);
    });
  });

  describe("the inbox goes away in between", () => {
    it("B38: what was entered outlives a restart of the inbox, and is sent exactly once", async () => {
      const { id, answers } = await asked(form("Name?", { name: { type: "string" } }));
      const box = tab.page.getByRole("textbox");
      await box.fill("kept");
      await world.stop();
      await expect.poll(leap).toContain("Connection lost");
      await tab.press(/^Decline/);
      await tab.page.getByText("The inbox could not be reached. What you entered is still here").waitFor();
      await world.start();
      await expect.poll(leap).toContain("Signed out");
      const again = await tab.context.newPage();
      await again.goto(world.link());
      await again.close();
      await expect.poll(leap).toContain("Connected");
      expect(await box.inputValue()).toBe("kept");
      await tab.press("Review my answer");
      await tab.press("Send this answer");
      await expect.poll(() => state(id)).toBe("complete");
      expect(answers()).toEqual([{ action: "accept", content: { name: "kept" } }]);
    });

    it("without events, the page asks every few seconds, and says so", async () => {
      const deaf = await openTab(browser, world);
      await deaf.page.route("**/api/events", (route) => route.abort());
      await deaf.page.reload();
      await deaf.page.getByText("looking for news every few seconds").waitFor();
      const id = await world.ask("deploys", [{ q: confirm() }]);
      await expect
        .poll(async () => {
          await deaf.page.clock.fastForward(3000);
          return deaf.page.locator(`a[href="#/call/${id}"]`).count();
        })
        .toBe(1);
      await deaf.close();
      await world.inbox.stop(id);
    });

    async function leap() {
      await tab.page.clock.fastForward(3000);
      return tab.page.locator(".connection").textContent();
    }
  });

  it("D1, B38: time that runs out sends nothing, and a late decision is told so", async () => {
    const servers = { slow: await askingServer() };
    const brief = await openWorld(servers, { humanTimeoutMs: 1500 });
    const late = await openTab(browser, brief);
    const id = await brief.ask("slow", [{ q: confirm() }]);
    await late.show(`#/call/${id}`);
    expect(await late.page.locator(".deadline").textContent()).toMatch(/left to answer, until|time to answer is over/);
    await late.page.route(`**/api/calls/${id}`, (route) => route.abort());
    await expect.poll(async () => (await brief.inbox.call(id)).state, { timeout: 10_000 }).toBe("expired");
    await late.press(/^Decline/);
    await late.page.getByText("The time to answer is over. Nothing was sent.").waitFor();
    await late.page.unroute(`**/api/calls/${id}`);
    await late.page.reload();
    await late.page.getByText("Nobody answered in time. Nothing was sent in your name.").waitFor();
    expect(servers.slow.answers).toEqual([]);
    expectClean(late);
    await late.close();
    await brief.close();
  });

  it("F6: nothing more from a server stops its calls, sends nothing, and can be taken back", async () => {
    const { id, answers } = await asked();
    await tab.press("Nothing more from this server");
    expect(await state(id)).toBe("waiting");
    await tab.press("Yes, nothing more from it");
    await tab.page.getByRole("heading", { level: 1, name: "Inbox" }).waitFor();
    await expect.poll(() => state(id)).toBe("stopped");
    expect(answers()).toEqual([]);
    await tab.press("Hear from deploys again");
    await tab.page.getByRole("button", { name: "Nothing more from this server" }).waitFor();
    expect((await world.inbox.view()).servers[0]?.muted).toBe(false);
  });

  it("D1: a policy's decision is named as the policy's, and never as a person's", async () => {
    const { id } = await asked(confirm(), { auto: confirm("At night?") });
    await tab.page
      .locator(".decision")
      .getByText("Declined by the policy rule “never at night”, not by a person")
      .waitFor();
    await tab.press(/^Decline/);
    await expect.poll(() => state(id)).toBe("complete");
    const history = tab.page.locator(".history");
    await history.getByText("The call is complete.").waitFor();
    const lines = (await history.locator("p").allTextContents()).filter((line) => line.includes("declined"));
    expect(lines).toEqual([
      "“auto”: declined by the policy rule “never at night”, not by a person.",
      "“q”: declined by a person.",
    ]);
  });

  it("D20: the next round appears by itself, is announced, and has the keyboard’s place", async () => {
    const id = await world.ask("deploys", [{ q: confirm("One?") }, { q: confirm("Two?") }]);
    await tab.show(`#/call/${id}`);
    await tab.press(/^Decline/);
    await tab.page.getByText("Two?").waitFor();
    const said = tab.page.locator(".visually-hidden[role=status]");
    await expect.poll(() => said.textContent()).toBe("Server “deploys” asks a question.");
    await expect.poll(() => tab.page.evaluate(() => document.activeElement?.id)).toBe("question-1-heading");
    await world.inbox.stop(id);
  });

  describe("starting a call", () => {
    it("with arguments from a form, read once more before it runs", async () => {
      deploys.scripts.set("by-hand", [{ q: confirm("Started?") }]);
      await tab.show("#/start/deploys");
      await tab.page.getByRole("radio", { name: /^ask/ }).check();
      await tab.press("Review the call");
      await expect.poll(() => tab.page.locator(".problem").allTextContents()).toEqual(["This field is required."]);
      await tab.page.getByLabel("script").fill("by-hand");
      await tab.press("Review the call");
      await tab.press("Start the call");
      await tab.page.getByText("Started?").waitFor();
      expect(await tab.page.getByRole("region", { name: "What will run" }).textContent()).toContain(
        '"script": "by-hand"',
      );
      await tab.page.getByText("Started from this inbox.").waitFor();
    });

    it("with arguments as JSON where no form can be drawn", async () => {
      await tab.show("#/start/deploys");
      await tab.page.getByRole("radio", { name: /^deep/ }).check();
      const box = tab.page.getByLabel("Arguments as JSON");
      await box.fill("[1]");
      await tab.press("Review the call");
      await tab.page.getByText("This must be a JSON object").waitFor();
      await box.fill('{"plan": {"of": ["a", "b"]}}');
      await tab.press("Review the call");
      await tab.press("Start the call");
      await tab.page.getByText("a+b").waitFor();
    });
  });
});
