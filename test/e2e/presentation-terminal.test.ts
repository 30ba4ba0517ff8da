/** The rules for showing a server's words, byte by byte on a real pseudo-terminal. Sessions are long, so that they are few. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { FIXTURES, file, MAIN } from "../helpers/cli.ts";
import { hostileText } from "../helpers/hostile.ts";
import {
  CTRL_C,
  canHaveTerminal,
  DOWN,
  ENTER,
  ESC,
  onTerminal,
  rawOn,
  readable,
  type Step,
  UP,
} from "../helpers/terminal.ts";

const CHILD = fileURLToPath(new URL("../fixtures/terminal-questions.mjs", import.meta.url));

interface Asked {
  kind: "form" | "url" | "sample" | "roots";
  params?: object;
  context?: object;
  endWhenShown?: string;
}
interface Session {
  questions: Asked[];
  together?: boolean;
  openerFails?: boolean;
  modelText?: string;
  options?: object;
}

/** Plays a session; `read` is the screen as a person reads it. */
async function session(asked: Session, steps: Step[], seconds = 25) {
  const out = file("");
  const { screen, missed } = await onTerminal(steps, [process.execPath, CHILD, file(asked), out], {
    seconds,
    env: { TZ: "UTC" },
  });
  expect(missed, readable(screen).slice(-3000)).toBeNull();
  const { answers, opened } = JSON.parse(readFileSync(out, "utf8"));
  return { screen, read: readable(screen), answers, opened };
}

const form = (properties: object, message = "Please.", required: string[] = []): Asked => ({
  kind: "form",
  params: { message, requestedSchema: { type: "object", properties, required } },
});
const link = (url: string, context = {}, message = "Visit."): Asked => ({
  kind: "url",
  params: { mode: "url", message, url },
  context,
});
const sampling = (text: string): Asked => ({
  kind: "sample",
  params: {
    maxTokens: 50,
    systemPrompt: text,
    messages: [{ role: "user", content: { type: "text", text } }],
    stopSequences: [text],
    modelPreferences: { hints: [{ name: text }] },
    tools: [{ name: text, inputSchema: { type: "object" } }],
  },
});

const CORPUS = [
  "\x1b]8;;https://evil.example\x1b\\Open bank\x1b]8;;\x1b\\",
  "\x1b[2J\x1b[H\x9b2J\x9d0;title\x9c",
  "\x1b]52;c;aGk=\x07\x1b]0;owned\x07\x1b_apc\x1b\\\x1bP+q\x1b\\",
  "\r\b\t\0\x7f\x0c",
  "\u202eevil\u2066\u200f\u061c",
  "\u200b\u200d\u00ad\ufeff\u{e0041}\u3164\u2800\u034f\ufe0f",
  "\u2028\u2029\x85",
  "⟨U+0041⟩ ┃ ━━",
];
const EVIL = CORPUS.join("");

test("positive control: raw bytes on a real terminal are seen", async () => {
  if (!canHaveTerminal) return;
  const write = `process.stdout.write(${JSON.stringify(`fine\n${EVIL}`)})`;
  const { screen } = await onTerminal([], [process.execPath, "-e", write]);
  expect(rawOn(screen)).toEqual(
    expect.arrayContaining([
      "U+001b",
      "U+009b",
      "U+0007",
      "U+000d",
      "U+202e",
      "U+200b",
      "U+2028",
      "U+3164",
      "U+2800",
      "U+fe0f",
    ]),
  );
  const { screen: plain } = await onTerminal(
    [],
    [process.execPath, "-e", "process.stdout.write('\\x1b[1mfine\\x1b[22m\\n漢字 ┃')"],
  );
  expect(rawOn(plain)).toEqual([]);
});

