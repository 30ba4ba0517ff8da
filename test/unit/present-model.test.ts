import { describe, expect, test } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import {
  describeAnswer,
  describeQuestion,
  type FormView,
  type SampleQuestionView,
  visible,
} from "../../src/present/index.ts";
import type { InputRequest } from "../../src/protocol/types.ts";
import { contextOf } from "./present-fake-terminal.ts";

function form(properties: unknown, message = "Please."): InputRequest {
  return {
    method: "elicitation/create",
    params: { message, requestedSchema: { type: "object", properties } },
  } as InputRequest;
}
function described(properties: unknown, message?: string, options = {}): FormView {
  const view = describeQuestion(form(properties, message), contextOf(), options);
  if (view.kind !== "form") throw new Error("not a form");
  return view;
}

describe("I1 to I4: who asks, and for what", () => {
  test("I1/D17: the host's own name first; what the server calls itself apart, escaped and flagged", () => {
    const server = { id: "deploy-server", claimed: { name: "x", title: "Yоur Bank\x1b[2J", version: "1.0" } };
    const view = describeQuestion(form({}), contextOf({ server }));
    expect(view.server).toEqual({ id: "deploy-server", claimed: "Yоur Bank⟨U+001B⟩[2J 1.0" });
    expect(view.warnings.join("; ")).toContain("the name the server gives itself mixes alphabets");
    expect(view.warnings.join("; ")).toContain("the name the server gives itself contains control characters");
  });

  test("I3/D20: the tool and its arguments come from the request", () => {
    const view = describeQuestion(form({}, "I will only read a file."), contextOf());
    expect(view.call.method).toBe("tools/call");
    expect(view.call.target).toBe("deploy");
    expect(view.call.arguments?.text).toBe('{\n  "env": "prod"\n}');
  });

  test("I3: long arguments are bounded, with the cut said", () => {
    const view = describeQuestion(form({}), contextOf({ params: { arguments: { a: "x".repeat(10_000) } } }));
    expect(view.call.arguments?.text).toMatch(/… \(\d+ more characters/);
  });

  test("I4: a choice shows what it sends when that is not what it says", () => {
    const [field] = described({
      do: {
        type: "string",
        oneOf: [
          { const: "delete_all", title: "Cancel" },
          { const: "keep", title: "keep" },
        ],
      },
    }).fields;
    expect(field?.options?.map((option) => option.label)).toEqual(["Cancel  → sends “delete_all”", "keep"]);
  });
});

describe("F1/B35/D14: secrets", () => {
  const secret = { apiKey: { type: "string", title: "API key", default: "sk-123" } };

  test("a secret-looking field refuses the question, naming server and field", () => {
    const view = described(secret);
    expect(view.refused).toEqual(["server “deploy-server” asks for a secret in field “apiKey”"]);
    expect(view.fields[0]?.warnings.join("; ")).toContain("secrets do not belong into forms");
  });

  test("the host may allow it by name: then it is masked everywhere", () => {
    const view = described(secret, undefined, { allowSecretFields: ["apiKey"] });
    expect(view.refused).toEqual([]);
    expect(view.fields[0]).toMatchObject({ masked: true, prefill: false });
    expect(view.fields[0]?.default).toBeUndefined();
    expect(describeAnswer(view.fields[0]!, "hunter2")).toBe("••••••••");
  });

  test("positive control: an e-mail address is no secret", () => {
    expect(described({ email: { type: "string", format: "email" } }).refused).toEqual([]);
  });
});

describe("F2 to F6", () => {
  test("F2/D22: a default is shown, and never stands in a confirmation", () => {
    expect(described({ ok: { type: "boolean", default: true } }).fields[0]).toMatchObject({
      default: "Yes",
      prefill: false,
    });
    const two = described({ ok: { type: "boolean", default: true }, b: { type: "string" } });
    expect(two.fields[0]).toMatchObject({ default: "Yes", prefill: true });
    expect(two.fields[1]?.prefill).toBe(false);
  });

  test("F3: a server's pattern is not run, and that is said", () => {
    const view = described({ a: { type: "string", pattern: "^(a+)+$" } });
    expect(view.fields[0]?.warnings.join("; ")).toContain("rules that are not checked here: pattern");
  });

  test("F4/F6: too many fields or options are the server's mistake", () => {
    const many = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, { type: "string" }]));
    expect(described(many(100)).fields).toHaveLength(100);
    expect(() => described(many(101))).toThrow(expect.objectContaining({ code: "invalid_interim" }));
    const options = Array.from({ length: 501 }, (_, i) => `o${i}`);
    expect(() => described({ a: { type: "string", enum: options } })).toThrow(
      expect.objectContaining({ code: "invalid_interim" }),
    );
  });

  test("F5/D23: no address in a message, title, description or option can become a link", () => {
    const evil = "https://evil.example";
    const view = described(
      { a: { type: "string", title: evil, description: evil, oneOf: [{ const: evil, title: `${evil}/t` }] } },
      evil,
    );
    const texts = [
      view.message.text,
      view.fields[0]?.label,
      view.fields[0]?.description?.text,
      view.fields[0]?.options?.[0]?.label,
    ];
    for (const text of texts) {
      expect(text).toContain("https:⟨link⟩//evil.example");
      expect(text).not.toContain("https://");
    }
  });

  test("T2/F4: a message of a megabyte, or of a thousand lines, is bounded", () => {
    expect(described({}, "x".repeat(1_000_000)).message.text.length).toBeLessThan(4100);
    expect(described({}, "\n".repeat(1000)).message.text.split("\n")).toHaveLength(40);
  });
});

