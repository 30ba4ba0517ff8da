/**
 * A summary by sampling, with a tool loop. The client's model reads the notes it wants through a tool that the server
 * runs, a bounded number of turns; each turn is a numbered question that carries the whole conversation.
 * Sampling is deprecated in the revision: prefer your own model. Run: npx parley serve
 * examples/dist/summary-by-sampling/server.js --port 3000
 */
import { type SamplingParams, type SamplingResult, tool } from "mcp-parley";
import { z } from "zod";

/** Turns in all; the last one may not use tools, so that it must answer. */
const MAX_TURNS = 4;

/** Stands for your data. */
const NOTES: ReadonlyMap<string, string> = new Map([
  ["monday", "Login fails for new users since the release."],
  ["tuesday", "Cause found: the mail queue was full. Fixed at noon."],
  ["wednesday", "No new reports."],
]);

const READ_NOTE = {
  name: "read_note",
  description: `Reads one note. There are: ${[...NOTES.keys()].join(", ")}.`,
  inputSchema: { type: "object" as const, properties: { day: { type: "string" } }, required: ["day"] },
};

/** What the model asks for is its claim, not the caller's right: it is looked up in the list that was offered. */
function readNote(input: unknown): { text: string; isError?: boolean } {
  const request = z.object({ day: z.string() }).safeParse(input);
  const note = request.success ? NOTES.get(request.data.day) : undefined;
  return note === undefined ? { text: "There is no such note.", isError: true } : { text: note };
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

export const summarize = tool(
  "summarize_week",
  {
    description: "Summarizes the week's notes",
    inputSchema: z.object({ words: z.int().min(10).max(200).default(50) }),
  },
  async ({ words }, flow) => {
    if (!flow.supports("sampling.tools")) return text(`The notes:\n${[...NOTES.values()].join("\n")}`);
    const messages: SamplingParams["messages"] = [
      { role: "user", content: { type: "text", text: `Summarize the week in at most ${words} words.` } },
    ];
    for (let turn = 1; turn <= MAX_TURNS; turn++) {
      const reply = await flow.sample(`turn-${turn}`, {
        messages,
        maxTokens: 1_000,
        tools: [READ_NOTE],
        toolChoice: { mode: turn === MAX_TURNS ? "none" : "auto" },
      });
      const blocks = blocksOf(reply);
      const uses = blocks.filter((block) => block.type === "tool_use");
      if (uses.length === 0) return text(blocks.map((block) => (block.type === "text" ? block.text : "")).join(""));
      // Every tool use gets its result, in one message of results only; then the whole history goes out again.
      const results = uses.map(({ id, input }) => {
        const { text: note, isError = false } = readNote(input);
        return { type: "tool_result" as const, toolUseId: id, content: text(note).content, isError };
      });
      messages.push({ role: "assistant", content: blocks }, { role: "user", content: results });
    }
    // The last turn forbids tools, and an answer that uses them all the same does not count.
    throw new Error("unreachable");
  },
);

type Block = Exclude<SamplingParams["messages"][number]["content"], unknown[]>;

function blocksOf({ content }: SamplingResult): Block[] {
  return Array.isArray(content) ? content : [content];
}

export const name = "summary-by-sampling";
export const version = "1.0.0";
export const flows = [summarize];
export default flows;
