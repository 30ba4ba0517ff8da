import { describe, expect, it } from "vitest";
import { type PolicyQuestion, type PolicyWarning, readPolicy } from "../../src/policy/index.ts";
import { resolvePointer } from "../../src/policy/pointer.ts";

const form = (properties: object = { confirm: { type: "boolean" } }, required: string[] = []) => ({
  method: "elicitation/create",
  params: { message: "?", requestedSchema: { type: "object", properties, required } },
});
const link = (url: string) => ({ method: "elicitation/create", params: { mode: "url", message: "?", url } });
const ask = (request: object = form(), more: object = {}, destructive = true): PolicyQuestion =>
  ({
    request,
    destructive,
    context: {
      server: { id: "deployer" },
      method: "tools/call",
      target: "deploy",
      params: { arguments: { env: "staging", list: [{ n: 1 }], "a/b~c": "x" } },
      key: "ok",
      round: 1,
      ...more,
    },
  }) as unknown as PolicyQuestion;
const YES = { action: "accept", content: { confirm: true } };

function policy(rule: { when?: object; then?: object }, top: object = {}) {
  const warnings: PolicyWarning[] = [];
  const file = { version: 1, ...top, rules: [{ name: "r", then: YES, ...rule }] };
  return Object.assign(readPolicy(file, { onWarning: (warning) => warnings.push(warning) }), { warnings });
}
const type = (rule: { when?: object; then?: object }, question = ask()) => policy(rule).decide(question).type;
const named = { tool: "deploy" };

describe("conditions", () => {
  it.each([
    ["nothing but the tool", {}, "answer"],
    ["the server", { server: "deployer" }, "answer"],
    ["another server", { server: "Deployer" }, "ask"],
    ["a list with the key", { key: ["no", "ok"] }, "answer"],
    ["a list without the key", { key: ["no", "okay"] }, "ask"],
    ["the kind", { kind: "form" }, "answer"],
    ["an argument", { arguments: { "/env": "staging" } }, "answer"],
    ["another argument", { arguments: { "/env": "prod" } }, "ask"],
    ["one of", { arguments: { "/env": ["dev", "staging"] } }, "answer"],
    ["a glob", { arguments: { "/env": { glob: "st*g" } } }, "answer"],
    ["an anchored glob", { arguments: { "/env": { glob: "tag*" } } }, "ask"],
    ["deep, with an index", { arguments: { "/list/0/n": 1 } }, "answer"],
    ["1 is not text", { arguments: { "/list/0/n": "1" } }, "ask"],
    ["a glob is for text only", { arguments: { "/list/0/n": { glob: "*" } } }, "ask"],
    ["escapes of a pointer", { arguments: { "/a~1b~0c": "x" } }, "answer"],
    ["equals", { arguments: { "/list": { equals: [{ n: 1 }] } } }, "answer"],
    ["the whole", { arguments: { "": { equals: {} } } }, "ask"],
    ["a missing argument matches nothing", { arguments: { "/force": { glob: "*" } } }, "ask"],
    ["nor does null", { arguments: { "/force": null } }, "ask"],
    ["F4 nothing inherited", { arguments: { "/constructor/name": "Object" } }, "ask"],
    ["F4 no length of a list", { arguments: { "/list/length": 1 } }, "ask"],
  ])("%s", (_what, when, expected) => expect(type({ when: { ...named, ...when } })).toBe(expected));

  it("F4: a pointer leads to own members only", () => {
    expect(resolvePointer({ a: [{ b: 1 }] }, ["a", "0", "b"])).toEqual({ found: true, value: 1 });
    for (const path of [["constructor"], ["__proto__"], ["a", "length"], ["a", "00"], ["a", "0", "toString"]]) {
      expect(resolvePointer({ a: [{ b: 1 }] }, path)).toEqual({ found: false });
    }
  });

  it("tool, prompt and resource go with their own methods only", () => {
    expect(type({ when: { prompt: "deploy" } })).toBe("ask");
    expect(type({ when: { prompt: "deploy" } }, ask(form(), { method: "prompts/get" }))).toBe("answer");
    const note = { method: "resources/read", target: "note://one", params: { uri: "note://one" } };
    expect(type({ when: { resource: "note://one" } }, ask(form(), note))).toBe("answer");
  });
});