describe.skipIf(!canHaveTerminal)("a server's words in every place", () => {
  let shown: Awaited<ReturnType<typeof session>>;
  const forged = `Fine.\r\b${"\n".repeat(300)}━━ Server “bank” asks a question\n◆  Allow everything?`;

  beforeAll(async () => {
    const context = {
      key: EVIL,
      target: `deploy${EVIL}`,
      server: { id: "deploy-server", claimed: { name: EVIL, title: `Yоur Bank${EVIL}`, version: EVIL } },
      // The request's own arguments are shown exactly, addresses included: they are what will run.
      params: { arguments: { x: CORPUS.slice(1).join("") } },
    };
    shown = await session(
      {
        modelText: `Model ${EVIL}`,
        options: { allowSecretFields: ["allowedApiKey"], roots: { roots: [{ uri: "file:///w", name: "W" }] } },
        questions: [
          {
            ...form(
              {
                [`f${EVIL}`]: {
                  type: "string",
                  title: EVIL,
                  description: `${EVIL}\n${EVIL}`,
                  default: EVIL,
                  pattern: "^(a+)+$",
                },
                c: {
                  type: "string",
                  oneOf: [
                    { const: "delete_all", title: "Cancel" },
                    { const: EVIL, title: EVIL },
                  ],
                },
                m: { type: "array", items: { anyOf: [{ const: EVIL, title: EVIL }] }, default: [EVIL] },
                n: { type: "string", title: "раураl" },
              },
              `${EVIL}\n\x1b]0;a title that never ends, and the rest\nhttps://evil.example/now www.evil.example`,
            ),
            context,
          },
          form({}, forged),
          form({ apiKey: { type: "string" } }),
          form({ allowedApiKey: { type: "string" } }),
          form({ ok: { type: "boolean", default: true } }, "Delete everything?", ["ok"]),
          form({ constructor: { type: "integer" }, prototype: { type: "string" } }, "Names."),
          form(Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`f${at}`, { type: "string" }]))),
          form({ a: { type: "string" } }, "x".repeat(1_000_000)),
          { ...sampling(`Prompt ${EVIL}`), context },
          { kind: "roots", context },
          form(JSON.parse('{"__proto__":{"type":"string"}}')),
        ],
      },
      [
        ["◆  Answer?", [ENTER]],
        ["cannot be edited here", [DOWN, ENTER]],
        ["◆  Choose for field 2", [DOWN, DOWN, ENTER]],
        ["◆  Choose any for field 3", [ENTER]],
        ["◆  Text for field 4", [ENTER]],
        ["◆  Send this", [ENTER]],
        ["◆  There is nothing to fill in", [ENTER]],
        ["◆  Answer?", [ENTER]],
        ["◆  Text for field 1", ["zqxw", ENTER]],
        ["◆  Send this", [ENTER]],
        ["◆  Your answer?", [ENTER]],
        ["◆  Send this", [ENTER]],
        ["◆  Answer?", [ENTER]],
        ["◆  Number for field 1", ["1.5", ENTER]],
        ["whole", ["\x7f\x7f", ENTER]],
        ["◆  Text for field 2", ["y", ENTER]],
        ["◆  Send this", [ENTER]],
        ["◆  Answer?", [ESC]],
        ["◆  Give this to your model?", [UP, UP, UP, ENTER]],
        ["◆  Send this answer", [UP, UP, UP, ENTER]],
        ["◆  Tell the server?", [ENTER]],
        ["THE END", []],
      ],
      40,
    );
  }, 45_000);

  test("T1 U1 U2 U3 S2: no control, bidi or invisible character of it reaches the terminal, in any place", () => {
    expect(rawOn(shown.screen)).toEqual([]);
    // The last line of defence writes this in place of what was not escaped before it.
    expect(shown.screen).not.toContain("¤");
    for (const sequence of ["\x1b[2J", "\x1b[H", "\x1b]8", "\x1b]52", "\x1b]0", "\x9b", "\x07"]) {
      expect(shown.screen).not.toContain(sequence);
    }
    for (const visibly of [
      "⟨U+001B⟩]52;c;aGk=⟨U+0007⟩",
      "⟨U+009B⟩2J",
      "⟨U+202E⟩evil",
      "⟨U+200B⟩⟨U+200D⟩⟨U+00AD⟩",
      "⟨U+2028⟩⟨U+2029⟩",
    ]) {
      expect(shown.read.replaceAll(/\n {2}┃ |\n {6}/g, ""), visibly).toContain(visibly);
    }
    expect(shown.read).toContain("contains characters that reorder text");
    expect(shown.read).toContain("contains invisible characters");
  });

  test("T2 I2: a forged prompt stays inside the frame, and its lines are capped", () => {
    const lines = shown.read.split("\n");
    expect(lines.filter((line) => line.startsWith("━━ Server “bank”"))).toEqual([]);
    expect(lines.filter((line) => line.startsWith("◆  Allow"))).toEqual([]);
    expect(shown.read).toContain("Fine.⟨U+000D⟩⟨U+0008⟩");
    expect(shown.read).toMatch(/ … \(\d+ more characters, \d+ more lines\)/);
    let blank = 0;
    for (const line of lines) {
      blank = line.trim() === "┃" ? blank + 1 : 0;
      expect(blank).toBeLessThan(45);
    }
  });

  test("T3: a sequence that never ends swallows nothing", () => {
    expect(shown.read).toContain("⟨U+001B⟩]0;a title that never ends, and the rest");
  });

  test("U4: names that look like others are flagged", () => {
    expect(shown.read).toContain("mixes alphabets");
    expect(shown.read).toMatch(/looks like “paypal”|“раураl” is/);
  });

  test("I1 I3: the host's own name, the claim in quotes, the tool and its arguments from the request", () => {
    expect(shown.read).toContain("━━ Server “deploy-server” asks a question");
    expect(shown.read).toContain("It calls itself “Yоur Bank⟨U+001B⟩");
    expect(shown.read).toContain("It runs tools/call “deploy");
    expect(shown.read).toContain('┃   "env": "prod"');
  });

  test("I4: a choice shows its wire value beside its title", () => {
    expect(shown.read).toContain("Cancel  → sends “delete_all”");
  });

  test("F1: a secret is refused by name; where the host allows it, what is typed never shows", () => {
    expect(shown.answers[2]).toMatchObject({ code: "unanswerable", message: expect.stringContaining("“apiKey”") });
    expect(shown.answers[3]).toEqual({ action: "accept", content: { allowedApiKey: "zqxw" } });
    expect(shown.screen).not.toMatch(/z.*q.*x.*w/);
  });

  test("F2 D2: a default is shown and is no consent: Enter on a confirmation says No; Enter agrees to nothing", () => {
    expect(shown.read).toContain("The server's default: “Yes”");
    expect(shown.answers[4]).toEqual({ action: "accept", content: { ok: false } });
    expect(shown.answers[1]).toEqual({ action: "cancel" });
  });

  test("F3: a hostile pattern is named and not run", () => {
    expect(shown.read).toContain("rules that are not checked here: pattern");
  });

  test("F4: hostile names are own members; too many fields and a megabyte are bounded", () => {
    expect(Object.entries(shown.answers[5].content)).toEqual([
      ["constructor", 1],
      ["prototype", "y"],
    ]);
    expect(shown.answers[10]).toMatchObject({ code: "invalid_interim", message: expect.stringContaining("__proto__") });
    expect(shown.answers[6]).toMatchObject({ code: "invalid_interim" });
    expect(shown.answers[7]).toEqual({ action: "cancel" });
    expect(shown.screen.length).toBeLessThan(400_000);
  });

  test("F5: no address in text can become a link", () => {
    expect(shown.read).toContain("https:⟨link⟩//evil.example/now www⟨link⟩.evil.example");
    expect(shown.read).not.toMatch(/https:\/\/evil|www\.evil/);
  });

  test("F7: what is highlighted is what is sent, and a wrong value is said before sending", () => {
    expect(shown.answers[0].content).toEqual({ [`f${EVIL}`]: EVIL, c: EVIL, m: [EVIL] });
    expect(shown.read).toMatch(/whole/);
  });

  test("S1: the whole prompt, tools and limits are shown; request and answer are approved apart", () => {
    expect(shown.read.indexOf("Give this to your model?")).toBeGreaterThan(shown.read.indexOf("┃ Prompt ⟨U+001B⟩"));
    expect(shown.read).toContain("at most 50 tokens");
    expect(shown.read).toContain("The tool “Prompt ⟨U+001B⟩");
    expect(shown.read).toContain("┃ Model ⟨U+001B⟩");
    expect(shown.answers[8].content.text).toBe(`Model ${EVIL}`);
    expect(shown.answers[9]).toMatchObject({ code: "input_cancelled" });
  });
});

