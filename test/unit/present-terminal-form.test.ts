import { describe, expect, test } from "vitest";
import { terminalResponders } from "../../src/present/index.ts";
import type { ElicitResult, FormProperty, FormSchema } from "../../src/protocol/types.ts";
import { CTRL_C, CTRL_D, contextOf, DOWN, ENTER, ESC, FakeTerminal, SPACE, UP } from "./present-fake-terminal.ts";

function schema(properties: Record<string, unknown>, required: string[] = []): FormSchema {
  return { type: "object", properties: properties as Record<string, FormProperty>, required };
}

function ask(terminal: FakeTerminal, requestedSchema: FormSchema, message = "Please answer."): Promise<ElicitResult> {
  const { form } = terminalResponders({ input: terminal.input, output: terminal.output, settleMs: 2 });
  return form!({ message, requestedSchema }, contextOf());
}

/** Types `keys` into the only field of a form and sends it. */
async function fill(property: unknown, prompt: string, keys: string[], required = true): Promise<unknown> {
  const terminal = new FakeTerminal();
  const answer = ask(terminal, schema({ probe: property }, required ? ["probe"] : []));
  await terminal.at("Answer?", ENTER);
  await terminal.at(prompt, ...keys, ENTER);
  await terminal.at("Send this to server", ENTER);
  const result = await answer;
  expect(result.action).toBe("accept");
  expect(terminal.input.raw).toBe(false);
  return result.content;
}

const CLEAR = "\x15";

describe("F8/B33: each probe is filled by keyboard alone and comes back exactly", () => {
  const TEXT = "Text for field 1";
  const NUMBER = "Number for field 1";
  const CHOOSE = "Choose for field 1";
  const MANY = "Choose any for field 1";
  const cases: [string, unknown, string, string[], unknown][] = [
    ["string", { type: "string" }, TEXT, ["héllo wörld"], "héllo wörld"],
    ["description", { type: "string", description: "Why?" }, TEXT, [" two  spaces "], " two  spaces "],
    ["minLength", { type: "string", minLength: 3, maxLength: 5 }, TEXT, ["abcd"], "abcd"],
    ["email", { type: "string", format: "email" }, TEXT, ["a@b.example"], "a@b.example"],
    ["uri", { type: "string", format: "uri" }, TEXT, ["https://a.example/x"], "https://a.example/x"],
    ["date", { type: "string", format: "date" }, TEXT, ["2026-07-28"], "2026-07-28"],
    ["date-time", { type: "string", format: "date-time" }, TEXT, ["2026-07-28T12:00:00Z"], "2026-07-28T12:00:00Z"],
    ["enum", { type: "string", enum: ["red", "green"] }, CHOOSE, [DOWN, DOWN], "green"],
    [
      "titled enum",
      {
        type: "string",
        oneOf: [
          { const: "#f00", title: "Red" },
          { const: "#0f0", title: "Green" },
        ],
      },
      CHOOSE,
      [DOWN],
      "#f00",
    ],
    ["legacy titles", { type: "string", enum: ["a", "b"], enumNames: ["Ay", "Be"] }, CHOOSE, [DOWN, DOWN], "b"],
    ["integer", { type: "integer" }, NUMBER, ["-42"], -42],
    ["bounded integer", { type: "integer", minimum: 1, maximum: 10 }, NUMBER, ["10"], 10],
    ["number", { type: "number" }, NUMBER, ["2.5e-3"], 0.0025],
    ["text default kept", { type: "string", default: "blue" }, TEXT, ["!"], "blue!"],
    ["text default replaced", { type: "string", default: "blue" }, TEXT, [CLEAR, "red"], "red"],
    ["number default replaced", { type: "number", default: 7 }, NUMBER, [CLEAR, "8"], 8],
    ["enum default moved", { type: "string", enum: ["a", "b"], default: "b" }, CHOOSE, [UP], "a"],
    [
      "multi enum",
      { type: "array", items: { type: "string", enum: ["a", "b", "c"] } },
      MANY,
      [SPACE, DOWN, DOWN, SPACE],
      ["a", "c"],
    ],
    [
      "titled multi enum",
      {
        type: "array",
        minItems: 1,
        maxItems: 2,
        items: {
          anyOf: [
            { const: "1", title: "One" },
            { const: "2", title: "Two" },
          ],
        },
      },
      MANY,
      [DOWN, SPACE],
      ["2"],
    ],
    [
      "multi enum default",
      { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["b"] },
      MANY,
      [SPACE],
      ["a", "b"],
    ],
  ];
  test.each(cases)("%s", async (_name, property, prompt, keys, value) => {
    expect(await fill(property, prompt, keys)).toEqual({ probe: value });
  });

  test("boolean, and several fields in one form, in the server's order", async () => {
    const terminal = new FakeTerminal();
    const answer = ask(
      terminal,
      schema({ flag: { type: "boolean" }, other: { type: "boolean", default: true }, name: { type: "string" } }),
    );
    await terminal.at("It has 3 fields", ENTER);
    await terminal.at("Choose for field 1", DOWN, DOWN, ENTER);
    await terminal.at("Choose for field 2", ENTER);
    await terminal.at("Text for field 3", ENTER);
    await terminal.at("Send this", ENTER);
    expect(await answer).toEqual({ action: "accept", content: { flag: true, other: true } });
  });

  test("B23: an empty list of fields is accepted only by moving to it", async () => {
    const agreeing = new FakeTerminal();
    const answer = ask(agreeing, schema({}));
    await agreeing.at("Agree to what the server says?", UP, UP, ENTER);
    expect(await answer).toEqual({ action: "accept", content: {} });

    const hasty = new FakeTerminal();
    const other = ask(hasty, schema({}));
    await hasty.at("Agree to what the server says?", ENTER);
    expect(await other).toEqual({ action: "cancel" });
  });

  test("F4: a field called constructor is an own member of the answer", async () => {
    const terminal = new FakeTerminal();
    const answer = ask(terminal, schema({ constructor: { type: "string" } }));
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for", "x", ENTER);
    await terminal.at("Send this", ENTER);
    expect(Object.entries((await answer).content ?? {})).toEqual([["constructor", "x"]]);
  });
});

