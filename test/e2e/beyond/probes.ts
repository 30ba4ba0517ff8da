import { expect } from "vitest";
import { accept, prompt, roots, sampled, tool } from "./wire.ts";

/**
 * A check of the suite's fixtures that the suite does not make: the positive control first, then one change (B12). The
 * label of an assertion says what went wrong.
 */
export type Probe = (url: string) => Promise<void>;

const T = (name: string) => `test_input_required_result_${name}`;
const REFUSED = { status: 200, code: -32602, reason: "invalid_request_state", text: undefined };

/** Asks `name` and answers with `answers` and the state that came back. */
async function roundTrip(url: string, name: string, answers: object) {
  const asked = await tool(url, T(name));
  expect(asked.asks, "the questions").toEqual(Object.keys(answers));
  expect(asked.state, "a state").not.toBe("");
  return { asked, done: await tool(url, T(name), { answers, state: asked.state }) };
}

export const probes = {
  "B15 A18 an answer is used, and only an answer is": async (url) => {
    for (const name of ["Ada", "Bo"]) {
      const { done } = await roundTrip(url, "elicitation", { user_name: accept({ name }) });
      expect(done.text, "the answer is used").toBe(`Hello, ${name}!`);
    }
    const { state } = await tool(url, T("elicitation"));
    const none = [{}, null, { other: accept({ name: "Ada" }) }, { user_name: 12345 }, { user_name: null }];
    const wrong = [{ action: "accept" }, accept({}), accept({ name: 7 }), { action: "yes", content: { name: "Ada" } }];
    for (const answers of [...none, ...wrong.map((user_name) => ({ user_name }))]) {
      const asked = await tool(url, T("elicitation"), { answers, state });
      expect(asked.asks, `no answer: ${JSON.stringify(answers)}`).toEqual(["user_name"]);
    }
  },

  "the sampled text is used": async (url) => {
    for (const words of ["Paris", "not Paris"]) {
      const { done } = await roundTrip(url, "sampling", { capital_question: sampled(words) });
      expect(done.text, "the answer is used").toContain(`: ${words}`);
    }
  },

  "the roots are used": async (url) => {
    const { done } = await roundTrip(url, "list_roots", { client_roots: roots("file:///one", "file:///two") });
    expect(done.text, "the answer is used").toContain("file:///one, file:///two");
  },

  "B11 an answer without the state of its question does not count": async (url) => {
    for (const ok of [true, false]) {
      const { done } = await roundTrip(url, "request_state", { confirm: accept({ ok }) });
      expect(done.text, "the answer is used").toBe(`state-ok: ${ok}`);
    }
    const cold = await tool(url, T("request_state"), { answers: { confirm: accept({ ok: true }) } });
    expect(cold.asks, "answered cold").toEqual(["confirm"]);
    const asked = await prompt(url, T("prompt"));
    const answers = { user_context: accept({ context: "tests" }) };
    expect((await prompt(url, T("prompt"), { answers, state: asked.state })).text).toContain("tests");
    expect((await prompt(url, T("prompt"), { answers })).asks, "answered cold").toEqual(["user_context"]);
  },

  "C3 an altered state is refused, wherever it was altered": async (url) => {
    const answers = { confirm: accept({ ok: true }) };
    const { asked, done } = await roundTrip(url, "tampered_state", answers);
    expect(done.text).toBe("integrity-ok: true");
    const { state } = asked;
    const flipped = (at: number) =>
      state.slice(0, at) + (state.at(at) === "A" ? "B" : "A") + state.slice(at === -1 ? state.length : at + 1);
    const altered = [
      flipped(0),
      flipped(state.length >> 1),
      flipped(-1),
      state.slice(0, -4),
      `${state}AAAA`,
      "abc",
      "",
    ];
    for (const bad of altered) {
      expect(await tool(url, T("tampered_state"), { answers, state: bad }), "altered").toMatchObject(REFUSED);
    }
  },

  "C7 a state belongs to the tool it was made for": async (url) => {
    const answers = { confirm: accept({ ok: true }) };
    const { asked, done } = await roundTrip(url, "request_state", answers);
    expect(done.text).toBe("state-ok: true");
    const elsewhere = await tool(url, T("tampered_state"), { answers, state: asked.state });
    expect(elsewhere, "another tool").toMatchObject(REFUSED);
  },

  "earlier answers are kept, and no round can be skipped": async (url) => {
    const { asked: first, done: second } = await roundTrip(url, "multi_round", { step1: accept({ name: "Ada" }) });
    expect(second.asks).toEqual(["step2"]);
    expect(second.state).not.toBe(first.state);
    const step2 = { step2: accept({ color: "green" }) };
    const done = await tool(url, T("multi_round"), { answers: step2, state: second.state });
    expect(done.text).toBe("Ada likes green");
    // The state decides which round it is, not the answers: an older one leads back, never forward.
    const back = await tool(url, T("multi_round"), { answers: step2, state: first.state });
    expect(back.asks).toEqual(["step1"]);
    const changed = { step1: accept({ name: "Eve" }), ...step2 };
    const kept = await tool(url, T("multi_round"), { answers: changed, state: second.state });
    expect(kept.text).toBe("Ada likes green");
  },

  "A19 answers may come one by one; what was accepted stays": async (url) => {
    const user_name = accept({ name: "Ada" });
    const greeting = sampled("Welcome");
    const client_roots = roots("file:///a");
    const { done } = await roundTrip(url, "multiple_inputs", { user_name, greeting, client_roots });
    expect(done.text).toBe("Welcome Ada, 1 root(s)");
    const asked = await tool(url, T("multiple_inputs"));
    const one = await tool(url, T("multiple_inputs"), { answers: { greeting }, state: asked.state });
    expect(one.asks).toEqual(["user_name", "client_roots"]);
    // An answer of another kind under a right key is no answer.
    const mixedUp = { user_name: client_roots, client_roots };
    const two = await tool(url, T("multiple_inputs"), { answers: mixedUp, state: one.state });
    expect(two.asks).toEqual(["user_name"]);
    const three = await tool(url, T("multiple_inputs"), { answers: { user_name }, state: two.state });
    expect(three.text).toBe("Welcome Ada, 1 root(s)");
  },

  "A12 nothing undeclared is asked": async (url) => {
    const kinds = [
      [{ elicitation: {} }, "elicitation/create", { user_name: accept({ name: "Ada" }) }],
      [{ sampling: {} }, "sampling/createMessage", { greeting: sampled("Hi") }],
      [{ roots: {} }, "roots/list", { client_roots: roots("file:///a") }],
    ] as const;
    for (const [capabilities, method, answers] of kinds) {
      const asked = await tool(url, T("capabilities"), { capabilities });
      expect(asked.methods, "what was declared").toEqual([method]);
      const done = await tool(url, T("capabilities"), { capabilities, answers, state: asked.state });
      expect(done.text).toMatch(/Ada|Hi|"roots":1/);
    }
    expect((await tool(url, T("capabilities"), { capabilities: {} })).text).toBe("{}");
    const needed = await tool(url, T("request_state"), { capabilities: { sampling: {} } });
    expect(needed).toMatchObject({ status: 400, code: -32021 });
  },

  "B14 A24 decline and cancel end the call, politely and at once": async (url) => {
    const confirm = accept({ ok: true });
    expect((await roundTrip(url, "request_state", { confirm })).done.text).toBe("state-ok: true");
    for (const [action, word] of [
      ["decline", "declined"],
      ["cancel", "cancelled"],
    ] as const) {
      const { done } = await roundTrip(url, "request_state", { confirm: { action } });
      expect(done, `after ${action}`).toMatchObject({ status: 200, code: undefined, asks: [] });
      expect(done.text).toContain(word);
    }
  },
} satisfies Record<string, Probe>;

export type ProbeName = keyof typeof probes;