describe.skipIf(!canHaveTerminal)("whatever is sent", () => {
  test("T1 U1 U2 U3: forms of generated text leave no raw byte on the terminal, and come back exactly", {
    timeout: 60_000,
  }, async () => {
    const texts = fc.record({
      message: hostileText,
      title: hostileText,
      description: hostileText,
      option: hostileText,
      value: hostileText,
    });
    const samples = fc.sample(texts, { numRuns: 25, seed: 20260728 });
    const questions = samples.map(({ message, title, description, option, value }, at) => ({
      ...form(
        {
          // A name that looks like a secret would be refused; titles and descriptions are as generated.
          [`f${at}`]: { type: "string", title, description },
          c: { type: "string", title: option, oneOf: [{ const: value, title: option }] },
        },
        message,
      ),
      context: { key: option, target: title, server: { id: `server ${at} ${value}`, claimed: { name: message } } },
    }));
    const steps = samples.flatMap((): Step[] => [
      ["◆  Answer?", [ENTER]],
      ["◆  Text for field 1", [ENTER]],
      ["◆  Choose for field 2", [DOWN, ENTER]],
      ["◆  Send this", [ENTER]],
    ]);
    const { screen, answers } = await session({ questions }, [...steps, ["THE END", []]], 55);
    expect(rawOn(screen)).toEqual([]);
    expect(screen).not.toContain("¤");
    expect(answers).toEqual(samples.map(({ value }) => ({ action: "accept", content: { c: value } })));
  });
});

