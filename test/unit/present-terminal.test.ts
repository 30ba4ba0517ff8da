import { clearInterval, setInterval } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import type { Responders } from "../../src/calls/responder.ts";
import { ParleyError } from "../../src/errors.ts";
import { type TerminalOptions, terminalAvailable, terminalResponders } from "../../src/present/index.ts";
import { GuardedOutput } from "../../src/present/terminal/guard.ts";
import type { ElicitFormParams, SamplingParams, SamplingResult } from "../../src/protocol/types.ts";
import { done, form, inOrder, interim, scripted } from "./calls-peer.ts";
import { CTRL_C, contextOf, DOWN, ENTER, ESC, FakeTerminal, UP } from "./present-fake-terminal.ts";

const FORM: ElicitFormParams = {
  message: "Name?",
  requestedSchema: { type: "object", properties: { name: { type: "string" } } },
};
const PROMPT: SamplingParams = {
  maxTokens: 50,
  messages: [{ role: "user", content: { type: "text", text: "Sum up." } }],
};

function responders(terminal: FakeTerminal, options: TerminalOptions = {}) {
  return terminalResponders({ input: terminal.input, output: terminal.output, settleMs: 2, ...options });
}

/** The error a promise ends with; it fails when the promise does not fail. */
async function failure(promise: Promise<unknown>): Promise<ParleyError> {
  const error = await promise.then(
    (value) => new Error(`answered: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ParleyError);
  return error as ParleyError;
}

describe("B17/B30: only what can be served is offered", () => {
  test("with a terminal: forms and addresses; more only when configured", () => {
    const terminal = new FakeTerminal();
    expect(Object.keys(responders(terminal))).toEqual(["form", "url"]);
    const all = responders(terminal, {
      model: async () => ({}) as SamplingResult,
      modelTools: true,
      roots: { roots: [] },
    });
    expect(Object.keys(all)).toEqual(["form", "url", "sample", "sampleTools", "roots"]);
  });

  test.each(["input", "output"] as const)("without a terminal at its %s: nothing", (end) => {
    const terminal = new FakeTerminal();
    expect(terminalAvailable(terminal.input, terminal.output)).toBe(true);
    terminal[end].isTTY = false;
    expect(terminalAvailable(terminal.input, terminal.output)).toBe(false);
    expect(responders(terminal)).toEqual({});
  });

  test.each([
    ["settleMs", { settleMs: -1 }],
    ["file:", { roots: { roots: [{ uri: "https://a.example" }] } }],
    ['without ".."', { roots: { roots: [{ uri: "file:///a/%2e%2E/b" }] } }],
  ])("a bad option is a configuration error that names %s", (name, options) => {
    expect(() => responders(new FakeTerminal(), options)).toThrow(expect.objectContaining({ code: "configuration" }));
    expect(() => responders(new FakeTerminal(), options)).toThrow(name);
  });
});

describe("B32/B40/D1: the surface never answers by itself", () => {
  test("a declared surface without a terminal fails at once, naming key and server", async () => {
    const terminal = new FakeTerminal();
    terminal.input.isTTY = false;
    const offered = responders(terminal, {
      declareWithoutTerminal: true,
      model: async () => ({}) as SamplingResult,
      roots: { roots: [] },
    });
    const start = performance.now();
    const asked = [
      offered.form!(FORM, contextOf()),
      offered.url!({ mode: "url", message: "x", url: "https://a.example" }, contextOf()),
      offered.sample!(PROMPT, contextOf()),
      offered.roots!(contextOf()),
    ];
    for (const one of asked) {
      const error = await failure(one);
      expect(error).toMatchObject({ code: "unanswerable", details: { key: "window", server: "deploy-server" } });
      expect(error.message).toMatch(/“window” of server “deploy-server”/);
    }
    expect(performance.now() - start).toBeLessThan(500);
    expect(terminal.output.written).toBe("");
  });

  test.each([
    ["ends", (terminal: FakeTerminal) => terminal.input.end()],
    ["breaks", (terminal: FakeTerminal) => terminal.input.destroy(new Error("EIO"))],
  ])("a keyboard that %s while the question is open is no answer", async (_name, stop) => {
    const terminal = new FakeTerminal();
    const answer = failure(responders(terminal).form!(FORM, contextOf()));
    await terminal.shows("Answer?");
    stop(terminal);
    expect(await answer).toMatchObject({ code: "unanswerable" });
  });

  test("a call that ends takes its question off the screen, unanswered", async () => {
    const terminal = new FakeTerminal();
    const call = new AbortController();
    const answer = failure(responders(terminal).form!(FORM, contextOf({ signal: call.signal })));
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for", "half");
    call.abort(new ParleyError("human_timeout", "Too late."));
    expect(await answer).toMatchObject({ code: "human_timeout" });
    expect(terminal.input.raw).toBe(false);
    expect(terminal.input.listenerCount("keypress")).toBe(0);
  });

  test("a call that ended before is never shown", async () => {
    const terminal = new FakeTerminal();
    const error = await failure(responders(terminal).form!(FORM, contextOf({ signal: AbortSignal.abort() })));
    expect(error.code).toBe("aborted");
    expect(terminal.output.written).toBe("");
  });

  test("a form handed to the url responder, or the reverse, is refused", async () => {
    const terminal = new FakeTerminal();
    expect((await failure(responders(terminal).url!(FORM as never, contextOf()))).code).toBe("invalid_interim");
    const url = { mode: "url", message: "x", url: "https://a.example" } as const;
    expect((await failure(responders(terminal).form!(url as never, contextOf()))).code).toBe("invalid_interim");
  });
});

describe("B29: one question at a time", () => {
  test("two at once are shown one after the other, and a waiting one can be taken back", async () => {
    const terminal = new FakeTerminal();
    const { form } = responders(terminal);
    const call = new AbortController();
    const first = form!(FORM, contextOf({ key: "one" }));
    const second = failure(form!(FORM, contextOf({ key: "two", signal: call.signal })));
    const third = responders(terminal).form!(FORM, contextOf({ key: "three" }));
    await terminal.shows("Answer?");
    expect(terminal.text).toContain("question “one”");
    call.abort();
    expect((await second).code).toBe("aborted");
    await setTimeout(20);
    expect(terminal.text).not.toContain("question “t");
    terminal.input.write(ESC);
    expect(await first).toEqual({ action: "cancel" });
    await terminal.shows("question “three”");
    await terminal.at("Answer?", ESC);
    expect(await third).toEqual({ action: "cancel" });
    expect(terminal.text).not.toContain("question “two”");
  });
});

describe("D1/F6: Ctrl-C ends the call, Escape one question", () => {
  const roots = { roots: [{ uri: "file:///w" }] };
  const model = async () => ({}) as SamplingResult;
  const link = { mode: "url", message: "x", url: "https://a.example" } as const;
  test.each<[string, string, (offered: Responders) => Promise<unknown>]>([
    ["a form", "Answer?", ({ form }) => form!(FORM, contextOf())],
    ["an address", "Visit this", ({ url }) => url!(link, contextOf())],
    ["a repeated address", "still waiting", ({ url }) => url!(link, contextOf({ repeated: true }))],
    ["sampling", "Give this", ({ sample }) => sample!(PROMPT, contextOf())],
    ["roots", "Tell the server?", (offered) => offered.roots!(contextOf())],
  ])("at %s", async (_name, prompt, put) => {
    const terminal = new FakeTerminal();
    const answer = failure(put(responders(terminal, { roots, model })));
    await terminal.shows("Ctrl-C ends the call");
    await terminal.at(prompt, CTRL_C);
    expect(await answer).toMatchObject({ code: "aborted", details: { key: "window", server: "deploy-server" } });
  });

  test("also while a prompt is about to be drawn, and with a key that repeats", async () => {
    const terminal = new FakeTerminal();
    const answer = failure(responders(terminal, { settleMs: 200 }).form!(FORM, contextOf()));
    const repeat = setInterval(() => terminal.input.write(CTRL_C), 20);
    expect(await answer).toMatchObject({ code: "aborted" });
    clearInterval(repeat);
    expect(terminal.text).not.toContain("Answer?");
    expect(terminal.input.raw).toBe(false);
  });

  test("a call of many questions is left at the first, and its server hears nothing", async () => {
    const terminal = new FakeTerminal();
    const keys = Array.from({ length: 30 }, (_, at) => `q${at}`);
    const peer = await scripted(inOrder(interim(Object.fromEntries(keys.map((key) => [key, form()])), "s"), done()));
    const warned = vi.fn();
    process.on("warning", warned);
    const call = peer.calls({ responders: responders(terminal) }).callTool({ name: "deploy" });
    const ended = failure(call);
    await terminal.at("Agree to what", ESC);
    await terminal.at("Agree to what", CTRL_C);
    expect(await ended).toMatchObject({ code: "aborted", message: expect.stringContaining("“q1”") });
    await setTimeout(50);
    expect(terminal.text).not.toContain("question “q2”");
    process.off("warning", warned);
    expect(warned).not.toHaveBeenCalled();
    expect(peer.requests).toHaveLength(1);
  });
});

describe("F1/B35: secrets", () => {
  const form: ElicitFormParams = {
    message: "Sign in",
    requestedSchema: { type: "object", properties: { apiKey: { type: "string", minLength: 3 } } },
  };
  test("refused with a warning that names the server; nothing can be typed", async () => {
    const terminal = new FakeTerminal();
    const error = await failure(responders(terminal).form!(form, contextOf()));
    expect(error).toMatchObject({ code: "unanswerable" });
    expect(error.message).toContain("asks for a secret in field “apiKey”");
    expect(terminal.text).toContain("server “deploy-server” asks for a secret in field “apiKey”");
  });

  test("allowed by name: typed unseen, sent exactly, never on the screen, not even when it is too short", async () => {
    const terminal = new FakeTerminal();
    const answer = responders(terminal, { allowSecretFields: ["apiKey"] }).form!(form, contextOf());
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for", "zq", ENTER);
    await terminal.at("at least 3", "xw", ENTER);
    await terminal.shows("“apiKey”: ••••••••");
    await terminal.at("Send this", ENTER);
    expect(await answer).toEqual({ action: "accept", content: { apiKey: "zqxw" } });
    expect(terminal.output.written).not.toMatch(/zq|xw/);
  });
});

describe("T1/T2/I2: hostile text on the screen", () => {
  const EVIL =
    "\x1b]8;;https://evil.example\x1b\\Bank\x1b]8;;\x1b\\\x1b[2J\x9b2J\x1b]52;c;aA==\x07\r\b\u202e\u2066\u200b";

  test("no raw control, bidi or invisible character of the server reaches the terminal, in any place", async () => {
    const terminal = new FakeTerminal();
    const answer = responders(terminal).form!(
      {
        message: `${EVIL}\nsecond`,
        requestedSchema: {
          type: "object",
          required: [`t${EVIL}`],
          properties: {
            [`t${EVIL}`]: { type: "string", title: EVIL, description: EVIL, default: EVIL },
            c: { type: "string", oneOf: [{ const: EVIL, title: EVIL }] },
            m: { type: "array", items: { anyOf: [{ const: EVIL, title: EVIL }] }, default: [EVIL] },
          },
        },
      },
      contextOf({
        key: EVIL,
        target: EVIL,
        server: { id: "srv", claimed: { name: EVIL, version: EVIL } },
        params: { arguments: { [EVIL]: EVIL } },
      }),
    );
    await terminal.at("Answer?", ENTER);
    await terminal.at("cannot be edited here", DOWN, ENTER);
    await terminal.at("Choose for", DOWN, ENTER);
    await terminal.at("Choose any for", ENTER);
    await terminal.at("Send this", DOWN, ENTER);
    await terminal.at("Which one?", ESC);
    expect(await answer).toEqual({ action: "cancel" });

    // Taking away only what the prompt library itself writes must leave nothing hidden.
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
    const rest = terminal.output.written.replace(/\x1b\[(\?25[lh]|\d*(;\d+)*[ABCDGJKm])/g, "");
    expect(rest).not.toMatch(/[^\P{C}\n]|[\u2028\u2029]|\p{Default_Ignorable_Code_Point}/u);
    expect(terminal.output.written).not.toContain("\x1b[2J");
    expect(rest).toContain("⟨U+001B⟩]8;;https:⟨link⟩//evil.example");
  });

  test("what the server typed is sent as it is, although it is shown escaped", async () => {
    const terminal = new FakeTerminal();
    const properties = { c: { type: "string" as const, enum: [EVIL] } };
    const answer = responders(terminal).form!(
      { message: "x", requestedSchema: { type: "object", properties } },
      contextOf(),
    );
    await terminal.at("Answer?", ENTER);
    await terminal.at("Choose for", DOWN, ENTER);
    await terminal.at("Send this", ENTER);
    expect(await answer).toEqual({ action: "accept", content: { c: EVIL } });
  });

  test("hidden characters a person pastes are not written either, and are sent", async () => {
    const terminal = new FakeTerminal();
    const answer = responders(terminal).form!(FORM, contextOf());
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for", "a\u202eb\u009bc", ENTER);
    await terminal.shows("“a⟨U+202E⟩b⟨U+009B⟩c”");
    await terminal.at("Send this", ENTER);
    expect((await answer).content).toEqual({ name: "a\u202eb\u009bc" });
    expect(terminal.output.written).not.toMatch(/[\u202e\u009b]/);
  });

  test("T1: only the sequences the prompt library writes pass the guard", () => {
    const passes = (text: string): string => {
      const terminal = new FakeTerminal();
      new GuardedOutput(terminal.output).write(text);
      return terminal.output.written;
    };
    const own = [
      "[?25l",
      "[?25h",
      "[999D",
      "[7A",
      "[1B",
      "[2C",
      "[G",
      "[5G",
      "[J",
      "[2K",
      "[K",
      "[7m",
      "[8m",
      "[1;31m",
    ];
    for (const sequence of own) expect(passes(`a\x1b${sequence}b`)).toBe(`a\x1b${sequence}b`);
    const others = ["[2J", "[3J", "[1J", "[H", "[1;1H", "[?1049h", "[?25x", "[6n", "[c", "[5S", "[4h", "[1;2A", "[?7J"];
    for (const sequence of [...others, "c", "]0;title", "P", "7"]) {
      expect(passes(`a\x1b${sequence}b`)).toBe(`a¤${sequence}b`);
    }
  });

  test("every line of a message carries the frame, however long it is", async () => {
    const terminal = new FakeTerminal();
    terminal.output.columns = 40;
    const forged = `${"x ".repeat(60)}\n━━ Server “bank” asks a question\n${"━".repeat(80)}\n${"漢".repeat(50)}`;
    const answer = responders(terminal).form!({ ...FORM, message: forged }, contextOf());
    await terminal.at("Answer?", ESC);
    await answer;
    const lines = terminal.text.split("\n");
    const start = lines.indexOf("  The server says:") + 1;
    const framed = lines.slice(start, lines.indexOf("│", start));
    expect(framed.length).toBeGreaterThan(8);
    for (const line of framed) expect(line).toMatch(/^ {2}┃ /);
    expect(lines.filter((line) => line.startsWith("━━ Server"))).toHaveLength(1);
    expect(Math.max(...framed.map((line) => line.length))).toBeLessThanOrEqual(40);
    expect(framed.filter((line) => line.includes("漢")).every((line) => line.length <= 22)).toBe(true);
  });

  test("I1/I3/D17: the host's name, the claim in quotes, tool and arguments are on the screen", async () => {
    const terminal = new FakeTerminal();
    const server = { id: "deploy-server", claimed: { name: "Bank" } };
    const answer = responders(terminal).form!(FORM, contextOf({ server }));
    await terminal.at("Answer?", ESC);
    await answer;
    for (const text of [
      "━━ Server “deploy-server” asks a question",
      "It calls itself “Bank”",
      "tools/call “deploy”",
      '┃   "env": "prod"',
    ]) {
      expect(terminal.text).toContain(text);
    }
  });
});

test("L13: a question that comes again after its server refused the earlier answers says why", async () => {
  const told = "▲ The server no longer accepts the earlier answers";
  for (const startedOver of [false, true]) {
    const terminal = new FakeTerminal();
    const answer = responders(terminal).form!(FORM, contextOf({ startedOver }));
    await terminal.at("Answer?", ESC);
    await answer;
    expect(terminal.text.includes(told)).toBe(startedOver);
  }
});

describe("URL mode: L2, L7 to L9, E13 to E24, B36", () => {
  const params = { mode: "url", message: "Sign in.", url: "https://bank.example@login.evil.example/a?b" } as const;

  test("E14/L8: without an opener a yes means the person opens it; Enter alone is not yes", async () => {
    const terminal = new FakeTerminal();
    const answer = responders(terminal).url!(params, contextOf());
    await terminal.shows("https://bank.example@login.evil.example/a?b");
    await terminal.shows("The site: evil.example");
    await terminal.at("Visit this address?", UP, UP, ENTER);
    await terminal.at("Go on as soon as you are done", ENTER);
    expect(await answer).toEqual({ action: "accept" });
    expect(terminal.output.written).toContain("login.\x1b[1mevil.example\x1b[22m/a?b");

    const hasty = new FakeTerminal();
    const other = responders(hasty).url!(params, contextOf());
    await hasty.at("Visit this address?", ENTER);
    expect(await other).toEqual({ action: "cancel" });
  });

  test.each([
    ["decline", [UP, ENTER], "decline"],
    ["escape", [ESC], "cancel"],
    ["dismiss", [ENTER], "cancel"],
  ])("%s: nothing is opened", async (_name, keys, action) => {
    const openUrl = vi.fn(async () => {});
    const terminal = new FakeTerminal();
    const answer = responders(terminal, { openUrl }).url!(params, contextOf());
    await terminal.at("Visit this address?", ...keys);
    expect(await answer).toEqual({ action });
    expect(openUrl).not.toHaveBeenCalled();
  });

  test("L6: the parsed address is opened, once, after the yes; L9: the way back is a choice", async () => {
    const openUrl = vi.fn(async (_href: string) => {});
    const terminal = new FakeTerminal();
    const answer = responders(terminal, { openUrl }).url!({ ...params, url: "HTTPS://A.example/x y" }, contextOf());
    await terminal.shows("Visit this address?");
    expect(openUrl).not.toHaveBeenCalled();
    await terminal.at("", UP, UP, ENTER);
    await terminal.at("Go on as soon", DOWN, ENTER);
    expect(await answer).toEqual({ action: "cancel" });
    expect(openUrl.mock.calls).toEqual([["https://a.example/x%20y"]]);
  });

  test("L8/B36: an opener that fails is a cancel", async () => {
    const terminal = new FakeTerminal();
    const openUrl = async () => {
      throw new Error("no browser \x1b[2J");
    };
    const answer = responders(terminal, { openUrl }).url!(params, contextOf());
    await terminal.at("Visit this address?", UP, UP, ENTER);
    expect(await answer).toEqual({ action: "cancel" });
    expect(terminal.text).toContain("could not be opened");
  });

  test("E24/L9: the same address again is neither asked again nor opened by itself", async () => {
    const openUrl = vi.fn(async () => {});
    const terminal = new FakeTerminal();
    const answer = responders(terminal, { openUrl }).url!(params, contextOf({ repeated: true }));
    await terminal.at("still waiting", ENTER);
    expect(await answer).toEqual({ action: "accept" });
    expect(openUrl).not.toHaveBeenCalled();
    expect(terminal.text).not.toContain("Visit this address?");

    const again = responders(terminal, { openUrl }).url!(params, contextOf({ repeated: true }));
    await terminal.shows("asks you to visit");
    await terminal.at("still waiting", DOWN, ENTER);
    await vi.waitFor(() => expect(openUrl).toHaveBeenCalledTimes(1));
    await setTimeout(50);
    terminal.input.write(ESC);
    expect(await again).toEqual({ action: "cancel" });
    expect(openUrl).toHaveBeenCalledTimes(1);
  });

  test.each([
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "file:///etc/passwd",
    "http://bank.example/",
    `https://a.example/${"x".repeat(4096)}`,
  ])("L1/B36: %s is refused with a reason, and no decline is made up", async (url) => {
    const openUrl = vi.fn(async () => {});
    const terminal = new FakeTerminal();
    const error = await failure(responders(terminal, { openUrl }).url!({ ...params, url }, contextOf()));
    expect(error.code).toBe("unanswerable");
    expect(error.message).toContain("the address cannot be opened safely");
    expect(terminal.text).toContain("cannot be opened safely");
    expect(openUrl).not.toHaveBeenCalled();
  });
});

