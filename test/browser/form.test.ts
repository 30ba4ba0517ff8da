/** Forms on the page: filled, reviewed and sent, against real servers (rules F and I, requirements D17 to D26). */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type AskingServer, askingServer, confirm, form, parleyServer } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { fillProbes, OWN_PROBES, PROBE_ANSWERS, PROBES, sendByKeyboard } from "./probes.ts";
import { showQuestion } from "./question.ts";
import { expectClean, openTab, openWorld, read, type Tab, type World } from "./world.ts";

inBrowser("forms on the page", () => {
  let browser: Browser;
  let world: World;
  let deploys: AskingServer;
  let tab: Tab;

  beforeAll(async () => {
    [browser, deploys] = await Promise.all([launch(), askingServer()]);
    const schema = { type: "object", properties: OWN_PROBES, required: Object.keys(OWN_PROBES) };
    const flows = await parleyServer({ message: "Everything, please", schema });
    world = await openWorld({ deploys, flows });
    tab = await openTab(browser, world);
  });
  afterEach(() => expectClean(tab));
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  const asked = (question: object, script?: string) =>
    showQuestion({ world, tab, name: "deploys", server: deploys }, [{ q: question }], script);
  const review = () => tab.press("Review my answer");
  const send = () => tab.press("Send this answer");

  describe("every kind of field by keyboard alone", () => {
    it("F8, B33: round-trips exactly against a server written on the SDK", async () => {
      const { answer } = await asked(form("Everything, please", PROBES));
      await fillProbes(tab);
      expect(await answer()).toEqual({ action: "accept", content: PROBE_ANSWERS });
    });

    it("F8, B33: round-trips exactly against our own server", async () => {
      const id = await world.ask("flows", []);
      await tab.show(`#/call/${id}`);
      await fillProbes(tab, OWN_PROBES);
      await expect.poll(async () => (await world.inbox.call(id)).state).toBe("complete");
      const { result } = await world.inbox.call(id);
      expect(JSON.parse(result?.text.text ?? "")).toEqual({ ...PROBE_ANSWERS, legacy: undefined });
    });

    it("F8, B33: an empty property list is agreed to", async () => {
      const { answer } = await asked(form("Terms apply", {}));
      await sendByKeyboard(tab, "Agree", "Send my agreement");
      expect(await answer()).toEqual({ action: "accept", content: {} });
    });

    it("F8: a long list of choices is filled by keyboard, too", async () => {
      const many = Array.from({ length: 12 }, (_, at) => (at === 0 ? "" : `c${at}`));
      const { answer } = await asked(form("Which?", { c: { type: "string", enum: many } }));
      await tab.page.locator("select").focus();
      await tab.page.keyboard.press("ArrowDown");
      await tab.page.keyboard.press("ArrowDown");
      await sendByKeyboard(tab, "Review my answer", "Send this answer");
      expect(await answer()).toEqual({ action: "accept", content: { c: "c1" } });
    });
  });

  describe("the four ways to end a question", () => {
    it("D25: decline and cancel are told apart, and carry no content", async () => {
      const first = await asked(confirm());
      await tab.press(/^Decline/);
      expect(await first.answer()).toEqual({ action: "decline" });
      const second = await asked(confirm());
      await tab.press(/^Dismiss/);
      expect(await second.answer()).toEqual({ action: "cancel" });
    });

    it("D1: leaving the page, or stopping the call, sends nothing at all", async () => {
      const { id, answers } = await asked(confirm());
      await tab.page.keyboard.press("Escape");
      await tab.page.evaluate(() => {
        location.hash = "#/";
      });
      await tab.show(`#/call/${id}`);
      expect((await world.inbox.call(id)).state).toBe("waiting");
      await tab.press("Stop the call");
      expect(answers()).toEqual([]);
      await tab.press("Yes, stop the call");
      await expect.poll(async () => (await world.inbox.call(id)).state).toBe("stopped");
      expect(answers()).toEqual([]);
    });
  });

  describe("defaults are not consent", () => {
    it("F2: a confirmation is never ticked beforehand, and says what the default was", async () => {
      const { answers, answer } = await asked(form("Delete all?", { yes: { type: "boolean", default: true } }));
      expect(await tab.page.locator("input:checked").count()).toBe(0);
      expect(await tab.page.locator(".rules").textContent()).toContain("the server’s default: “Yes”");
      await review();
      expect(await tab.page.locator(".problem").textContent()).toBe("This field is required.");
      expect(answers()).toEqual([]);
      await tab.page.getByLabel("No", { exact: true }).check();
      await review();
      await send();
      expect(await answer()).toEqual({ action: "accept", content: { yes: false } });
    });

    it("F2, D22: other defaults stand in the answer where they are seen, and go when they are taken out", async () => {
      const properties = {
        n: { type: "integer", default: 3 },
        s: { type: "string", default: "text" },
        b: { type: "boolean", default: true },
        c: { type: "string", enum: ["x", "y"], default: "y" },
        m: { type: "array", items: { type: "string", enum: ["x", "y"] }, default: ["x"] },
      };
      const { answer } = await asked(form("Fine?", properties, []));
      expect(
        await tab.page
          .locator("input[type=text]")
          .evaluateAll((all) => all.map((one) => (one as HTMLInputElement).value)),
      ).toEqual(["3", "text"]);
      await tab.page.locator("#question-1-1").fill("");
      await tab.page.locator("#question-1-2-group").getByText("Leave it empty").click();
      await tab.page.locator("#question-1-4").uncheck();
      await review();
      expect(await tab.page.locator(".answers dd").allInnerTexts()).toEqual([
        "3",
        "(left empty)",
        "(left empty)",
        "y",
        "(none chosen)",
      ]);
      await send();
      expect(await answer()).toEqual({ action: "accept", content: { n: 3, c: "y", m: [] } });
    });

    it("F2, U2: a default that hides something is shown escaped, and stands only when asked for", async () => {
      const hidden = "safe\u202Etxt.exe";
      const { answer } = await asked(form("Name?", { file: { type: "string", default: hidden } }));
      expect(await tab.page.locator("#question-1-0").inputValue()).toBe("");
      await tab.press("Use the server’s default");
      expect((await read(tab.page)).text).toContain("safe⟨U+202E⟩txt.exe");
      await review();
      expect(await tab.page.locator(".review").textContent()).toContain("safe⟨U+202E⟩txt.exe");
      await send();
      expect(await answer()).toEqual({ action: "accept", content: { file: hidden } });
    });
  });

  describe("answers are checked before they are sent", () => {
    it("F7, D21: everything that is missing or wrong is said, and the form stays as it was", async () => {
      const properties = {
        mail: { type: "string", format: "email" },
        n: { type: "integer", maximum: 9 },
        c: { type: "string", enum: ["x", "y"] },
      };
      const { answers, answer } = await asked(form("Details", properties));
      const box = tab.page.getByRole("textbox");
      await box.nth(0).fill("nobody");
      await box.nth(0).press("Tab");
      await expect.poll(() => tab.page.locator(".problem").count()).toBe(1);
      await box.nth(1).fill("12");
      await review();
      expect(answers()).toEqual([]);
      await expect
        .poll(() => tab.page.locator(".problem").allInnerTexts())
        .toEqual([
          "This must be an e-mail address such as name@example.com.",
          "This must be at most 9.",
          "This field is required.",
        ]);
      expect(await box.nth(0).getAttribute("aria-invalid")).toBe("true");
      const described = (await box.nth(0).getAttribute("aria-describedby")) ?? "";
      expect(await tab.page.locator(`#${described.split(" ").at(-1)}`).textContent()).toContain("e-mail address");
      await expect
        .poll(() => tab.page.evaluate(() => document.activeElement?.textContent))
        .toContain("Nothing was sent. 3 fields need another look");
      await tab.press("mail");
      await expect.poll(() => tab.page.evaluate(() => document.activeElement?.id)).toBe("question-1-0");
      expect(await box.nth(1).inputValue()).toBe("12");
      await box.nth(0).fill("a@example.com");
      await expect.poll(() => tab.page.locator(".problem").count()).toBe(2);
      await box.nth(1).fill("9");
      await tab.page.getByLabel("y", { exact: true }).check();
      await review();
      await send();
      expect(await answer()).toEqual({ action: "accept", content: { mail: "a@example.com", n: 9, c: "y" } });
    });

    it("D19: the review leads back to the form, with everything still there", async () => {
      const { answer, answers } = await asked(form("Name?", { name: { type: "string" } }));
      await tab.page.getByRole("textbox").fill("first");
      await review();
      expect(await tab.page.locator(".answers").textContent()).toContain("“first”");
      expect(await tab.page.locator(".review .frame").textContent(), "what is agreed to").toContain("Name?");
      await tab.press("Change something");
      await tab.page.getByRole("textbox").fill("second");
      expect(answers()).toEqual([]);
      await review();
      await send();
      expect(await answer()).toEqual({ action: "accept", content: { name: "second" } });
    });

    it("F3: a hostile pattern costs nothing, and is said not to be checked", async () => {
      const { answer } = await asked(form("Name?", { name: { type: "string", pattern: "^(a+)+$" } }));
      expect(await tab.page.locator(".warnings").allInnerTexts()).toEqual([
        expect.stringContaining("rules that are not checked here"),
      ]);
      await tab.page.getByRole("textbox").fill(`${"a".repeat(60)}!`);
      await review();
      await send();
      expect(await answer()).toEqual({ action: "accept", content: { name: `${"a".repeat(60)}!` } });
    });

    it("F4: a field may be called constructor or toString; one called __proto__ is refused, and said to be", async () => {
      const names = ["constructor", "toString", "hasOwnProperty"];
      const { answer } = await asked(
        form("Names", Object.fromEntries(names.map((name) => [name, { type: "string" }]))),
      );
      await review();
      await expect.poll(() => tab.page.locator(".problem").count()).toBe(3);
      for (const at of [0, 1, 2]) await tab.page.getByRole("textbox").nth(at).fill(`v${at}`);
      await review();
      await send();
      expect(JSON.stringify(await answer())).toBe(
        '{"action":"accept","content":{"constructor":"v0","toString":"v1","hasOwnProperty":"v2"}}',
      );
      const { answers } = await asked(form("Names", JSON.parse('{"__proto__":{"type":"string"}}'), []));
      await tab.page
        .getByText("“__proto__” cannot be shown")
        .or(tab.page.getByText('"__proto__" cannot be shown'))
        .first()
        .waitFor();
      expect(answers()).toEqual([]);
    });
  });

  it("answers of one round are kept and go out together", async () => {
    const id = await world.ask("deploys", [{ a: confirm("One?"), b: confirm("Two?") }]);
    const before = deploys.answers.length;
    await tab.show(`#/call/${id}`);
    await tab.press(/^Decline/);
    await tab.page.getByText("Declined by a person").first().waitFor();
    expect(deploys.answers.length).toBe(before);
    await tab.press(/^Dismiss/);
    await expect.poll(() => deploys.answers.length).toBe(before + 1);
    expect(deploys.answers.at(-1)).toEqual({ a: { action: "decline" }, b: { action: "cancel" } });
  });
});