describe("F7/D21: a wrong value is said before sending, and the form stays alive", () => {
  const cases: [string, unknown, string, string, string, string, unknown][] = [
    ["required text", { type: "string" }, "Text for", "", "This field is required.", "x", "x"],
    ["too short", { type: "string", minLength: 3 }, "Text for", "ab", "at least 3", "c", "abc"],
    ["no address", { type: "string", format: "email" }, "Text for", "a", "e-mail", "@b.example", "a@b.example"],
    ["no number", { type: "number" }, "Number for", "0x", "not a number", `${CLEAR}1`, 1],
    ["no integer", { type: "integer" }, "Number for", "1.5", "whole", `${CLEAR}1`, 1],
    ["out of bounds", { type: "integer", maximum: 9 }, "Number for", "10", "9", `${CLEAR}9`, 9],
  ];
  test.each(cases)("%s", async (_name, property, prompt, wrong, said, mended, value) => {
    const terminal = new FakeTerminal();
    const answer = ask(terminal, schema({ probe: property }, ["probe"]));
    await terminal.at("Answer?", ENTER);
    await terminal.at(prompt, wrong, ENTER);
    await terminal.at(said, ...mended, ENTER);
    await terminal.at("Send this", ENTER);
    expect(await answer).toEqual({ action: "accept", content: { probe: value } });
  });

  test("a required choice and the bounds of a list are asked again", async () => {
    const terminal = new FakeTerminal();
    const answer = ask(
      terminal,
      schema(
        {
          one: { type: "string", enum: ["a", "b"] },
          many: { type: "array", items: { type: "string", enum: ["a", "b", "c"] }, minItems: 2 },
        },
        ["one", "many"],
      ),
    );
    await terminal.at("Answer?", ENTER);
    await terminal.at("Choose for field 1", ENTER);
    await terminal.shows("This field is required.");
    await terminal.at("Choose for field 1", DOWN, ENTER);
    await terminal.at("Choose any for field 2", SPACE, ENTER);
    await terminal.shows("2");
    await terminal.at("Choose any for field 2", DOWN, SPACE, ENTER);
    await terminal.at("Send this", ENTER);
    expect(await answer).toEqual({ action: "accept", content: { one: "a", many: ["a", "b"] } });
  });

  test("D19: an answer is changed in the review, and the changed one is sent", async () => {
    const terminal = new FakeTerminal();
    const answer = ask(terminal, schema({ a: { type: "string" }, b: { type: "string" } }));
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for field 1", "one", ENTER);
    await terminal.at("Text for field 2", "two", ENTER);
    await terminal.shows("“b”: “two”");
    await terminal.at("Send this", DOWN, ENTER);
    await terminal.at("Which one?", DOWN, ENTER);
    await terminal.at("Text for field 2", CLEAR, "three", ENTER);
    await terminal.shows("“b”: “three”");
    await terminal.at("Send this", ENTER);
    expect(await answer).toEqual({ action: "accept", content: { a: "one", b: "three" } });
  });
});