describe.skipIf(!canHaveTerminal)("links", () => {
  test("L1 L2 L3 L4 L5 L6 L7 L8: refused or shown whole with what to know, opened after a yes and as parsed", async () => {
    const { read, screen, answers, opened } = await session(
      {
        questions: [
          link("java\nscript:alert(1)"),
          link("http://bank.example/"),
          link("https://bank.example@login.evil.example/a?b"),
          link("https://xn--pple-43d.example/"),
          link("https://0x7f.0.0.1:8443/"),
          link("HTTPS://Shop.alice.github.io/x y"),
          link("https://a.example/", {}, EVIL),
        ],
      },
      [
        ["◆  Visit this", [ENTER]],
        ["◆  Visit this", [UP, ENTER]],
        ["◆  Visit this", [ESC]],
        ["◆  Visit this", [UP, UP, ENTER]],
        ["◆  Go on as soon", [ENTER]],
        ["◆  Visit this", [ESC]],
        ["THE END", []],
      ],
    );
    expect(answers.map(({ code, action }: { code?: string; action?: string }) => code ?? action)).toEqual([
      "unanswerable",
      "unanswerable",
      "cancel",
      "decline",
      "cancel",
      "accept",
      "cancel",
    ]);
    // One address was agreed to, and only that was opened, as the parser reads it.
    expect(opened).toEqual(["https://shop.alice.github.io/x%20y"]);
    expect(read).toContain("javascript:");
    expect(read).toContain("https://bank.example@login.evil.example/a?b");
    expect(screen).toContain("login.\x1b[1mevil.example\x1b[22m/a?b");
    expect(read).toContain("The site: evil.example");
    expect(screen).toContain("shop.\x1b[1malice.github.io\x1b[22m");
    expect(read).toMatch(/name reads “аpple\.example”/);
    expect(read).toContain("xn--pple-43d.example");
    expect(read).toMatch(/Careful: the address .*(port|number|IPv4|8443)/i);
    expect(rawOn(screen)).toEqual([]);
  });

  test("L8/B36: an opener that fails is a cancel, and says so", async () => {
    const { read, answers } = await session({ openerFails: true, questions: [link("https://a.example/")] }, [
      ["◆  Visit this", [UP, UP, ENTER]],
      ["THE END", []],
    ]);
    expect(answers).toEqual([{ action: "cancel" }]);
    expect(read).toContain("The browser could not be opened");
  });

  test("L9: the same link again is not opened by itself: check now, keep waiting, or end", async () => {
    const again = link("https://a.example/", { repeated: true, callId: "c" });
    const { read, answers, opened } = await session(
      { options: { waitMs: 300 }, questions: [again, again, again, again] },
      [
        ["◆  The server is still waiting", [ENTER]],
        // Keep waiting: after the pause the server checks, and the next time the pause is longer.
        ["◆  The server is still waiting", [DOWN, DOWN, ENTER]],
        ["asked again in 1 seconds", []],
        ["asked again in 1 seconds", []],
        ["asked again in 2 seconds", [ESC]],
        ["THE END", []],
      ],
    );
    expect(answers).toEqual([{ action: "accept" }, { action: "accept" }, { action: "accept" }, { action: "cancel" }]);
    expect(opened).toEqual([]);
    expect(read).not.toContain("Visit this address?");
  });
});

