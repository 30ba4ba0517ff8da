/**
 * B30, B32, B40: a question that nobody was asked is never a refusal. It is not invited in the first place, and where it
 * comes all the same the call ends within a second, naming the question, and nothing goes back to the server.
 */
import { describe, expect, test, vi } from "vitest";
import type { Responders } from "../../src/calls/responder.ts";
import type { ParleyError } from "../../src/errors.ts";
import { terminalResponders } from "../../src/present/index.ts";
import { parley, serving } from "../helpers/cli.ts";
import { CAPABILITIES, done, form, inOrder, interim, link, sampling, scripted } from "../unit/calls-peer.ts";
import { ENTER, FakeTerminal, UP } from "../unit/present-fake-terminal.ts";

const FORCED = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };
const ASKS = { ok: form(), go: link(), sum: sampling(), where: { method: "roots/list" } };

/** Runs a call whose server asks `question` whatever was declared; what ended it, how soon, and all that was sent. */
async function asked(question: Record<string, unknown>, responders: Responders, capabilities: object | null = FORCED) {
  const peer = await scripted(inOrder(interim(question, "state"), done()));
  const start = performance.now();
  const ended = await peer
    .calls({ tasks: false, responders })
    .open("tools/call", { name: "deploy" }, capabilities === null ? {} : { capabilities })
    .then((call) => call.run())
    .catch((error: ParleyError) => error);
  return { ended, ms: performance.now() - start, sent: peer.requests, wire: JSON.stringify(peer.requests) };
}

describe("B40: the declaration is there, and nobody behind it", () => {
  test.each(Object.entries(ASKS))("no surface at all: %s", async (key, question) => {
    const { ended, ms, sent, wire } = await asked({ [key]: question }, {});
    expect(ended).toMatchObject({ code: "unanswerable", details: { key, server: "files" } });
    expect((ended as Error).message).toContain(`"${key}" for "files"`);
    expect(ms).toBeLessThan(1000);
    expect(sent).toHaveLength(1);
    expect(wire).not.toMatch(/decline|cancel|inputResponses/);
  });

  test.each(Object.entries(ASKS))("a terminal that is none, made to declare: %s", async (key, question) => {
    const terminal = new FakeTerminal();
    terminal.output.isTTY = false;
    const { input, output } = terminal;
    const responders = terminalResponders({
      input,
      output,
      declareWithoutTerminal: true,
      model: async () => ({ role: "assistant", model: "m", content: { type: "text", text: "made up" } }),
      modelTools: true,
      roots: { roots: [] },
    });
    const { ended, ms, sent, wire } = await asked({ [key]: question }, responders, null);
    expect(ended).toMatchObject({ code: "unanswerable", details: { key, server: "files" } });
    expect((ended as Error).message).toContain("there is no terminal to ask at");
    expect(ms).toBeLessThan(1000);
    expect(sent).toHaveLength(1);
    expect(wire).not.toMatch(/decline|cancel|inputResponses/);
    expect(terminal.output.written).toBe("");
  });

  test("positive control: a person's no is a decline, and it is on the wire", async () => {
    const terminal = new FakeTerminal();
    const { input, output } = terminal;
    const running = asked({ ok: form() }, terminalResponders({ input, output, settleMs: 2 }));
    await terminal.at("Agree to what", UP, ENTER);
    const { sent } = await running;
    expect(sent[1]?.params).toMatchObject({ inputResponses: { ok: { action: "decline" } } });
  });
});

describe("B32: a surface wrapped in two layers, one of which forgets a member", () => {
  type Layer = (inner: Responders) => Responders;
  const wrapped =
    (forgets?: keyof Responders): Layer =>
    (inner) =>
      Object.fromEntries(
        Object.entries(inner)
          .filter(([name]) => name !== forgets)
          .map(([name, member]) => [
            name,
            typeof member === "function"
              ? (...args: never[]) => (member as (...all: never[]) => unknown)(...args)
              : member,
          ]),
      );
  const surface = (): Responders => ({
    form: async () => ({ action: "accept", content: {} }),
    url: async () => ({ action: "accept" }),
  });
  const through = (...layers: Layer[]) => layers.reduce((inner, layer) => layer(inner), surface());

  test("positive control: both layers pass everything on", async () => {
    const { sent } = await asked({ ok: form() }, through(wrapped(), wrapped()));
    expect(sent[1]?.params).toMatchObject({ inputResponses: { ok: { action: "accept" } } });
  });

  test.each([0, 1])(
    "layer %i forgets the form: not declared, and an error where it was declared by force",
    async (at) => {
      const layers = [wrapped(), wrapped()];
      layers[at] = wrapped("form");
      const forced = await asked({ ok: form() }, through(...layers));
      expect(forced.ended).toMatchObject({ code: "unanswerable", details: { key: "ok" } });
      expect(forced.sent).toHaveLength(1);
      expect(forced.wire).not.toMatch(/decline|inputResponses/);

      const honest = await asked({ ok: form() }, through(...layers), null);
      expect(honest.sent[0]?.params._meta[CAPABILITIES]).toEqual({ elicitation: { url: {} } });
      expect(honest.ended).toMatchObject({ code: "invalid_interim" });
    },
  );

  test("a layer that passes nothing back is an error too, not an answer", async () => {
    const mute: Layer = (inner) => ({ ...inner, form: (async () => undefined) as never });
    const { ended, wire } = await asked({ ok: form() }, through(mute, wrapped()));
    expect(ended).toMatchObject({ code: "invalid_content", details: { key: "ok" } });
    expect(wire).not.toMatch(/decline|cancel|inputResponses/);
  });
});

test("B30: a kind that was not declared is shown to nobody", async () => {
  const terminal = new FakeTerminal();
  const roots = vi.fn(async () => ({ roots: [] }));
  const { url: _none, ...responders } = terminalResponders({ input: terminal.input, output: terminal.output });
  const { ended } = await asked({ go: link() }, { ...responders, roots }, null);
  expect(ended).toMatchObject({ code: "invalid_interim" });
  expect(terminal.output.written).toBe("");
  expect(roots).not.toHaveBeenCalled();
});

test("B40: the command line without a terminal ends at once, with what was to be asked", async () => {
  const server = await serving("flows.mjs");
  try {
    const { code, err } = await parley(["call", server.url, "twice"]);
    expect({ code, err }).toEqual({
      code: 3,
      err: expect.stringMatching(/needs to ask \(elicitation.form\), and nothing here can answer: give an answer/),
    });
  } finally {
    await server.stop();
  }
});
