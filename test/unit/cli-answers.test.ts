import { describe, expect, it } from "vitest";
import type { QuestionContext } from "../../src/calls/responder.ts";
import { parseScript, scriptedResponders } from "../../src/cli/call/answers.ts";
import { capabilitiesOf } from "../../src/client.ts";

const from = (file: Record<string, unknown>) => scriptedResponders(parseScript(file, "a.json"), "a.json");
const about = (key: string) => ({ key }) as QuestionContext;
const form = { message: "", requestedSchema: { type: "object" as const, properties: {} } };
const yes = { action: "accept", content: { ok: true } };
const sampled = { role: "assistant", content: { type: "text", text: "t" }, model: "m" };

describe("answers from a file", () => {
  it("B17 only the kinds of answer in the file are declared", () => {
    expect(capabilitiesOf(from({}))).toEqual({});
    expect(capabilitiesOf(from({ k: yes }))).toEqual({ elicitation: { form: {} } });
    expect(capabilitiesOf(from({ k: { action: "decline" } }))).toEqual({ elicitation: { form: {}, url: {} } });
    expect(capabilitiesOf(from({ k: sampled }))).toEqual({ sampling: { tools: {} } });
    expect(capabilitiesOf(from({ k: { roots: [] } }))).toEqual({ roots: {} });
  });

  it("one answer serves each time, a list is used up", async () => {
    const { form: ask } = from({ same: yes, list: [{ action: "cancel" }, yes] });
    expect([await ask?.(form, about("same")), await ask?.(form, about("same"))]).toEqual([yes, yes]);
    expect([await ask?.(form, about("list")), await ask?.(form, about("list"))]).toEqual([{ action: "cancel" }, yes]);
    await expect(ask?.(form, about("list"))).rejects.toMatchObject({ code: "unanswerable", details: { key: "list" } });
  });

  it("B32 B40 a question without an answer, or with one of another kind, fails; nothing is made up", async () => {
    const { form: ask, roots } = from({ k: yes, r: { roots: [] } });
    expect(await ask?.(form, about("k"))).toEqual(yes);
    await expect(ask?.(form, about("other"))).rejects.toMatchObject({ code: "unanswerable" });
    await expect(ask?.(form, about("r"))).rejects.toThrow(/not of the kind elicitation/);
    await expect(roots?.(about("k"))).rejects.toThrow(/not of the kind roots/);
    await expect(ask?.(form, about("constructor"))).rejects.toMatchObject({ code: "unanswerable" });
  });

  it("F4 a question may be called __proto__", async () => {
    const { form: ask } = from(JSON.parse('{"__proto__": {"action": "decline"}}'));
    expect(await ask?.(form, about("__proto__"))).toEqual({ action: "decline" });
  });
});
