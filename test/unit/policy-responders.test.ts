import { describe, expect, it } from "vitest";
import type { Responders } from "../../src/calls/index.ts";
import { type PolicyRecord, policyResponders, readPolicy, toolHarm } from "../../src/policy/index.ts";
import { accept, CAPABILITIES, done, form, inOrder, interim, link, sampling, scripted } from "./calls-peer.ts";

const file = (...rules: object[]) => readPolicy({ version: 1, rules });
const yes = { name: "yes", when: { tool: "t", key: "ok" }, then: { action: "accept", content: {} } };
const no = { name: "no thanks", when: { key: "ok" }, then: { action: "decline" } };
const person: Responders = { form: async () => accept({}) };
const wire = (peer: { requests: { params: object }[] }, at: number) =>
  (peer.requests[at]?.params as { inputResponses?: unknown } | undefined)?.inputResponses;

async function call(responders: Responders, ...questions: object[]) {
  const peer = await scripted(
    inOrder(interim(Object.fromEntries(questions.map((one, at) => [at ? `k${at}` : "ok", one])), "s"), done()),
  );
  const outcome = peer.calls({ tasks: false, responders }).callTool({ name: "t" });
  const ended = await outcome.then(
    () => "complete",
    (error: { code: string; message: string }) => error,
  );
  return { peer, ended };
}

describe("policyResponders", () => {
  it("answers by a rule, and the record names it and holds no content", async () => {
    const records: PolicyRecord[] = [];
    const { peer, ended } = await call(
      policyResponders(file(yes), person, { onDecision: (one) => records.push(one) }),
      form(),
    );
    expect(ended).toBe("complete");
    expect(wire(peer, 1)).toEqual({ ok: { action: "accept", content: {} } });
    expect(records).toEqual([
      {
        rule: "yes",
        action: "accept",
        server: "files",
        method: "tools/call",
        target: "t",
        key: "ok",
        kind: "form",
        round: 1,
      },
    ]);
    expect(peer.events.find(({ type }) => type === "answered")).toMatchObject({ key: "ok", by: "policy:yes" });
  });

  it("D1: a person's answer has no decider", async () => {
    const { peer } = await call(policyResponders(file(), person), form());
    expect(peer.events.find(({ type }) => type === "answered")).not.toHaveProperty("by");
  });

  it("B32 D1: a rule may decline, and then it is the rule's", async () => {
    const { peer } = await call(policyResponders(file(no), person), form());
    expect(wire(peer, 1)).toEqual({ ok: { action: "decline" } });
    expect(peer.events.find(({ type }) => type === "answered")).toMatchObject({ by: "policy:no thanks" });
  });

  it("a rule that fails ends the call with its reason; nothing is answered", async () => {
    const stop = { name: "stop", then: { action: "fail", reason: "not on Fridays" } };
    const { peer, ended } = await call(policyResponders(file(stop, yes), person), form());
    expect(ended).toMatchObject({
      code: "unanswerable",
      message: expect.stringContaining('"stop" says: not on Fridays'),
    });
    expect(peer.requests).toHaveLength(1);
  });

  it("B40: where nobody is left to ask the call fails by name", async () => {
    const { peer, ended } = await call(policyResponders(file({ ...yes, when: { tool: "t", key: "other" } })), form());
    expect(ended).toMatchObject({ code: "unanswerable", message: expect.stringContaining('"ok"') });
    expect(peer.requests).toHaveLength(1);
  });

  it("B32: two layers, one of which forgets a member: an error, never a decline", async () => {
    const surface: Responders = { form: async () => accept({}), url: async () => ({ action: "accept" }) };
    const layers = (inner: Responders) => policyResponders(file(no), policyResponders(file(), inner));
    const { peer, ended } = await call(layers(surface), link());
    expect(ended).toBe("complete");
    expect(wire(peer, 1)).toEqual({ ok: { action: "decline" } });
    const { url: _forgotten, ...forgetful } = surface;
    const other = file({ ...no, when: { key: "another" } });
    const broken = await call(policyResponders(other, policyResponders(file(), forgetful)), link());
    expect(broken.ended).toMatchObject({ code: "unanswerable" });
    expect(broken.peer.requests).toHaveLength(1);
  });

  it("B30: a kind is declared when somebody or some rule may answer it, and not otherwise", async () => {
    const declared = async (responders: Responders) =>
      (await call(responders)).peer.requests[0]?.params._meta[CAPABILITIES];
    expect(await declared(policyResponders(file(), {}))).toEqual({});
    expect(await declared(policyResponders(file(), person))).toEqual({ elicitation: { form: {} } });
    expect(await declared(policyResponders(file(yes), {}))).toEqual({ elicitation: { form: {} } });
    expect(await declared(policyResponders(file(yes), {}, { about: { target: "u" } }))).toEqual({});
    const sample = { name: "s", then: { action: "accept", sample: { model: "m", text: "t" } } };
    expect(await declared(policyResponders(file(sample), {}))).toEqual({ sampling: {} });
    const all: Responders = {
      ...person,
      sample: async () => ({}) as never,
      sampleTools: true,
      roots: async () => ({ roots: [] }),
    };
    expect(await declared(policyResponders(file(), all))).toEqual({
      elicitation: { form: {} },
      sampling: { tools: {} },
      roots: {},
    });
  });

  it("answers sampling and roots", async () => {
    const rules = file(
      { name: "s", when: { tool: "t" }, then: { action: "accept", sample: { model: "m", text: "t" } } },
      { name: "r", when: { tool: "t" }, then: { action: "accept", roots: [{ uri: "file:///a" }] } },
    );
    const { peer } = await call(policyResponders(rules), sampling(), { method: "roots/list" });
    expect(wire(peer, 1)).toEqual({
      ok: { role: "assistant", content: { type: "text", text: "t" }, model: "m" },
      k1: { roots: [{ uri: "file:///a" }] },
    });
  });

  it("an observer that throws changes nothing", async () => {
    const onDecision = () => {
      throw new Error("full");
    };
    expect((await call(policyResponders(file(yes), {}, { onDecision }), form())).ended).toBe("complete");
  });
});

