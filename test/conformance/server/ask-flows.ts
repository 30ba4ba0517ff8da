import { z } from "zod";
import { type AnyFlow, prompt, tool } from "../../../src/index.ts";
import { text, textOf } from "./content.ts";

const NAME = z.object({ name: z.string() });
const OK = z.object({ ok: z.boolean() });
const userSays = (words: string) => [{ role: "user" as const, content: { type: "text" as const, text: words } }];

/** The suite's nine fixtures for multi round-trip requests, as flows. Names, keys and messages are the suite's. */
export const askFlows: readonly AnyFlow[] = [
  tool("test_input_required_result_elicitation", { description: "Asks for a name" }, async (_args, flow) => {
    // Two scenarios answer on the very first call. A name grants nothing, so this fixture may take it (C24).
    const question = { message: "What is your name?", schema: NAME, unsolicited: "accept" } as const;
    const { name } = await flow.form("user_name", question);
    return text(`Hello, ${name}!`);
  }),

  tool("test_input_required_result_sampling", { description: "Asks a model" }, async (_args, flow) => {
    const messages = userSays("What is the capital of France?");
    const answer = await flow.sample("capital_question", { messages, maxTokens: 100 });
    return text(`The model says: ${textOf(answer)}`);
  }),

  tool("test_input_required_result_list_roots", { description: "Asks for roots" }, async (_args, flow) => {
    const roots = await flow.roots("client_roots");
    return text(`Roots: ${roots.map((root) => root.uri).join(", ")}`);
  }),

  tool("test_input_required_result_request_state", { description: "Keeps state" }, async (_args, flow) => {
    const { ok } = await flow.form("confirm", { message: "Please confirm", schema: OK });
    return text(flow.round === 1 ? `state-ok: ${ok}` : "state-missing");
  }),

  tool("test_input_required_result_multiple_inputs", { description: "Asks three things" }, async (_args, flow) => {
    const [{ name }, greeting, roots] = await Promise.all([
      flow.form("user_name", { message: "What is your name?", schema: NAME }),
      flow.sample("greeting", { messages: userSays("Write a greeting."), maxTokens: 50 }),
      flow.roots("client_roots"),
    ]);
    return text(`${textOf(greeting)} ${name}, ${roots.length} root(s)`);
  }),

  tool("test_input_required_result_multi_round", { description: "Asks twice" }, async (_args, flow) => {
    const { name } = await flow.form("step1", { message: "What is your name?", schema: NAME });
    const colour = { message: "What is your favourite colour?", schema: z.object({ color: z.string() }) };
    const { color } = await flow.form("step2", colour);
    return text(`${name} likes ${color}`);
  }),

  tool("test_input_required_result_tampered_state", { description: "Refuses altered state" }, async (_args, flow) => {
    const { ok } = await flow.form("confirm", { message: "Please confirm", schema: OK });
    return text(`integrity-ok: ${ok}`);
  }),

  tool("test_input_required_result_capabilities", { description: "Asks what it may" }, async (_args, flow) => {
    const [person, model, roots] = await Promise.all([
      flow.supports("elicitation.form")
        ? flow.form("user_name", { message: "What is your name?", schema: NAME })
        : null,
      flow.supports("sampling")
        ? flow.sample("greeting", { messages: userSays("Write a greeting."), maxTokens: 50 })
        : null,
      flow.supports("roots") ? flow.roots("client_roots") : null,
    ]);
    return text(
      JSON.stringify({ name: person?.name, greeting: model ? textOf(model) : undefined, roots: roots?.length }),
    );
  }),

  prompt("test_input_required_result_prompt", { description: "A prompt that asks" }, async (_args, flow) => {
    const question = { message: "What context should the prompt use?", schema: z.object({ context: z.string() }) };
    const { context } = await flow.form("user_context", question);
    return { messages: userSays(`Use this context: ${context}`) };
  }),
];

/** Fixtures of `server-stateless` and `tools-call-with-progress` that have a flow's job to do. */
export const diagnosticFlows: readonly AnyFlow[] = [
  tool("test_missing_capability", { description: "Needs sampling" }, async (_args, flow) =>
    text(textOf(await flow.sample("answer", { messages: userSays("Say pong."), maxTokens: 16 }))),
  ),

  tool("test_streaming_elicitation", { description: "Asks in its result, never on the stream" }, async (_args, flow) =>
    text(String(await flow.confirm("go", "Go on?"))),
  ),

  tool("test_tool_with_progress", { description: "Reports progress" }, async (_args, flow) => {
    for (const progress of [0, 50, 100]) await flow.progress({ progress, total: 100, message: `${progress} of 100` });
    return text("done");
  }),
];
