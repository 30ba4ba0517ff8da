/** Use of the person's model, and of their folders, on the page (rules S1 and S2, requirements F12 to F16, F21, F25). */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import type { SamplingParams, SamplingResult } from "../../src/protocol/types.ts";
import { type AskingServer, askingServer, roots, sampling } from "./asking.ts";
import { inBrowser, launch } from "./chromium.ts";
import { showQuestion } from "./question.ts";
import { expectClean, openTab, openWorld, read, type Tab, type World } from "./world.ts";

const REQUEST = {
  systemPrompt: "You write release notes.",
  messages: [
    { role: "user", content: { type: "text", text: "Summarise these commits.\n\n- Faster search" } },
    { role: "assistant", content: { type: "text", text: "Which ones?" } },
    { role: "user", content: { type: "image", data: "AAAA", mimeType: "image/png" } },
  ],
  maxTokens: 400,
  temperature: 0.25,
  stopSequences: ["END"],
};

inBrowser("sampling and folders on the page", () => {
  let browser: Browser;
  let world: World;
  let notes: AskingServer;
  let tab: Tab;
  /** What the model was given, and what it does next. */
  const given: SamplingParams[] = [];
  let answerWith: () => Promise<SamplingResult>;
  const says = (text: string) => async () =>
    ({
      role: "assistant",
      content: { type: "text", text },
      model: "test-model",
      stopReason: "endTurn",
    }) as SamplingResult;

  beforeAll(async () => {
    [browser, notes] = await Promise.all([launch(), askingServer()]);
    world = await openWorld(
      { notes },
      {
        model: (params) => {
          given.push(params);
          return answerWith();
        },
        roots: { roots: [{ uri: "file:///srv/project", name: "Project" }] },
      },
    );
    tab = await openTab(browser, world);
  });
  afterEach(() => {
    given.length = 0;
    expectClean(tab);
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  const asked = (question: object) => showQuestion({ world, tab, name: "notes", server: notes }, [{ q: question }]);
  const run = () => tab.press("Run it with my model");
  const answerShown = () => tab.page.getByRole("heading", { name: "What your model answered" }).waitFor();

  it("S1, F13: all of the request is shown; request and answer are approved apart", async () => {
    answerWith = says("Search is faster.");
    const { id, answer, answers } = await asked(sampling(REQUEST));
    // Hearing of something else is no change of this.
    const fetched = tab.page.waitForResponse(`**/api/calls/${id}`);
    await world.inbox.mute("notes", false);
    await fetched;
    const { text } = await read(tab.page);
    expect(text).not.toContain("With your changes");
    for (const part of [
      "You write release notes.",
      "Summarise these commits.\n\n- Faster search",
      "Which ones?",
      "image of 4 base64 characters, not shown",
      "at most 400 tokens",
      "temperature: 0.25",
      'stops at: ["END"]',
    ]) {
      expect(text).toContain(part);
    }
    expect(given).toEqual([]);
    await run();
    await answerShown();
    expect(given).toEqual([REQUEST]);
    expect(answers().length).toBe(0);
    await tab.press("Send this answer to the server");
    expect(await answer()).toMatchObject({ content: { type: "text", text: "Search is faster." }, model: "test-model" });
  });

  it("S1, F13, F15: prompt, messages and limit can be changed, and what runs is what was read last", async () => {
    answerWith = says("Fine.");
    await asked(sampling(REQUEST));
    await tab.press("Change it first");
    const boxes = tab.page.locator("textarea");
    expect(await boxes.count()).toBe(3);
    // Both in one turn: the page draws nothing in between, and must lose neither.
    await tab.page.evaluate(() => {
      const [prompt, message] = document.querySelectorAll("textarea");
      for (const [box, text] of [
        [prompt, ""],
        [message, "Only one line, please."],
      ] as const) {
        if (box === undefined) continue;
        box.value = text;
        box.dispatchEvent(new Event("input", { bubbles: true }));
      }
    });
    const limit = tab.page.getByLabel("At most this many tokens");
    await limit.fill("401");
    await tab.press("Read it once more");
    await tab.page.getByText("This must be a whole number from 1 to 400.").waitFor();
    await limit.fill("50");
    await tab.press("Read it once more");
    await tab.page.getByText("With your changes. This is what will run.").waitFor();
    expect((await read(tab.page)).text).not.toContain("You write release notes.");
    expect(given).toEqual([]);
    await run();
    await answerShown();
    const { systemPrompt: _gone, ...rest } = REQUEST;
    const [first, ...others] = REQUEST.messages;
    const changed = { ...first, content: { type: "text", text: "Only one line, please." } };
    expect(given).toEqual([{ ...rest, messages: [changed, ...others], maxTokens: 50 }]);
    await tab.press("Refuse: this ends the call");
  });

  it("S1: the answer can be changed before it is sent", async () => {
    answerWith = says("My name is Ada and the search is faster.");
    const { answer } = await asked(sampling(REQUEST));
    await run();
    await answerShown();
    await tab.press("Change it first");
    await tab.page.getByLabel("Answer").fill("The search is faster.");
    await tab.press("Read it once more");
    await tab.page.getByText("With your changes. This is what will be sent.").waitFor();
    await tab.press("Send this answer to the server");
    expect(await answer()).toMatchObject({
      role: "assistant",
      content: { type: "text", text: "The search is faster." },
    });
  });

  it("S1: a request too large to be shown whole cannot be run", async () => {
    const content = { type: "text", text: "a".repeat(200_001) };
    await asked(sampling({ ...REQUEST, messages: [{ role: "user", content }] }));
    expect((await read(tab.page)).text).toContain("too large to be shown whole");
    expect(await tab.page.getByRole("button", { name: "Run it with my model" }).count()).toBe(0);
  });

  it("S2: what the model says is escaped like a server's words, and cannot be edited unseen", async () => {
    answerWith = says("fine\u202E\u200B<img src=x onerror=alert(1)>");
    const { answer } = await asked(sampling(REQUEST));
    await run();
    await answerShown();
    const { text, elements } = await read(tab.page);
    expect(text).toContain("fine⟨U+202E⟩⟨U+200B⟩<img src=x onerror=alert(1)>");
    expect(text).toContain("reorder text");
    expect(elements).not.toContain("img");
    await tab.press("Change it first");
    expect(await tab.page.locator("textarea").count()).toBe(0);
    await tab.press("Write another text");
    await tab.page.getByLabel("Answer").fill("fine");
    await tab.press("Read it once more");
    await tab.press("Send this answer to the server");
    expect(await answer()).toMatchObject({ content: { type: "text", text: "fine" } });
  });

  it("D1, F21: refusing ends the call, and sends nothing", async () => {
    const { id, answers } = await asked(sampling(REQUEST));
    await tab.press("Refuse: this ends the call");
    await expect.poll(async () => (await world.inbox.call(id)).state).not.toBe("waiting");
    expect(answers().length).toBe(0);
    expect(given).toEqual([]);
  });

  it("a model that fails is said to have failed, and can run again", async () => {
    answerWith = async () => {
      throw new Error("out of memory");
    };
    const { answer } = await asked(sampling(REQUEST));
    await run();
    await tab.page.getByText("Your model gave no answer").waitFor();
    answerWith = says("Second try.");
    await run();
    await answerShown();
    await tab.press("Send this answer to the server");
    expect(await answer()).toMatchObject({ content: { type: "text", text: "Second try." } });
  });

  it("F25: folders are listed, and told only after a yes", async () => {
    const { answer, answers } = await asked(roots());
    const { text } = await read(tab.page);
    expect(text).toContain("It would be told of 1 folder:");
    expect(text).toContain("file:");
    expect(text).toContain("(Project)");
    expect(answers().length).toBe(0);
    await tab.press("Tell the server");
    expect(await answer()).toEqual({ roots: [{ uri: "file:///srv/project", name: "Project" }] });
  });
});
