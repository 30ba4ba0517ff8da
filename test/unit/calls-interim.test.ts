import { expect, test, vi } from "vitest";
import { ParleyError } from "../../src/errors.ts";
import { accept, done, form, inOrder, interim, link, type Reply, sampling, scripted } from "./calls-peer.ts";

const name = "deploy";
const block = (more: object) => ({ type: "tool_result", content: [], ...more });
const use = { role: "assistant", content: [{ type: "tool_use", id: "1", name: "t", input: {} }] };
const messages = (...list: object[]) => sampling({ messages: list, tools: [] });

/** Everything can be answered here, so that only the rule under test can stop a call. */
function everything() {
  const form = vi.fn(async () => accept());
  return { form, url: form, sample: form as never, sampleTools: true, roots: form as never };
}

test.each<[string, object]>([
  ["a form without mode", form()],
  ["a form with members nobody knows", { ...form(), jsonrpc: "2.0", id: 1, extra: true }],
  ["a url", link("http://127.0.0.1:1/x")],
  ["sampling", sampling()],
  ["sampling with a finished tool loop", messages(use, { role: "user", content: block({ toolUseId: "1" }) })],
  ["roots", { method: "roots/list" }],
])("control: %s is accepted", async (_, entry) => {
  const peer = await scripted(inOrder(interim({ k: entry })));
  const call = await peer.calls({ responders: everything() }).open("tools/call", { name });
  expect(call.unanswered).toEqual(["k"]);
});

const elicit = (params: object) => ({ method: "elicitation/create", params });
const schema = { type: "object", properties: {} };
test.each<[string, Reply, string]>([
  ["A6, L10 with neither field", interim(), "A6"],
  ["A6, L10 with two empty fields", interim({}, ""), "A6"],
  ["A8 with a list of requests", interim([form()], "s"), "A8"],
  ["A8 with null requests", interim(null, "s"), "A8"],
  ["C9 with a state that is no string", interim({ k: form() }, 7), "C9"],
  ["C9 with a null state", interim({ k: form() }, null), "C9"],
  ["A8 with an entry that is no object", interim({ k: "form" }), "A8"],
  ["A8 with an unknown method", interim({ k: { method: "sampling/other", params: {} } }), "A8"],
  ["A8 without a method", interim({ k: { params: {} } }), "A8"],
  ["A9 without params", interim({ k: { method: "elicitation/create" } }), "A9"],
  ["A9 with odd roots params", interim({ k: { method: "roots/list", params: [] } }), "A9"],
  ["L31 with an unknown mode", interim({ k: elicit({ mode: "voice", message: "m", requestedSchema: schema }) }), "L31"],
  ["L31 with a null mode", interim({ k: elicit({ mode: null, message: "m", requestedSchema: schema }) }), "L31"],
  ["D3 without a message", interim({ k: elicit({ requestedSchema: schema }) }), "D3"],
  ["D4 without a schema", interim({ k: elicit({ message: "m" }) }), "D4"],
  ["D12 with a nested object", interim({ k: form({ a: { type: "object", properties: {} } }) }), "D4"],
  ["E1 with a url that is none", interim({ k: link("not a url") }), "E1"],
  ["E20 with a javascript url", interim({ k: link("javascript:alert(1)") }), "E20"],
  ["F5 without maxTokens", interim({ k: sampling({ maxTokens: null }) }), "F5"],
  ["F5 without messages", interim({ k: sampling({ messages: null }) }), "F5"],
  ["F6 with an odd role", interim({ k: messages({ role: "system", content: { type: "text", text: "" } }) }), "F6"],
  ["F6 without content", interim({ k: messages({ role: "user" }) }), "F6"],
  [
    "F7 with mixed tool results",
    interim({ k: messages(use, { role: "user", content: [block({ toolUseId: "1" }), { type: "text", text: "" }] }) }),
    "F7",
  ],
  ["F8 with an open tool use", interim({ k: messages(use) }), "F8"],
  [
    "F8 with a late tool result",
    interim({ k: messages(use, { role: "user", content: { type: "text", text: "" } }) }),
    "F8",
  ],
  ["F9 with a stray tool result", interim({ k: messages({ role: "user", content: block({ toolUseId: "1" }) }) }), "F9"],
])("B18: %s the call fails by the rule's name and nobody is asked", async (_, reply, rule) => {
  const responders = everything();
  const peer = await scripted(inOrder(reply));
  const failure = await peer
    .calls({ responders })
    .callTool({ name })
    .catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ParleyError);
  expect(failure).toMatchObject({ code: "invalid_interim", details: { rule, server: "files" } });
  expect(responders.form).not.toHaveBeenCalled();
  expect(peer.requests).toHaveLength(1);
});

