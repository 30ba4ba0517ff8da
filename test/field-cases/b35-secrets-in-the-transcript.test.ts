/** B35: secrets typed into forms end up in the transcript. Everything a host could log is searched for what was typed. */
import { expect, test } from "vitest";
import { terminalResponders } from "../../src/present/index.ts";
import { done, form, inOrder, interim, scripted } from "../unit/calls-peer.ts";
import { ENTER, FakeTerminal } from "../unit/present-fake-terminal.ts";

const SECRET = "hunter2-correct-horse";
const KEY = { apiKey: { type: "string", title: "API key", minLength: 30 } };

test("B35/F1: a form that asks for a key is refused, and the warning names the server", async () => {
  const terminal = new FakeTerminal();
  const peer = await scripted(inOrder(interim({ key: form(KEY) }, "s"), done()));
  const call = peer.calls({ responders: terminalResponders({ input: terminal.input, output: terminal.output }) });
  await expect(call.callTool({ name: "t" })).rejects.toMatchObject({ code: "unanswerable" });
  expect(terminal.text).toContain("server “files” asks for a secret in field “apiKey”");
  expect(peer.requests).toHaveLength(1);
});

test("B35: where the host allows it, what is typed is nowhere but in the answer", async () => {
  const terminal = new FakeTerminal();
  const { input, output } = terminal;
  const peer = await scripted(
    inOrder(interim({ key: form(KEY), other: form({ note: { type: "string" } }) }, "s"), done()),
  );
  const responders = terminalResponders({ input, output, settleMs: 2, allowSecretFields: ["apiKey"] });
  const running = peer.calls({ responders }).callTool({ name: "t" });
  await terminal.at("Answer?", ENTER);
  // Too short at first: the complaint repeats nothing either.
  await terminal.at("Text for field 1", SECRET, ENTER);
  await terminal.at("at least 30", SECRET, ENTER);
  await terminal.at("Nothing is sent before", ENTER);
  await terminal.at("Answer?", ENTER);
  await terminal.at("Text for field 1", "a note", ENTER);
  await terminal.at("Nothing is sent before", ENTER);
  await terminal.shows("“API key”: ••••••••");
  await terminal.shows("“note”: “a note”");
  await terminal.at("Send these 2 answers?", ENTER);
  await running;

  expect(peer.requests[1]?.params).toMatchObject({ inputResponses: { key: { content: { apiKey: SECRET + SECRET } } } });
  // Positive control: what is no secret is on the screen.
  expect(terminal.text).toContain("a note");
  for (const piece of [SECRET, "hunter2", "correct-horse"]) {
    expect(terminal.output.written).not.toContain(piece);
    expect(JSON.stringify(peer.events)).not.toContain(piece);
  }
});

test("B35: an answer that is refused on the way out is not repeated in the error", async () => {
  const peer = await scripted(inOrder(interim({ key: form(KEY) }, "s"), done()));
  const responders = { form: async () => ({ action: "accept" as const, content: { apiKey: SECRET } }) };
  const error = await peer
    .calls({ responders })
    .callTool({ name: "t" })
    .catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ code: "invalid_content" });
  expect(`${(error as Error).stack} ${JSON.stringify(error)} ${JSON.stringify(peer.events)}`).not.toContain(SECRET);
});
