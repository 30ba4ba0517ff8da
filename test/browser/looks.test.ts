/** The page for everybody: contrast, labels, order, small windows; and how much of it there is. */
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { AxeBuilder } from "@axe-core/playwright";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type AskingServer, askingServer, confirm, form, link, sampling } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { PROBES } from "./probes.ts";
import { expectClean, openTab, openWorld, type Tab, type World } from "./world.ts";

const PAGE = new URL("../../dist/inbox/page/", import.meta.url);

describe("the built page", () => {
  it("is three files, without source map, inline script, inline style or anything from elsewhere", () => {
    expect(readdirSync(PAGE).sort()).toEqual(["app.css", "app.js", "index.html"]);
    const html = readFileSync(new URL("index.html", PAGE), "utf8");
    expect(html).not.toMatch(/<style|style=|\son\w+=|https?:/);
    expect([...html.matchAll(/<script[^>]*>/g)].map(([tag]) => tag)).toEqual([
      '<script type="module" crossorigin src="/app.js">',
    ]);
    for (const name of ["app.js", "app.css"]) {
      const text = readFileSync(new URL(name, PAGE), "utf8");
      expect(text).not.toMatch(/sourceMappingURL|@import|url\(/);
    }
    expect(readFileSync(new URL("app.js", PAGE), "utf8")).not.toMatch(
      /dangerouslySetInnerHTML\s*:|\.insertAdjacentHTML|document\.write/,
    );
  });

  it("is under 60 kB compressed", () => {
    const bytes = readdirSync(PAGE).map((name) => gzipSync(readFileSync(new URL(name, PAGE))).length);
    expect(bytes.reduce((sum, each) => sum + each, 0)).toBeLessThan(60_000);
  });
});

inBrowser("the page for everybody", () => {
  let browser: Browser;
  let world: World;
  let server: AskingServer;
  const views: [name: string, view: string, prepare?: (tab: Tab) => Promise<unknown>][] = [];

  beforeAll(async () => {
    [browser, server] = await Promise.all([launch(), askingServer()]);
    const model = async () => ({ role: "assistant", content: { type: "text", text: "Done." }, model: "m" }) as never;
    world = await openWorld({ server }, { model, roots: { roots: [{ uri: "file:///srv" }] } });
    const ask = (...rounds: object[]) =>
      world.ask(
        "server",
        rounds.map((question) => ({ q: question })),
      );
    const url = "https://bank.example@xn--pple-43d.evil.example:8443/a?b=c";
    const request = { messages: [{ role: "user", content: { type: "text", text: "Hi\n".repeat(40) } }], maxTokens: 9 };
    views.push(
      [
        "the form with errors",
        `#/call/${await ask(form("Everything", PROBES))}`,
        (tab) => tab.press("Review my answer"),
      ],
      ["the review", `#/call/${await ask(form("Terms\nhttps://evil.example", {}))}`, (tab) => tab.press("Agree")],
      ["a refused question", `#/call/${await ask(form("Log in", { password: { type: "string" } }))}`],
      ["consent to an address", `#/call/${await ask(link(url))}`],
      ["the sampling review", `#/call/${await ask(sampling(request))}`],
      ["the sampling editor", `#/call/${await ask(sampling(request))}`, (tab) => tab.press("Change it first")],
      [
        "the review of an answer",
        `#/call/${await ask(sampling(request))}`,
        async (tab) => {
          if ((await tab.page.getByRole("button", { name: "Run it" }).count()) > 0) await tab.press("Run it");
          await tab.page.getByRole("heading", { name: "What your model answered" }).waitFor();
        },
      ],
      [
        "a page that did not open",
        `#/call/${await ask(link("https://bank.example/"))}`,
        async (tab) => {
          await tab.page.evaluate(() => {
            window.open = () => {
              throw new Error("blocked");
            };
          });
          await tab.press("Open bank.example");
          await tab.page.getByRole("heading", { name: "The browser did not open the page" }).waitFor();
        },
      ],
      ["folders", `#/call/${await ask({ method: "roots/list" })}`],
      [
        "two questions, one to be stopped",
        `#/call/${await world.ask("server", [{ a: confirm(), b: confirm() }])}`,
        (tab) => tab.press("Stop the call"),
      ],
      ["an ended call", `#/call/${await ask()}`],
      ["the inbox", "#/"],
      ["a call to start", "#/start/server", (tab) => tab.page.getByRole("radio", { name: /^ask/ }).check()],
      ["a call to start with JSON", "#/start/server", (tab) => tab.page.getByRole("radio", { name: /^deep/ }).check()],
      ["a call that is not there", "#/call/unknown"],
    );
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  async function each(tab: Tab, check: (name: string) => Promise<void>) {
    for (const [name, view, prepare] of views) {
      await tab.show(view);
      await prepare?.(tab);
      await tab.settled();
      await check(name);
    }
    expectClean(tab);
    await tab.close();
  }

  it.each(["light", "dark"] as const)("axe finds nothing on any view, in %s", async (colorScheme) => {
    const tab = await openTab(browser, world, { colorScheme, reducedMotion: "reduce" });
    await each(tab, async (name) => {
      const all = new AxeBuilder({ page: tab.page }).setLegacyMode();
      // The colours are what differs in the dark.
      const { violations } = await (colorScheme === "dark" ? all.withRules(["color-contrast"]) : all).analyze();
      const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
      expect(found, name).toEqual([]);
    });
  });

  it("nothing has to be scrolled sideways in 320 pixels, nor with text of twice the size in 640", async () => {
    const tab = await openTab(browser, world);
    const resize = async (width: number, fontSize: string) => {
      await tab.page.setViewportSize({ width, height: 640 });
      await tab.page.evaluate((size) => {
        document.documentElement.style.fontSize = size;
      }, fontSize);
      return tab.page.evaluate(() => document.documentElement.scrollWidth);
    };
    await each(tab, async (name) => {
      expect(await resize(320, ""), name).toBe(320);
      expect(await resize(640, "200%"), name).toBe(640);
    });
  });

  it("each view has one first heading, which has the focus, and the landmarks around it", async () => {
    const tab = await openTab(browser, world);
    for (const [name, view] of views) {
      await tab.show(view);
      expect(await tab.page.evaluate(() => document.activeElement?.localName), name).toBe("h1");
      expect(await tab.page.locator("h1").count(), name).toBe(1);
      for (const landmark of ["banner", "main"] as const)
        expect(await tab.page.getByRole(landmark).count(), name).toBe(1);
    }
    await tab.close();
  });

  it("what has the focus by keyboard can be seen", async () => {
    const tab = await openTab(browser, world);
    await tab.show("#/");
    await tab.page.keyboard.press("Tab");
    const outline = await tab.page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle);
    expect(outline).toBe("solid");
    await tab.close();
  });

  it("an empty inbox says what it is for", async () => {
    const servers = { quiet: await askingServer() };
    const empty = await openWorld(servers);
    const tab = await openTab(browser, empty);
    await tab.page.getByRole("heading", { name: "Nothing waits for you" }).waitFor();
    const { violations } = await new AxeBuilder({ page: tab.page }).analyze();
    expect(violations.map(({ id }) => id)).toEqual([]);
    await tab.close();
    await empty.close();
  });
});