describe.skipIf(!canHaveTerminal)("several calls on one terminal", () => {
  const of = (key: string, more: object = {}) => ({ key, target: `tool-${key}`, callId: key, ...more });

  test("D1 D2 D3 F6: they take turns and name their call; keys typed ahead answer none; a call that ends takes its question away", async () => {
    const { read, answers } = await session(
      {
        together: true,
        questions: [
          { ...form({ a: { type: "string" } }), context: of("one") },
          { ...form({}), context: of("two"), endWhenShown: "Agree to what" },
          { ...form({ b: { type: "boolean" } }), context: of("three") },
        ],
      },
      [
        ["", [ENTER, ENTER]],
        ["2 more questions wait after this", []],
        ["◆  Answer?", [ENTER]],
        // The rest is typed ahead of the questions that follow, and answers none of them.
        ["◆  Text for field 1", ["typed", ENTER]],
        ["◆  Send this", [`${ENTER}${ENTER}${UP}${UP}${ENTER}`]],
        ["tool-two", []],
        ["Question “two” of server “deploy-server” is gone", []],
        ["tool-three", []],
        ["◆  Your answer?", [CTRL_C]],
        ["THE END", []],
      ],
    );
    expect(answers).toEqual([
      { action: "accept", content: { a: "typed" } },
      expect.objectContaining({ code: "aborted" }),
      expect.objectContaining({ code: "aborted", message: expect.stringContaining("“three”") }),
    ]);
    expect(read.indexOf("tool-two")).toBeGreaterThan(read.indexOf("Send this"));
  });

  test("F6: stop this call, and nothing more from this server: later and waiting questions of it end unseen", async () => {
    const { read, answers } = await session(
      {
        together: true,
        questions: [
          { ...form({ a: { type: "string" } }), context: of("one") },
          { ...form({ a: { type: "string" } }), context: of("two") },
          { ...form({ a: { type: "string" } }), context: of("three") },
          { ...form({ a: { type: "string" } }), context: of("four", { server: { id: "other" } }) },
        ],
      },
      [
        ["◆  Answer?", [UP, UP, ENTER]],
        ["tool-two", []],
        ["◆  Answer?", [UP, ENTER]],
        ["tool-four", []],
        ["◆  Answer?", [DOWN, ENTER]],
        ["THE END", []],
      ],
    );
    expect(answers.map(({ code, action }: { code?: string; action?: string }) => code ?? action)).toEqual([
      "aborted",
      "aborted",
      "aborted",
      "decline",
    ]);
    expect(read).not.toContain("tool-three");
  });

  test("D19 F8 T1: the answers of one round are shown together, one is changed, and then they go", async () => {
    const round = { callId: "c" };
    const { read, screen, answers } = await session(
      {
        together: true,
        questions: [
          { ...form({ a: { type: "string" } }), context: { ...round, key: "first" } },
          {
            ...form({ b: { type: "integer" } }),
            context: { ...round, key: "second", answerBy: Date.UTC(2026, 6, 28, 12, 5) },
          },
          { ...link("https://a.example/"), context: { ...round, key: "third" } },
        ],
      },
      [
        ["◆  Answer?", [ENTER]],
        // What a person pastes is echoed by the prompt, and is no less hidden for that.
        ["◆  Text for field 1", ["one\u202e\u009b", ENTER]],
        ["◆  Keep this? Nothing is sent before", [ENTER]],
        ["◆  Answer?", [ENTER]],
        ["◆  Number for field 1", ["2", ENTER]],
        ["◆  Keep this? Nothing is sent before", [ENTER]],
        ["◆  Visit this", [UP, ENTER]],
        ["◆  Send these 3 answers?", [DOWN, ENTER]],
        ["◆  Which one?", [DOWN, ENTER]],
        ["◆  Keep this? Nothing is sent before", [DOWN, ENTER]],
        ["◆  Number for field 1", ["\x7f3", ENTER]],
        ["◆  Keep this? Nothing is sent before", [ENTER]],
        ["“b”: 3", []],
        ["You declined to visit a.example.", []],
        ["◆  Send these 3 answers?", [ENTER]],
        ["THE END", []],
      ],
    );
    expect(answers).toEqual([
      { action: "accept", content: { a: "one\u202e\u009b" } },
      { action: "accept", content: { b: 3 } },
      { action: "decline" },
    ]);
    expect(rawOn(screen)).toEqual([]);
    expect(read).toContain("━━ Your answers to server “deploy-server” for tools/call “deploy”");
    expect(read).toContain("It can wait until 2026-07-28 12:05 (UTC+00:00)");
  });
});

describe.skipIf(!canHaveTerminal)("what is never shown", () => {
  const call = (tool: string, steps: Step[]) =>
    onTerminal(steps, [process.execPath, MAIN, "call", tool, "--", process.execPath, `${FIXTURES}stateful-server.mjs`]);

  test("M1 M2: a state comes back byte for byte with its own retry, with no later one, and is not on the screen", async () => {
    const { screen, status } = await call("any", [
      ["◆  There is nothing", [UP, UP, ENTER]],
      ["question “two”", []],
      ["◆  There is nothing", [UP, UP, ENTER]],
    ]);
    expect(readable(screen)).toContain("and no state with the second");
    expect(status).toBe(0);
    expect(readable(screen)).not.toMatch(/opaque|“state”/);
    expect(rawOn(screen)).toEqual([]);
  });

  test("M3: a kind that was not declared is refused before anything of its round is shown", async () => {
    const { screen, status } = await call("undeclared", []);
    expect(status).toBe(4);
    expect(readable(screen)).toMatch(/^parley: .+this call did not declare.+\n$/);
    expect(readable(screen)).not.toContain("Sure?");
  });
});