test("B18: one bad entry among good ones stops the whole round before anybody is asked", async () => {
  const responders = everything();
  const peer = await scripted(inOrder(interim({ good: form(), bad: { method: "x" } })));
  const failure = peer.calls({ responders }).callTool({ name });
  await expect(failure).rejects.toMatchObject({ details: { key: "bad" } });
  expect(responders.form).not.toHaveBeenCalled();
});

test.each<[string, object, object]>([
  ["url to a form-only host", link(), { elicitation: { form: {} } }],
  ["url to a bare elicitation", link(), { elicitation: {} }],
  ["form to a url-only host", form(), { elicitation: { url: {} } }],
  ["B19 tools without sampling.tools", sampling({ tools: [] }), { sampling: {} }],
  ["B19 toolChoice without sampling.tools", sampling({ toolChoice: { mode: "auto" } }), { sampling: {} }],
  ["sampling undeclared", sampling(), { elicitation: {} }],
  ["roots undeclared", { method: "roots/list" }, {}],
])("A11, B30 (field case): %s fails the call and nothing is displayed", async (_, entry, capabilities) => {
  const responders = everything();
  const peer = await scripted(inOrder(interim({ k: entry }, "s")));
  const failure = peer.calls({ responders }).callTool({ name }, { capabilities });
  await expect(failure).rejects.toMatchObject({ code: "invalid_interim", details: { rule: "A11", key: "k" } });
  expect(responders.form).not.toHaveBeenCalled();
});

test("D24: a bare elicitation declares forms", async () => {
  const peer = await scripted(inOrder(interim({ k: form() }), done()));
  const calls = peer.calls({ responders: everything() });
  await expect(calls.callTool({ name }, { capabilities: { elicitation: {} } })).resolves.toBeDefined();
});

test("L23: a state of up to 1 MiB is echoed, a longer one fails loudly", async () => {
  const most = "é".repeat(512 * 1024);
  const peer = await scripted(inOrder(interim(undefined, most), done()));
  await peer.calls({ pacing: { initialMs: 0 } }).callTool({ name });
  expect(peer.requests[1]?.params["requestState"]).toBe(most);
  const over = await scripted(inOrder(interim(undefined, `${most}x`), done()));
  await expect(over.calls().callTool({ name })).rejects.toMatchObject({ code: "limit_exceeded" });
  expect(over.requests).toHaveLength(1);
});

test("keys are data: __proto__ is asked and answered like any other", async () => {
  const requests = JSON.parse(`{"__proto__":${JSON.stringify(form())},"constructor":${JSON.stringify(form())}}`);
  const peer = await scripted(inOrder(interim(requests), done()));
  await peer.calls({ responders: everything() }).callTool({ name });
  const sent = peer.requests[1]?.params["inputResponses"] as object;
  expect(Object.keys(sent).sort()).toEqual(["__proto__", "constructor"]);
});

test("A4: only the three methods can be driven", async () => {
  const peer = await scripted(inOrder(done()));
  const open = peer.calls().open("tools/list" as never, { name } as never);
  await expect(open).rejects.toMatchObject({ code: "configuration" });
  expect(peer.requests).toHaveLength(0);
});

test("F6: more questions in a round than maxQuestions fail the call before anybody is asked", async () => {
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`q${at}`, form()]));
  const responders = everything();
  const most = await scripted(inOrder(interim(many(64)), done()));
  await most.calls({ responders }).callTool({ name });
  expect(responders.form).toHaveBeenCalledTimes(64);

  responders.form.mockClear();
  const over = await scripted(inOrder(interim(many(65), "s")));
  await expect(over.calls({ responders }).callTool({ name })).rejects.toMatchObject({
    code: "invalid_interim",
    message: expect.stringContaining("65 questions"),
    details: { rule: "maxQuestions", server: "files" },
  });
  expect(responders.form).not.toHaveBeenCalled();
  expect(over.requests).toHaveLength(1);

  const strict = await scripted(inOrder(interim(many(2))));
  const calls = strict.calls({ responders, maxQuestions: 1 });
  await expect(calls.callTool({ name })).rejects.toMatchObject({ details: { rule: "maxQuestions" } });
  const wide = await (await scripted(inOrder(interim(many(65), "s")))).calls({ responders, maxQuestions: 65 });
  const saved = (await wide.open("tools/call", { name })).toJSON();
  expect(() => most.calls({ responders }).resume(saved)).toThrow(
    expect.objectContaining({ code: "invalid_resume", details: { field: "questions" } }),
  );
});