describe("S1/S2/F13: sampling is shown whole", () => {
  const sampling = (params: object): SampleQuestionView => {
    const request = { method: "sampling/createMessage", params } as InputRequest;
    const view = describeQuestion(request, contextOf());
    if (view.kind !== "sample") throw new Error("not sampling");
    return view;
  };
  test("prompt, system prompt, tools, limits, pictures and results all have a part", () => {
    const { sampling: view, refused } = sampling({
      maxTokens: 100,
      systemPrompt: "Be \u202eevil",
      temperature: 0.5,
      stopSequences: ["END"],
      modelPreferences: { hints: [{ name: "claude" }] },
      toolChoice: { mode: "required" },
      tools: [{ name: "rm", description: "Removes", inputSchema: { type: "object" } }],
      messages: [
        { role: "user", content: { type: "text", text: "line one\nline two" } },
        { role: "assistant", content: [{ type: "tool_use", id: "1", name: "rm", input: { path: "/" } }] },
        { role: "user", content: [{ type: "tool_result", toolUseId: "1", content: [] }] },
        { role: "user", content: { type: "image", mimeType: "image/png", data: "AAAA" } },
      ],
    });
    expect(refused).toEqual([]);
    expect(view.parts.map((part) => part.label)).toEqual([
      "system prompt",
      "message 1, user",
      "message 2, assistant, tool_use",
      "message 3, user, tool_result",
      "message 4, user, image of 4 base64 characters, not shown",
      "tool “rm”",
    ]);
    expect(view.parts[0]?.text.text).toBe("Be ⟨U+202E⟩evil");
    expect(view.parts[1]?.text.text).toBe("line one\nline two");
    expect(view.parts[2]?.text.text).toContain('"path": "/"');
    expect(view.limits.join("; ")).toBe(
      'at most 100 tokens; temperature: 0.5; stops at: ["END"]; model wishes: {"hints":[{"name":"claude"}]}; use of tools: {"mode":"required"}',
    );
  });

  test("what is too large to be shown whole is refused, not cut", () => {
    const text = (length: number) => ({
      maxTokens: 1,
      messages: [{ role: "user", content: { type: "text", text: "x".repeat(length) } }],
    });
    expect(sampling(text(200_000)).refused).toEqual([]);
    expect(sampling(text(200_001)).refused).toEqual(["the request is too large to be shown whole"]);
  });
});

describe("M3: what is no question is refused before anything is shown", () => {
  test.each([
    [undefined],
    [null],
    [[]],
    [{}],
    [{ method: "elicitation/create" }],
    [{ method: "elicitation/create", params: [] }],
    [{ method: "elicitation/create", params: { mode: "voice", message: "x" } }],
    [{ method: "elicitation/create", params: { message: 7, requestedSchema: { type: "object", properties: {} } } }],
    [{ method: "elicitation/create", params: { message: "x" } }],
    [{ method: "elicitation/create", params: { mode: "url", url: "https://a.example" } }],
    [{ method: "sampling/createMessage", params: { messages: "x", maxTokens: 1 } }],
    [{ method: "sampling/createMessage", params: { messages: [] } }],
    [{ method: "tools/list", params: {} }],
  ])("%j", (request) => {
    try {
      describeQuestion(request as never, contextOf({ key: "k\x1b[2J" }));
      expect.unreachable();
    } catch (error) {
      expect(error).toBeInstanceOf(ParleyError);
      expect(error).toMatchObject({ code: "invalid_interim" });
      expect((error as Error).message).toContain('Question "k⟨U+001B⟩[2J" of server "deploy-server"');
      expect(visible((error as Error).message.replaceAll("⟨", "")).warnings).toEqual([]);
    }
  });
});