describe("D1/D25: decline is a choice, leaving is a cancel", () => {
  const confirm = schema({ ok: { type: "boolean", default: true } }, ["ok"]);
  const form = schema({ name: { type: "string" } }, ["name"]);

  test.each([
    ["Decline at the start", form, "Answer?", [DOWN, ENTER], "decline"],
    ["Dismiss at the start", form, "Answer?", [DOWN, DOWN, ENTER], "cancel"],
    ["Escape at the start", form, "Answer?", [ESC], "cancel"],
    ["Decline a confirmation", confirm, "Your answer?", [DOWN, DOWN, ENTER], "decline"],
    ["Escape at a confirmation", confirm, "Your answer?", [ESC], "cancel"],
  ])("%s", async (_name, requestedSchema, prompt, keys, action) => {
    const terminal = new FakeTerminal();
    const answer = ask(terminal, requestedSchema);
    await terminal.at(prompt, ...keys);
    expect(await answer).toEqual({ action });
    expect(terminal.input.raw).toBe(false);
  });

  test.each([
    ["goes back", [ENTER], undefined],
    ["declines", [DOWN, ENTER], "decline"],
    ["dismisses", [DOWN, DOWN, ENTER], "cancel"],
    ["leaves again", [ESC], "cancel"],
  ])("D20: Escape inside a field opens a way out, which %s", async (_name, keys, action) => {
    const terminal = new FakeTerminal();
    const answer = ask(terminal, form);
    await terminal.at("Answer?", ENTER);
    await terminal.at("Text for", "x", ESC);
    await terminal.at("Leave the form?", ...keys);
    if (action !== undefined) return expect(await answer).toEqual({ action });
    await terminal.at("Text for", "y", ENTER);
    await terminal.at("Send this", ENTER);
    return expect(await answer).toEqual({ action: "accept", content: { name: "y" } });
  });

  test.each([
    ["at the start", form, [["Answer?"]], CTRL_C],
    ["Ctrl-D, at the start", form, [["Answer?"]], CTRL_D],
    ["at a confirmation", confirm, [["Your answer?"]], CTRL_C],
    [
      "inside a field",
      form,
      [
        ["Answer?", ENTER],
        ["Text for", "x"],
      ],
      CTRL_C,
    ],
    ["in the way out", form, [["Answer?", ENTER], ["Text for", ESC], ["Leave the form?"]], CTRL_C],
    ["at the review", confirm, [["Your answer?", ENTER], ["Send this"]], CTRL_C],
  ])(
    "D1/F6: Ctrl-C ends the whole call, and is neither a decline nor a cancel: %s",
    async (_name, asked, steps, key) => {
      const terminal = new FakeTerminal();
      const answer = ask(terminal, asked).catch((error: unknown) => error);
      for (const [prompt = "", ...keys] of steps) await terminal.at(prompt, ...keys);
      await terminal.at("", key);
      expect(await answer).toMatchObject({
        code: "aborted",
        message: expect.stringContaining("was interrupted"),
        details: { key: "window", server: "deploy-server" },
      });
      expect(terminal.input.raw).toBe(false);
    },
  );

  test.each([
    ["y marks Yes", ["y"], true],
    ["however often", ["y", "y", "Y"], true],
    ["n takes it back", ["y", "n"], false],
    ["from below it", [DOWN, DOWN, DOWN, "y"], true],
    ["from above the first", [UP, UP, "y"], true],
    ["and arrows go on from there", ["y", UP], false],
    ["another letter does nothing", ["x", "e"], false],
  ])("F7, D2: at a confirmation %s, and only Enter gives it", async (_what, keys, expected) => {
    const terminal = new FakeTerminal();
    let over = false;
    const answer = ask(terminal, confirm).finally(() => {
      over = true;
    });
    await terminal.at("Your answer?", ...keys);
    await terminal.shows(expected ? "● Yes" : "● No");
    expect([over, terminal.text.includes("Send this")]).toEqual([false, false]);
    await terminal.at("", ENTER);
    await terminal.at("Send this", ENTER);
    expect(await answer).toEqual({ action: "accept", content: { ok: expected } });
  });

  test("B13/F2/D2: Enter on a confirmation says No, whatever its default; Yes needs a move", async () => {
    const hasty = new FakeTerminal();
    const no = ask(hasty, confirm, "Delete everything?");
    await hasty.shows("The server's default: “Yes”");
    await hasty.at("Your answer?", ENTER);
    await hasty.at("Send this", ENTER);
    expect(await no).toEqual({ action: "accept", content: { ok: false } });

    const sure = new FakeTerminal();
    const yes = ask(sure, confirm, "Delete everything?");
    await sure.at("Your answer?", DOWN, ENTER);
    await sure.shows("“ok”: Yes");
    await sure.at("Send this", ENTER);
    expect(await yes).toEqual({ action: "accept", content: { ok: true } });
  });

  test("D2/D22: Enter alone never sends a form of defaults", async () => {
    const terminal = new FakeTerminal();
    const answer = ask(
      terminal,
      schema({ a: { type: "boolean", default: true }, b: { type: "string", default: "x" } }),
    );
    await terminal.at("Answer?", ENTER);
    await terminal.at("Choose for field 1", ENTER);
    await terminal.at("Text for field 2", ENTER);
    await terminal.at("Send this", ENTER);
    await terminal.at("Which one?", ESC);
    expect(await answer).toEqual({ action: "cancel" });
  });

  test("D2: keys typed before the prompt was drawn are dropped", async () => {
    const terminal = new FakeTerminal();
    terminal.input.write(`${DOWN}${ENTER}${ENTER}`);
    const answer = ask(terminal, confirm);
    terminal.input.write(`${DOWN}${ENTER}`);
    await terminal.at("Your answer?", ENTER);
    await terminal.shows("“ok”: No");
    await terminal.at("Send this", ESC);
    expect(await answer).toEqual({ action: "cancel" });
  });
});
