/** F3, F4, T3: whatever a megabyte of a server's text is made of, showing and judging it takes time in proportion. */
import { expect, test } from "vitest";
import { checkAnswer } from "../../src/calls/answers.ts";
import { readInterim } from "../../src/calls/interim.ts";
import { errorLine, oneLine } from "../../src/cli/exit.ts";
import { failureOf, reportFailure } from "../../src/cli/failure.ts";
import { ParleyError } from "../../src/errors.ts";
import { describeAnswer, describeQuestion, inspectUrl, nameWarnings, visible } from "../../src/present/index.ts";
import { jsonText, renderResult } from "../../src/present/result.ts";
import { drawField, drawQuestion } from "../../src/present/terminal/draw.ts";
import { readForm, secretIn } from "../../src/protocol/form/index.ts";
import type { InputRequest } from "../../src/protocol/types.ts";
import { contextOf } from "./present-fake-terminal.ts";

const SIZE = 1_000_000;
const UNITS = [
  " ",
  "x",
  ". ",
  "\r\n\t",
  "\u202e",
  "\u0301",
  "\ufdfa",
  "https://www.",
  "@",
  "9-",
  "aA",
  "漢",
  "\ud83d\ude00",
  "PIN ",
];

const asForm = (text: string): InputRequest =>
  ({
    method: "elicitation/create",
    params: {
      message: text,
      requestedSchema: {
        type: "object",
        properties: {
          [text]: { type: "string", title: text, description: text, default: text, format: text },
          c: { type: "string", oneOf: [{ const: text, title: `${text}!` }], default: text },
          u: { type: "string", format: "uri", default: text },
          m: { type: "string", format: "email", default: `${text}@${text}` },
        },
      },
    },
  }) as InputRequest;
const rules = { server: "s", declared: { elicitation: {}, sampling: {} }, maxRequestStateBytes: 1, maxQuestions: 9 };

const USES: Record<string, (text: string) => unknown> = {
  "a form: read, described, drawn": (text) => {
    const { requests } = readInterim({ inputRequests: { [text]: asForm(text) } }, rules);
    const context = contextOf({ key: text, target: text, server: { id: "s", claimed: { name: text, version: text } } });
    const view = describeQuestion(requests.get(text) as InputRequest, context);
    if (view.kind !== "form") throw new Error("no form");
    for (const field of view.fields) drawField(field, visible("x").text, 80);
    for (const field of view.fields) describeAnswer(field, text);
    return drawQuestion(view, 80);
  },
  "an answer to a form": (text) => {
    try {
      checkAnswer("k", asForm(text), { action: "accept", content: { [text]: text, c: text, u: text, m: text, z: 1 } });
    } catch (error) {
      expect((error as ParleyError).code).toBe("invalid_content");
    }
  },
  "a form that is none": (text) =>
    expect(() => readForm({ type: "object", properties: { [text]: { type: text } } })).toThrow(),
  "an address": (text) => [inspectUrl(`https://${text}`), inspectUrl(text)],
  "a model's prompt, drawn": (text) => {
    const params = { maxTokens: 1, messages: [{ role: "user", content: { type: "text", text } }] };
    const request = { method: "sampling/createMessage", params } as InputRequest;
    return drawQuestion(describeQuestion(request, contextOf()), 80);
  },
  "names and secrets": (text) => [nameWarnings(text), secretIn(text), secretIn(text, { name: true })],
  "a result": (text) => {
    const content = [{ type: "text", text }];
    return [renderResult("tools/call", { content } as never), jsonText({ content })];
  },
  "a line of standard error": (text) => [oneLine(`server: ${text}x`), oneLine(`${text}\nx${text}`)],
  "an error": (text) => {
    const stub = { err: () => {} } as never;
    const cause = new Error(`${text}x`);
    reportFailure(new ParleyError("invalid_result", `x${text}x`, { cause }), stub, text);
    return errorLine(failureOf(cause));
  },
};

for (const [name, use] of Object.entries(USES)) {
  test(`F3 F4 T3: ${name}`, { timeout: 120_000 }, () => {
    for (const unit of UNITS) {
      const text = unit.repeat(Math.floor(SIZE / unit.length));
      const started = performance.now();
      use(text);
      const took = performance.now() - started;
      expect(took, JSON.stringify(unit)).toBeLessThan(10_000);
    }
  });
}