describe("Sampling: F13 to F15, S1, S2", () => {
  const answerOf = (text: string): SamplingResult => ({
    role: "assistant",
    model: "m1",
    content: { type: "text", text },
  });

  test("without a model it is shown and refused, which is no decline", async () => {
    const terminal = new FakeTerminal();
    const error = await failure(responders(terminal, { showUnservedSampling: true }).sample!(PROMPT, contextOf()));
    expect(error.code).toBe("unanswerable");
    expect(terminal.text).toContain("┃ Sum up.");
    expect(terminal.text).toContain("at most 50 tokens");
  });

  test("request and answer are approved apart", async () => {
    const terminal = new FakeTerminal();
    const model = vi.fn(async () => answerOf("\x1b[2JFine."));
    const answer = responders(terminal, { model }).sample!(PROMPT, contextOf());
    await terminal.shows("Give this to your model?");
    expect(model).not.toHaveBeenCalled();
    await terminal.at("", UP, UP, UP, ENTER);
    await terminal.shows("┃ ⟨U+001B⟩[2JFine.");
    await terminal.at("Send this answer", UP, UP, UP, ENTER);
    expect(await answer).toEqual(answerOf("\x1b[2JFine."));
  });

  test("the prompt and the limit can be changed, and the answer too", async () => {
    const terminal = new FakeTerminal();
    const model = vi.fn(async (_params: SamplingParams) => answerOf("long"));
    const answer = responders(terminal, { model }).sample!({ ...PROMPT, systemPrompt: "Be rude." }, contextOf());
    await terminal.at("Give this", UP, UP, ENTER);
    await terminal.at("Change what?", DOWN, ENTER);
    await terminal.at("The new text", ENTER);
    await terminal.at("Give this", UP, UP, ENTER);
    await terminal.at("Change what?", DOWN, DOWN, ENTER);
    await terminal.at("At most how many", "51", ENTER);
    await terminal.at("from 1 to 50", "\x15", "9", ENTER);
    await terminal.at("Give this", UP, UP, ENTER);
    await terminal.at("Change what?", UP, ENTER);
    await terminal.at("The new text", "Shorter.", ENTER);
    await terminal.at("Give this", UP, UP, UP, ENTER);
    await terminal.at("Send this answer", UP, UP, ENTER);
    await terminal.at("The answer", "short", ENTER);
    await terminal.at("Send this answer", UP, UP, UP, ENTER);
    expect(model.mock.calls[0]?.[0]).toEqual({
      maxTokens: 9,
      messages: [{ role: "user", content: { type: "text", text: "Shorter." } }],
    });
    expect(await answer).toEqual(answerOf("short"));
  });

  test.each([
    ["refusing the request", "request", [UP, ENTER], "input_declined"],
    ["leaving the request", "request", [ESC], "input_cancelled"],
    ["Enter on the request", "request", [ENTER], "input_cancelled"],
    ["refusing the answer", "answer", [UP, ENTER], "input_declined"],
    ["Enter on the answer", "answer", [ENTER], "input_cancelled"],
  ])("%s sends nothing", async (_name, stage, keys, code) => {
    const terminal = new FakeTerminal();
    const model = vi.fn(async () => answerOf("x"));
    const answer = failure(responders(terminal, { model }).sample!(PROMPT, contextOf()));
    if (stage === "answer") await terminal.at("Give this", UP, UP, UP, ENTER);
    await terminal.at(stage === "answer" ? "Send this answer" : "Give this", ...keys);
    expect((await answer).code).toBe(code);
    expect(model).toHaveBeenCalledTimes(stage === "answer" ? 1 : 0);
  });
});

describe("Roots: F23 to F25", () => {
  const roots = { roots: [{ uri: "file:///w/project", name: "Project" }] };
  test.each([
    ["a yes", [UP, UP, ENTER], undefined],
    ["a no", [UP, ENTER], "input_declined"],
    ["Enter alone", [ENTER], "input_cancelled"],
    ["Escape", [ESC], "input_cancelled"],
  ])("the folders are shown, and %s decides", async (_name, keys, code) => {
    const terminal = new FakeTerminal();
    const answer = responders(terminal, { roots }).roots!(contextOf());
    const ended = code === undefined ? answer : failure(answer);
    await terminal.shows("file:///w/project (Project)");
    await terminal.at("Tell the server?", ...keys);
    if (code === undefined) expect(await ended).toEqual(roots);
    else expect(await ended).toMatchObject({ code });
  });
});
