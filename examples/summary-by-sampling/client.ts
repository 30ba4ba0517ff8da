/**
 * Checks the story over HTTP with a scripted model: it reads notes by tool, one or several at once, and answers.
 * A model that never stops asking is made to answer; one that is refused, or absent, ends or shortens the call.
 * Run: npx vitest run test/e2e/examples.test.ts -t summary-by-sampling
 */
import assert from "node:assert/strict";
import { createCalls, type SamplingParams, type SamplingResult } from "mcp-parley/client";
import { sampled } from "mcp-parley/testing";
import { connect, textOf } from "../shared/client.ts";

type Model = (params: SamplingParams) => SamplingResult;

export async function check(url: string): Promise<void> {
  const client = await connect(url);
  const keys: string[] = [];
  const summarizeWith = (model: Model) =>
    createCalls(client, {
      server: "notes",
      responders: {
        sampleTools: true,
        sample: async (params, { key }) => {
          keys.push(key);
          return model(params);
        },
      },
    }).callTool({ name: "summarize_week", arguments: { words: 20 } });

  try {
    const answered = await summarizeWith(({ messages, toolChoice }) => {
      assert.equal(toolChoice?.mode, "auto");
      if (messages.length === 1) return uses({ day: "monday" });
      if (messages.length === 3) return uses({ day: "tuesday" }, { day: "../secrets" });
      assert.equal(messages.length, 5, "the history is sent again, whole");
      return sampled(resultsIn(messages).join(" / "));
    });
    assert.equal(
      textOf(answered),
      "Login fails for new users since the release. / Cause found: the mail queue was full. Fixed at noon. / There is no such note.",
    );
    assert.deepEqual(keys.splice(0), ["turn-1", "turn-2", "turn-3"]);

    const insatiable = await summarizeWith(({ toolChoice }) =>
      toolChoice?.mode === "none" ? sampled("Enough.") : uses({ day: "monday" }),
    );
    assert.equal(textOf(insatiable), "Enough.");
    assert.deepEqual(keys.splice(0), ["turn-1", "turn-2", "turn-3", "turn-4"], "the loop is bounded");

    const refused = summarizeWith(() => {
      throw new Error("The user said no to sampling.");
    });
    await assert.rejects(refused, { code: "unanswerable" });

    const without = await createCalls(client, { server: "notes" }).callTool({ name: "summarize_week", arguments: {} });
    assert.match(textOf(without), /^The notes:\n/, "without a model the notes themselves are the answer");
  } finally {
    await client.close();
  }
}

/** A model's turn that uses `read_note` once per input. */
function uses(...inputs: { day: string }[]): SamplingResult {
  return {
    role: "assistant",
    model: "scripted",
    stopReason: "toolUse",
    content: inputs.map((input, index) => ({ type: "tool_use", id: `use-${index}`, name: "read_note", input })),
  };
}

function resultsIn(messages: SamplingParams["messages"]): string[] {
  return messages
    .flatMap(({ content }) => content)
    .flatMap((block) => (block.type === "tool_result" ? block.content : []))
    .map((block) => (block.type === "text" ? block.text : ""));
}
