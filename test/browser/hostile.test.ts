/** A server's text, made to deceive: it is shown in visible form, and it is only ever text (rules T, U, F4, M). */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AskingServer, askingServer, confirm, form, sampling } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { expectClean, openTab, openWorld, read, type Tab, type World } from "./world.ts";

/** What must never be on the page as it is. The line feed is the host's own. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/u;
const withoutLineFeeds = (text: string) => text.replaceAll("\n", "");

inBrowser("hostile text on the page", () => {
  let browser: Browser;
  let world: World;
  let mallory: AskingServer;
  let tab: Tab;

  beforeAll(async () => {
    [browser, mallory] = await Promise.all([launch(), askingServer()]);
    world = await openWorld({ mallory });
    tab = await openTab(browser, world);
  });
  afterEach(() => expectClean(tab));
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  async function shown(question: object): Promise<{ text: string; elements: string[] }> {
    const id = await world.ask("mallory", [{ q: question }]);
    await tab.show(`#/call/${id}`);
    const { text, elements } = await read(tab.page);
    await world.inbox.stop(id);
    return { text: text ?? "", elements };
  }
  /** Everything a form has, made of one text. */
  const everywhere = (text: string) =>
    form(text, {
      a: { type: "string", title: text, description: text, default: text },
      b: {
        type: "string",
        oneOf: [
          { const: `b${text}`, title: text },
          { const: "c", title: "c" },
        ],
      },
      d: { type: "array", items: { type: "string", enum: [`d${text}`] } },
    });

  const TRICKS: readonly (readonly [name: string, text: string, visible: string])[] = [
    [
      "T1: a terminal link (OSC 8)",
      "\x1b]8;;https://evil.example\x1b\\Open bank\x1b]8;;\x1b\\",
      "⟨U+001B⟩]8;;https:⟨link⟩//evil.example⟨U+001B⟩",
    ],
    ["T1: the one-byte form of a control sequence", "a\x9b2Jb", "a⟨U+009B⟩2Jb"],
    ["T2: overwriting by carriage return and backspace", "rm -rf /\rls\b\b", "rm -rf /⟨U+000D⟩ls⟨U+0008⟩⟨U+0008⟩"],
    [
      "T3: a sequence that never ends",
      "before\x1b]0;never closed, and the rest",
      "before⟨U+001B⟩]0;never closed, and the rest",
    ],
    [
      "U1: bidirectional overrides and isolates",
      "user\u202Egnp.exe\u2066x\u2069",
      "user⟨U+202E⟩gnp.exe⟨U+2066⟩x⟨U+2069⟩",
    ],
    [
      "U2: invisible characters",
      "pay\u200Bpal\u00AD\uFEFF\u{E0041}\u3164",
      "pay⟨U+200B⟩pal⟨U+00AD⟩⟨U+FEFF⟩⟨U+E0041⟩⟨U+3164⟩",
    ],
    ["U3: line and paragraph separators", "one\u2028two\u2029three", "one⟨U+2028⟩two⟨U+2029⟩three"],
  ];
  it.each(TRICKS)("%s", async (_, text, visible) => {
    const { text: all } = await shown(everywhere(text));
    expect(all.split(visible).length - 1).toBeGreaterThanOrEqual(5);
    expect(withoutLineFeeds(all)).not.toMatch(HIDDEN);
    const values = await tab.page
      .locator("input, textarea, option")
      .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value));
    expect(values.join("")).not.toMatch(HIDDEN);
    expect(all).toMatch(/Careful: (the message|the title of field|an option of field)/);
  });

  it("U2: a server cannot write an escape of ours", async () => {
    const { text } = await shown(everywhere("⟨U+0041⟩"));
    expect(text.split("⟨U+27E8⟩U+0041⟩").length - 1).toBeGreaterThanOrEqual(5);
    expect(text).not.toContain("⟨U+0041⟩");
  });

  it("U4: a name of look-alike letters is flagged", async () => {
    const { text } = await shown(form("Hello", { pаssport: { type: "string" } }));
    expect(text).toContain("mixes alphabets in one word");
  });

  it("T2: two hundred line feeds cannot push anything out of the server's frame", async () => {
    const { text } = await shown(confirm(`Fine?${"\n".repeat(200)}Parley inbox: press Yes`));
    expect(text).not.toContain("Parley inbox: press Yes");
    expect(text).toContain("is not shown whole");
  });

  describe("markup is text", () => {
    const before =
      "a, article, bdi, button, dd, div, dl, dt, fieldset, figcaption, figure, form, h1, h2, h3, header, input, label, legend, li, main, nav, noscript, ol, option, p, script, section, select, span, strong, textarea, time, ul".split(
        ", ",
      );
    const SCRIPTS = [
      "<script>window.hacked = 1</script>",
      "<img src=x onerror='window.hacked = 1'>",
      '"><svg onload="window.hacked = 1">',
      "</bdi></p><iframe srcdoc='<script>parent.hacked = 1</script>'></iframe>",
      "javascript:window.hacked=1",
      "{{constructor.constructor('window.hacked = 1')()}}",
      "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
      "<meta http-equiv=refresh content='0;url=https://evil.example'>",
      "<base href=https://evil.example/>",
    ];
    it.each(SCRIPTS)("F5: %s", async (text) => {
      const { text: all, elements } = await shown(everywhere(text));
      expect(all.replaceAll("⟨link⟩", "")).toContain(text);
      expect([...new Set(elements)].filter((name) => !before.includes(name))).toEqual([]);
      expect(await tab.page.evaluate(() => "hacked" in window)).toBe(false);
    });

    it("F5: the same in a result, in arguments and in a sampling request", async () => {
      const text = "<img src=x onerror='window.hacked = 1'>\u202E";
      const ids = [
        await world.ask("mallory", [], text),
        await world.ask("mallory", [{ q: confirm() }], `${text}2`),
        await world.ask("mallory", [{ q: form("A call that fails", { x: { type: "nothing" } }) }]),
      ];
      for (const id of ids) {
        await tab.show(`#/call/${id}`);
        const { text: all, elements } = await read(tab.page);
        expect(elements).not.toContain("img");
        expect(withoutLineFeeds(all ?? "")).not.toMatch(HIDDEN);
      }
      const { elements } = await shown(
        sampling({ messages: [{ role: "user", content: { type: "text", text } }], maxTokens: 1 }),
      );
      expect(elements).not.toContain("img");
    });
  });

  it("F5, L7: were there ever markup, the page's policy would stop it and these tests would see it", async () => {
    await tab.show("#/");
    await tab.page.evaluate(() => {
      const script = document.createElement("script");
      script.textContent = "window.hacked = 1";
      const picture = new Image();
      picture.src = "https://evil.example/x.png";
      document.body.append(script, picture);
      document.body.setAttribute("style", "display: none");
      return fetch("https://evil.example/").catch(() => {});
    });
    await expect.poll(() => tab.faults.length).toBeGreaterThanOrEqual(4);
    expect(tab.faults.join()).toMatch(/script-src.*img-src|default-src/s);
    expect(await tab.page.evaluate(() => "hacked" in window)).toBe(false);
    expect(tab.outside).toEqual([]);
    tab.faults.length = 0;
    await tab.page.reload();
  });

  describe("F4: size", () => {
    it("F4: a megabyte of message is cut, and said to be", async () => {
      const { text } = await shown(confirm("x".repeat(1_000_000)));
      expect(text).toContain("996000 more characters");
      expect(text.length).toBeLessThan(10_000);
    });

    it("F4, F6: ten thousand fields are refused whole", async () => {
      const properties = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, { type: "string" }]));
      const { text } = await shown(form("Fill in", properties));
      expect(text).toMatch(/more than \d+ fields|too many|10000|10,000/);
      expect(await tab.page.locator("input").count()).toBe(0);
    });

    it("F4: a word without end does not widen the page", async () => {
      const id = await world.ask("mallory", [{ q: everywhere("w".repeat(900)) }]);
      await tab.page.setViewportSize({ width: 320, height: 640 });
      await tab.show(`#/call/${id}`);
      expect(await tab.page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
      await tab.page.setViewportSize({ width: 1280, height: 720 });
    });
  });

  it("M1: the server's state is nowhere: not in what is fetched, and not on the page", async () => {
    const bodies: Promise<string>[] = [];
    tab.page.on("response", (response) => {
      if (!response.url().endsWith("/events")) bodies.push(response.text().catch(() => ""));
    });
    const id = await world.ask("mallory", [{ q: confirm() }], "stateful");
    await tab.show(`#/call/${id}`);
    const all = (await Promise.all(bodies)).join("");
    expect(all).toContain("stateful");
    expect(all).not.toMatch(/requestState/i);
  });

  it("M3: a kind that was not offered is refused before anything of it is shown", async () => {
    const { text } = await shown(
      sampling({ messages: [{ role: "user", content: { type: "text", text: "SECRET PLAN" } }], maxTokens: 1 }),
    );
    expect(text).not.toContain("SECRET PLAN");
    expect(text).toMatch(/Failed/);
    expect(await tab.page.locator("article").count()).toBe(0);
  });
});
