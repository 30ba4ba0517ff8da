/** Calls that go on as tasks, beside calls: how they stand, what they ask, and how they are stopped (H19 to H29, B48). */
import { AxeBuilder } from "@axe-core/playwright";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { type HandTasks, handTasks, question } from "../helpers/hand-tasks.ts";
import type { AskingServer } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { expectClean, openTab, openWorld, read, type Tab, type World } from "./world.ts";

inBrowser("tasks on the page", () => {
  let browser: Browser;
  let builds: HandTasks;
  let world: World;
  let tab: Tab;

  beforeAll(async () => {
    [browser, builds] = await Promise.all([launch(), handTasks()]);
    const server: AskingServer = {
      scripts: new Map(),
      answers: [],
      close: () => builds.close(),
      async connect() {
        const client = new Client({ name: "h", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
        await client.connect(new StreamableHTTPClientTransport(new URL(builds.url)) as never);
        return client;
      },
    };
    world = await openWorld({ builds: server });
  });
  beforeEach(async () => {
    Object.assign(builds.knobs, {
      status: "working",
      message: undefined,
      asks: {},
      cut: undefined,
      ttlMs: null,
      pollIntervalMs: 100,
    });
    tab = await openTab(browser, world);
  });
  afterEach(async () => {
    // What a test leaves running would be looked at for as long as the others take.
    Object.assign(builds.knobs, { status: "completed", asks: {}, cut: undefined });
    expectClean(tab);
    await tab.close();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  async function begin(): Promise<string> {
    const { id } = await world.inbox.start({ server: "builds", method: "tools/call", target: "build" }, "host");
    await expect.poll(async () => (await world.inbox.call(id)).task?.status, { timeout: 10_000 }).toBe("working");
    return id;
  }
  const row = (id: string) => tab.page.locator("li.call-row", { has: tab.page.locator(`a[href="#/call/${id}"]`) });
  const shown = (text: string | RegExp) => tab.page.getByText(text).first().waitFor();
  const noViolations = async () => {
    const { violations } = await new AxeBuilder({ page: tab.page }).setLegacyMode().analyze();
    expect(violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)).toEqual([]);
  };

  it("H8: a task stands beside calls in the list, and its state and the server's words for it change as they do", async () => {
    builds.knobs.message = "compiling 1 of 9";
    builds.knobs.ttlMs = 3_600_000;
    const id = await begin();
    const { id: plain } = await world.inbox.start({ server: "builds", method: "tools/call", target: "plain" }, "host");
    await tab.show("#/");
    await row(id).getByText("Task at the server").waitFor();
    await row(id).getByText("“compiling 1 of 9”").waitFor();
    expect(await row(id).textContent()).toMatch(/Task: working · since \d\d:\d\d · lives until \d\d:\d\d/);
    await row(plain).getByText("Complete").waitFor();
    builds.knobs.message = "compiling 2 of 9";
    await row(id).getByText("“compiling 2 of 9”").waitFor();
    await noViolations();
    await tab.show(`#/call/${id}`);
    await shown("The server goes on with this as a task");
    builds.knobs.message = "compiling 3 of 9";
    await shown("compiling 3 of 9");
    await noViolations();
    builds.knobs.status = "completed";
    await tab.page.getByRole("heading", { name: "Result" }).waitFor();
    expect((await read(tab.page)).text).toContain("The server goes on with it as a task.");
  });

  it("the list tells calls apart by what they call, and a tool's own failure from success", async () => {
    const { id } = await world.inbox.start({ server: "builds", method: "tools/call", target: "broken" }, "host");
    await tab.show("#/");
    await row(id).getByRole("link", { name: "Call to “broken” of builds" }).waitFor();
    await row(id).getByText("Complete, with an error").waitFor();
  });

  it("T1, U1, F5: a server's words for its task are text, made visible, and nothing of the page's", async () => {
    builds.knobs.message = `\u202E<img src=x onerror=alert(1)> https://evil.example/ Call to “bank” ${"x".repeat(500)}`;
    const id = await begin();
    await expect.poll(async () => (await world.inbox.call(id)).task?.message).toBeDefined();
    for (const view of ["#/", `#/call/${id}`]) {
      await tab.show(view);
      await shown(/⟨U\+202E⟩<img src=x onerror=alert\(1\)> https:⟨link⟩\/\/evil/);
      const { elements, links } = await read(tab.page);
      expect(elements).not.toContain("img");
      expect(links.filter((link) => link?.includes("evil"))).toEqual([]);
      await tab.page.setViewportSize({ width: 320, height: 640 });
      expect(await tab.page.evaluate(() => document.documentElement.scrollWidth), "not sideways").toBe(320);
    }
    await world.inbox.stop(id);
  });

  it("B48: its question appears while the call is in view, is answered once, and the task goes on", async () => {
    const id = await begin();
    await tab.show(`#/call/${id}`);
    const before = builds.count("tasks/update");
    Object.assign(builds.knobs, { status: "input_required", asks: { go: question("Publish it?") } });
    await shown("Publish it?");
    expect((await read(tab.page)).text).toContain("Task: input_required");
    await noViolations();
    await tab.press(/^Decline/);
    await shown("Task: working");
    expect(builds.count("tasks/update")).toBe(before + 1);
    builds.knobs.status = "completed";
    await tab.page.getByRole("heading", { name: "Result" }).waitFor();
  });

  it("H28: Stop says what becomes of the task, asks first, and has it cancelled at the server", async () => {
    const id = await begin();
    await tab.show(`#/call/${id}`);
    const before = builds.count("tasks/cancel");
    await tab.press("Stop the call");
    await shown("The server is told to cancel its task; neither yes nor no is sent.");
    await noViolations();
    expect(builds.count("tasks/cancel")).toBe(before);
    await tab.press("Yes, stop the call");
    await shown("The server was told to cancel its task.");
    expect(builds.count("tasks/cancel")).toBe(before + 1);
    expect((await world.inbox.call(id)).state).toBe("stopped");
  });

  it("H28: while its server is out of reach the call is said to be stopping", async () => {
    const id = await begin();
    await tab.show(`#/call/${id}`);
    builds.knobs.cut = /tasks\/cancel/;
    await tab.press("Stop the call");
    await tab.press("Yes, stop the call");
    await shown("Stopping");
    await shown("The server is being told to cancel it");
    await noViolations();
    await tab.press("Stop the call");
    await shown("End this call here now?");
    await tab.press("Yes, stop the call");
    await shown("The server was not told: the task may go on there.");
  });

  it("B24: a server that is out of reach is said to be, with the time of the next try", async () => {
    const id = await begin();
    await tab.show(`#/call/${id}`);
    builds.knobs.cut = /tasks\/get/;
    await shown("The server cannot be reached");
    await shown(/It is tried again by itself (now|in \d+ seconds?)/);
    const { text } = await read(tab.page);
    expect(text).not.toContain("needs more time");
    expect(text).toContain("The server could not be reached, or did not answer.");
    expect(await tab.page.getByRole("button", { name: "Keep waiting" }).count()).toBe(0);
    await noViolations();
    builds.knobs.cut = undefined;
    await tab.press("Check now");
    await expect.poll(() => tab.page.getByText("The server cannot be reached").count()).toBe(0);
    await world.inbox.stop(id);
  });

  it("H19: a task outlives a restart of the inbox, and its question is put once", async () => {
    const id = await begin();
    await tab.show(`#/call/${id}`);
    Object.assign(builds.knobs, { status: "input_required", asks: { go: question("Publish it?") } });
    await shown("Publish it?");
    const begun = builds.count("tools/call");
    await world.stop();
    await world.start();
    await tab.page.goto(world.link());
    await tab.show(`#/call/${id}`);
    await shown("Publish it?");
    await tab.press(/^Decline/);
    await shown("Task: working");
    builds.knobs.status = "completed";
    await tab.page.getByRole("heading", { name: "Result" }).waitFor();
    expect((await read(tab.page)).text?.match(/The server asked 1 question/g)).toHaveLength(1);
    expect(builds.count("tools/call")).toBe(begun);
  });
});