describe("toolHarm", () => {
  const tools = [
    { name: "reads", annotations: { readOnlyHint: true } },
    { name: "adds", annotations: { destructiveHint: false } },
    { name: "deletes", annotations: { destructiveHint: true } },
    { name: "silent" },
  ].map((tool) => ({ ...tool, inputSchema: { type: "object" } }));

  it("only an explicit word makes a tool harmless, and an unreadable list makes none so", async () => {
    const good = await scripted(() => ({
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      tools,
    }));
    const harm = toolHarm(good.client);
    expect(await Promise.all(["reads", "adds", "deletes", "silent", "unknown"].map(harm))).toEqual([
      false,
      false,
      true,
      true,
      true,
    ]);
    expect(good.requests).toHaveLength(1);
    const twice = tools.map((tool) => ({ ...tool, name: "twice" }));
    const both = await scripted(() => ({ resultType: "complete", ttlMs: 0, cacheScope: "private", tools: twice }));
    expect(await toolHarm(both.client)("twice"), "a name that is listed twice").toBe(true);
    const bad = await scripted(() => ({ error: { code: -32603, message: "no" } }));
    expect(await toolHarm(bad.client)("reads")).toBe(true);
  });

  it("is asked for servers only whose annotations the file trusts", async () => {
    const anyTool = { name: "any", then: { action: "accept", content: {} } };
    let asked = 0;
    const destructive = () => {
      asked += 1;
      return false;
    };
    const wary = await call(policyResponders(file(anyTool), {}, { destructive }), form());
    expect(wary.ended).toMatchObject({ code: "unanswerable" });
    expect(asked).toBe(0);
    const trusting = readPolicy({ version: 1, trustAnnotations: ["files"], rules: [anyTool] });
    expect((await call(policyResponders(trusting, {}, { destructive }), form())).ended).toBe("complete");
    expect(asked).toBe(1);
  });
});