describe("what may be harmful is accepted by name only", () => {
  const anyTool = { when: { tool: { glob: "*" } } };
  const harmless = ask(form(), {}, false);

  it("a pattern, or no tool at all, does not accept; the exact name and a list of names do", () => {
    expect(type({ when: named })).toBe("answer");
    expect(type({ when: { tool: ["x", "deploy"] } })).toBe("answer");
    expect(type(anyTool)).toBe("ask");
    expect(type({})).toBe("ask");
    const { rules } = policy(anyTool).explain(ask());
    expect(rules[0]).toMatchObject({ outcome: "differs", why: expect.stringContaining("without naming the tool") });
  });

  it("the server's own word counts only for servers the file trusts", () => {
    expect(policy(anyTool).decide(harmless).type).toBe("ask");
    expect(policy(anyTool, { trustAnnotations: ["other"] }).decide(harmless).type).toBe("ask");
    const trusting = policy(anyTool, { trustAnnotations: ["deployer"] });
    expect(trusting.decide(harmless).type).toBe("answer");
    expect(trusting.decide(ask()).type).toBe("ask");
  });

  it("declining and failing need no name; a prompt known as harmless needs none either", () => {
    expect(type({ then: { action: "decline" } })).toBe("answer");
    expect(type({ then: { action: "fail", reason: "no" } })).toBe("fail");
    expect(type({ when: {} }, ask(form(), { method: "prompts/get" }, false))).toBe("answer");
  });
});

describe("an answer that does not fit the question goes to a person, with a warning", () => {
  it("D21 B33: checked against the form that is really asked", () => {
    expect(type({ when: named })).toBe("answer");
    const changed = policy({ when: named });
    expect(changed.decide(ask(form({ reason: { type: "string" } }, ["reason"])))).toEqual({ type: "ask", rule: "r" });
    expect(changed.warnings).toEqual([
      { rule: "r", server: "deployer", key: "ok", reason: expect.stringContaining('"reason" is required') },
    ]);
    expect(type({ when: named }, ask(form({ confirm: { type: "string" } })))).toBe("ask");
  });

  it("D22: no default is filled in", () => {
    const decision = policy({ when: named, then: { action: "accept", content: {} } }).decide(
      ask(form({ confirm: { type: "boolean", default: true } })),
    );
    expect(decision).toMatchObject({ response: { action: "accept", content: {} } });
  });

  it("F1 B35: a field that looks like a secret must be named", () => {
    const question = ask(form({ apiKey: { type: "string" } }));
    const content = { apiKey: "hunter2-hunter2" };
    const silent = policy({ when: named, then: { action: "accept", content } });
    expect(silent.decide(question).type).toBe("ask");
    expect(silent.warnings[0]?.reason).toContain("allowSecretFields");
    expect(JSON.stringify(silent.warnings)).not.toContain("hunter2");
    expect(type({ when: named, then: { action: "accept", content, allowSecretFields: ["apiKey"] } }, question)).toBe(
      "answer",
    );
    // The server's words for it count, not the file's.
    const harmlessName = ask(form({ value: { type: "string", title: "Your password" } }));
    expect(type({ when: named, then: { action: "accept", content: { value: "x" } } }, harmlessName)).toBe("ask");
  });

  it("L8 E20: a link is agreed to on a listed host only, and only if it is safe to open", () => {
    const rule = { when: { ...named, hosts: ["accounts.example.com"] }, then: { action: "accept" } };
    expect(policy(rule).decide(ask(link("https://accounts.example.com/a?b")))).toMatchObject({
      response: { action: "accept" },
    });
    for (const url of [
      "https://accounts.example.com.evil.example/",
      "https://accounts.example.com@evil.example/",
      "https://accounts.example.com:8443/",
      "http://accounts.example.com/",
      "https://me:pw@accounts.example.com/",
      "javascript://accounts.example.com/%0aalert(1)",
      "not a url",
    ]) {
      expect([url, type(rule, ask(link(url)))]).toEqual([url, "ask"]);
    }
    expect(type(rule, ask(form()))).toBe("ask");
  });

  it("F19: a fixed sampling answer where a tool must be used", () => {
    const rule = { when: named, then: { action: "accept", sample: { model: "fixed", text: "4" } } };
    const sample = (more: object) =>
      ask({ method: "sampling/createMessage", params: { messages: [], maxTokens: 5, ...more } });
    expect(policy(rule).decide(sample({}))).toMatchObject({ response: { role: "assistant", model: "fixed" } });
    expect(type(rule, sample({ tools: [], toolChoice: { mode: "required" } }))).toBe("ask");
  });
});

it("says which kinds it may answer, and in which calls (B30)", () => {
  const both = readPolicy({
    version: 1,
    rules: [
      { name: "a", when: { server: "one", tool: "deploy" }, then: YES },
      { name: "b", when: { server: "two" }, then: { action: "accept", roots: [] } },
      { name: "c", then: { action: "fail", reason: "no" } },
    ],
  });
  const kinds = (about?: object) => [...both.answers(about)].sort();
  expect(kinds()).toEqual(["form", "roots"]);
  expect(kinds({ server: "one" })).toEqual(["form"]);
  expect(kinds({ server: "one", method: "prompts/get" })).toEqual([]);
  expect(kinds({ server: "one", target: "other" })).toEqual([]);
  expect(kinds({ server: "three" })).toEqual([]);
});
