/** Keys typed ahead, double clicks, Enter pressed once too often: none of them decides (rules D2, D3). */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { GUARD_MS } from "../../src/inbox/page/guard.ts";
import { type AskingServer, askingServer, confirm, form } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { showQuestion } from "./question.ts";
import { expectClean, openTab, openWorld, type Tab, type World } from "./world.ts";

inBrowser("typed ahead on the page", () => {
  let browser: Browser;
  let world: World;
  let deploys: AskingServer;
  let tab: Tab;

  beforeAll(async () => {
    [browser, deploys] = await Promise.all([launch(), askingServer()]);
    world = await openWorld({ deploys });
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

  describe("D2: what was typed or clicked ahead does not count", () => {
    /** Time stands still, but for what is needed to draw. */
    async function standStill({ page }: Tab) {
      await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 2000);
    }
    const drawn = ({ page }: Tab, selector: string) =>
      expect
        .poll(
          async () => {
            await page.clock.runFor(1);
            return page.locator(selector).count();
          },
          { timeout: 10_000, interval: 10 },
        )
        .toBeGreaterThan(0);
    const guardOver = (one: Tab) => one.page.clock.runFor(GUARD_MS);
    afterEach(() => tab.page.clock.resume());

    it("D2: neither a click nor a key on a question that has only just been drawn", async () => {
      const id = await world.ask("deploys", [{ q: confirm() }]);
      await standStill(tab);
      await tab.page.evaluate((hash) => {
        location.hash = hash;
      }, `#/call/${id}`);
      await drawn(tab, "article");
      const decline = tab.page.getByRole("button", { name: /^Decline/ });
      await decline.click();
      await decline.focus();
      for (const key of ["Enter", "Space"]) await tab.page.keyboard.press(key);
      await tab.page.locator("input[type=radio]").first().focus();
      await tab.page.keyboard.press("Space");
      await tab.page.getByText("That had only just appeared").waitFor();
      expect(await tab.page.locator("input:checked").count()).toBe(0);
      expect(await waiting(id)).toBe(1);
      await guardOver(tab);
      await decline.click();
      await expect.poll(() => waiting(id)).toBe(0);
    });

    it("D2: a second click does not reach what moved under the mouse", async () => {
      const { id } = await asked(confirm("First?"), { r: confirm("Second?") });
      await standStill(tab);
      await tab.page
        .getByRole("button", { name: /^Decline/ })
        .first()
        .click();
      await drawn(tab, "article.done");
      await tab.page
        .getByRole("button", { name: /^Decline/ })
        .first()
        .click();
      expect(await waiting(id)).toBe(1);
      await guardOver(tab);
      await tab.page
        .getByRole("button", { name: /^Decline/ })
        .first()
        .click();
      await expect.poll(() => waiting(id)).toBe(0);
    });

    it("D2: nor one made as the page comes back to the front", async () => {
      const { id } = await asked();
      await standStill(tab);
      await tab.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
      await tab.page.getByRole("button", { name: /^Decline/ }).click();
      expect(await waiting(id)).toBe(1);
      await guardOver(tab);
      await tab.page.getByRole("button", { name: /^Decline/ }).click();
      await expect.poll(() => waiting(id)).toBe(0);
    });

    it("D2: nor does one on “review” send what the review shows", async () => {
      const { id } = await asked(form("Terms", {}));
      await standStill(tab);
      await tab.page.getByRole("button", { name: "Agree" }).click();
      await drawn(tab, ".review");
      await tab.page.getByRole("button", { name: "Send my agreement" }).click();
      expect(await waiting(id)).toBe(1);
      await guardOver(tab);
      await tab.page.getByRole("button", { name: "Send my agreement" }).click();
      await expect.poll(() => waiting(id)).toBe(0);
    });
  });

  it("D2: Enter in a field, however often, never sends; it leads to the review, where nothing has the focus", async () => {
    const { id, answers } = await asked(form("Delete which?", { name: { type: "string" } }));
    const box = tab.page.getByRole("textbox");
    await box.fill("everything");
    await box.press("Enter");
    await tab.page.locator(".review").waitFor();
    for (let press = 0; press < 3; press += 1) {
      await tab.settled();
      await tab.page.keyboard.press("Enter");
    }
    expect(await tab.page.evaluate(() => document.activeElement?.localName)).toBe("h3");
    expect([await waiting(id), answers()]).toEqual([1, []]);
  });

  it("D3: a double click sends one decision", async () => {
    const { id, answers } = await asked();
    const posts: string[] = [];
    tab.page.on("request", (request) => request.method() === "POST" && posts.push(request.url()));
    await tab.settled();
    await tab.page.getByRole("button", { name: /^Decline/ }).dblclick();
    await expect.poll(() => state(id)).toBe("complete");
    expect(posts).toHaveLength(1);
    expect(answers()).toEqual([{ action: "decline" }]);
  });
});
