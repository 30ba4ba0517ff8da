/** Consent to visit a web address, on the page (rules L1 to L9, requirements E13 to E24, field case B36). */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AskingServer, askingServer, link } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { showQuestion } from "./question.ts";
import { expectClean, openTab, openWorld, read, type Tab, type World } from "./world.ts";

inBrowser("web addresses on the page", () => {
  let browser: Browser;
  let world: World;
  let bank: AskingServer;
  let tab: Tab;

  beforeAll(async () => {
    [browser, bank] = await Promise.all([launch(), askingServer()]);
    world = await openWorld({ bank });
    tab = await openTab(browser, world);
  });
  afterEach(async () => {
    for (const other of tab.context.pages()) if (other !== tab.page) await other.close();
    expect(tab.faults).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  const asked = (url: string, rounds: object[] = [link(url)]) =>
    showQuestion(
      { world, tab, name: "bank", server: bank },
      rounds.map((question) => ({ q: question })),
    );
  const state = async (id: string) => (await world.inbox.call(id)).state;

  describe("what is refused", () => {
    it.each([
      "javascript:alert(1)",
      "java\nscript:alert(1)",
      "file:///etc/passwd",
      "data:text/html,<script>alert(1)</script>",
      "vbscript:x",
    ])("L1, E20: %j fails the call, with the reason and nothing to press", async (url) => {
      const { id, answers } = await asked(url);
      expect(await state(id)).toBe("failed");
      expect((await read(tab.page)).text).toContain("url is not http or https");
      expect(await tab.page.locator("main button, .url").count()).toBe(0);
      expect(answers().length).toBe(0);
      expectClean(tab);
    });

    it.each([
      ["without encryption", "http://bank.example/"],
      ["of four kilobytes", `https://bank.example/${"a".repeat(4096)}`],
    ])("L1, E20: one %s is shown as text and cannot be opened", async (_, url) => {
      const { answer } = await asked(url);
      const { text, links } = await read(tab.page);
      expect(text).toContain("the address cannot be opened safely");
      expect(text).toMatch(/https?:⟨link⟩\/\/bank\.example\//);
      expect(links.filter((href) => !href?.startsWith("#/"))).toEqual([]);
      expect(await tab.page.getByRole("button", { name: /open/i }).count()).toBe(0);
      await tab.press(/^Dismiss/);
      expect(await answer()).toEqual({ action: "cancel" });
      expectClean(tab);
    });
  });

  describe("what is shown before consent", () => {
    const address = () => tab.page.locator(".url").textContent();
    const emphasised = () => tab.page.locator(".url strong").textContent();

    it("L2, E15: the whole address, and the host that it really leads to", async () => {
      const url = "https://bank.example@evil.example/a/long/path?with=query#and-fragment";
      await asked(url);
      expect(await address()).toBe(url);
      expect(await emphasised()).toBe("evil.example");
      expect((await read(tab.page)).text).toContain("user name in front of “@”");
      expectClean(tab);
    });

    it("L3, E17: the registrable domain stands out, private suffixes included", async () => {
      await asked("https://login.mallory.github.io/x");
      expect(await emphasised()).toBe("mallory.github.io");
      await asked("https://www.bank.co.uk.evil.co.uk/");
      expect(await emphasised()).toBe("evil.co.uk");
      const weight = await tab.page.locator(".url strong").evaluate((strong) => getComputedStyle(strong).fontWeight);
      expect(Number(weight)).toBeGreaterThanOrEqual(600);
      expectClean(tab);
    });

    it("L4, E18: a look-alike host comes with a warning and both spellings", async () => {
      await asked("https://www.xn--pple-43d.example/");
      const { text } = await read(tab.page);
      expect(text).toContain("www.xn--pple-43d.example");
      expect(text).toContain("www.аpple.example");
      expect(text).toContain("mixes alphabets");
      expectClean(tab);
    });

    it("L5: odd hosts come with a warning", async () => {
      for (const [url, warning] of [
        ["https://0x7f000001/", "means 127.0.0.1"],
        ["https://3232235777/", "bare number address"],
        ["https://bank.example./", "ends in a dot"],
        ["https://bank.example:8443/", "unusual port 8443"],
      ] as const) {
        await asked(url);
        expect((await read(tab.page)).text).toContain(warning);
      }
      expectClean(tab);
    });

    it("L7, F5, E13: nothing is fetched, and nothing on the page is a link", async () => {
      const { answer } = await asked(`https://bank.example/consent`, [
        link(`https://bank.example/consent`, "Go to https://evil.example/ now"),
      ]);
      const { links, elements } = await read(tab.page);
      expect(links.filter((href) => !href?.startsWith("#/"))).toEqual([]);
      expect(elements.filter((name) => ["img", "iframe", "link", "object", "embed", "script"].includes(name))).toEqual(
        [],
      );
      await tab.page.getByText(`https://bank.example/consent`).first().click();
      await tab.press(/^Decline/);
      expect(await answer()).toEqual({ action: "decline" });
      expect(tab.context.pages().length).toBe(1);
      expectClean(tab);
    });
  });

  describe("opening", () => {
    it("L6, E16, E21: the parsed address opens in a page that knows nothing of this one, and accept is sent without content", async () => {
      const popup = tab.context.waitForEvent("page");
      const { answer } = await asked("https://bank.example/a/../sign-in?x=1");
      await tab.press(/^Open /);
      const opened = await popup;
      await opened.waitForLoadState();
      expect(await answer()).toEqual({ action: "accept" });
      expect(new URL(opened.url()).pathname).toBe("/sign-in");
      expect(await opened.evaluate(() => [window.opener, document.referrer])).toEqual([null, ""]);
      expect(tab.outside).toEqual(["https://bank.example/sign-in?x=1"]);
      tab.outside.length = 0;
    });

    it("L8: a browser that blocks the page leads to a question, not to accept", async () => {
      const { id, answers, answer } = await asked(`https://bank.example/blocked`);
      await tab.page.evaluate(() => {
        window.open = () => null;
      });
      await tab.press(/^Open /);
      await tab.page.getByRole("heading", { name: "Did the page open?" }).waitFor();
      expect(answers().length).toBe(0);
      expect(await state(id)).toBe("waiting");
      await tab.press(/^Dismiss/);
      expect(await answer()).toEqual({ action: "cancel" });
    });

    it("L8: one that throws does, too, and offers no way to claim that it opened", async () => {
      const { answers, answer } = await asked(`https://bank.example/throws`);
      await tab.page.evaluate(() => {
        window.open = () => {
          throw new Error("blocked by policy");
        };
      });
      await tab.press(/^Open /);
      await tab.page.getByRole("heading", { name: "The browser did not open the page" }).waitFor();
      expect(await tab.page.getByRole("button", { name: "Yes, it opened" }).count()).toBe(0);
      expect(answers().length).toBe(0);
      await tab.press(/^Dismiss/);
      expect(await answer()).toEqual({ action: "cancel" });
      await tab.page.reload();
    });

    it("L8: when the inbox cannot be told, the page is not opened a second time", async () => {
      const { id, answer } = await asked("https://bank.example/once");
      await tab.page.route("**/questions/*", (route) => route.abort());
      await tab.press(/^Open /);
      await tab.page.getByRole("heading", { name: "The page opened, but the server was not told" }).waitFor();
      expect(await state(id)).toBe("waiting");
      await tab.page.unroute("**/questions/*");
      await tab.press("Tell it now");
      expect(await answer()).toEqual({ action: "accept" });
      expect(tab.outside).toEqual(["https://bank.example/once"]);
      tab.outside.length = 0;
    });

    it("L8, E14: nothing opens by Enter, by Escape or by leaving", async () => {
      const { id } = await asked(`https://bank.example/enter`);
      for (const key of ["Enter", "Enter", "Escape"]) await tab.page.keyboard.press(key);
      await tab.page.evaluate(() => {
        location.hash = "#/";
      });
      await tab.show(`#/call/${id}`);
      expect(await state(id)).toBe("waiting");
      expect(tab.context.pages().length).toBe(1);
      expectClean(tab);
    });
  });

  it("L9, E22, E24: the same address coming back is neither asked nor opened again; check, wait and stop are offered", async () => {
    const url = `https://bank.example/again`;
    const { id, answers } = await asked(url, [link(url), link(url), link(url)]);
    const popup = tab.context.waitForEvent("page");
    await tab.press(/^Open /);
    await (await popup).close();
    await tab.page.getByRole("button", { name: "Check now" }).waitFor();
    expect(await tab.page.getByRole("button", { name: "Open bank.example" }).count()).toBe(0);
    await tab.press("Keep waiting");
    expect(answers().length).toBe(1);
    await tab.press("Check now");
    await expect.poll(() => answers().length).toBe(2);
    await tab.press("Stop the call");
    await tab.press("Yes, stop the call");
    await expect.poll(() => state(id)).toBe("stopped");
    expect(answers().length).toBe(2);
    expect(tab.outside).toEqual([url]);
    tab.outside.length = 0;
  });
});
