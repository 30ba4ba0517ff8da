/**
 * An approval that waits for another person, until tomorrow if need be. The request is a task of whoever made it; the
 * reviewer answers through a tool of their own, and the task goes on by itself. Nobody can approve their own request.
 * Run: npx parley serve examples/dist/four-eyes/server.js --port 3000 --bearer-tokens examples/tokens.json
 */
import { type Flow, type ParleyOptions, tool } from "mcp-parley";
import { memoryTasks } from "mcp-parley/tasks/memory";
import { z } from "zod";

interface Request {
  readonly change: string;
  readonly by: string;
  verdict?: { readonly approved: boolean; readonly by: string };
}

/** Stands for your database: whatever process the task goes on in must see it. */
const requests = new Map<string, Request>();
const applied: string[] = [];

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const who = ({ caller }: Flow): string => caller?.subject ?? "";

export const requestChange = tool(
  "request_change",
  {
    description: "Asks for a change, and makes it once another person has approved it",
    inputSchema: z.object({ change: z.string() }),
    background: { ttlMs: 3 * 86_400_000 },
  },
  async ({ change }, flow) => {
    const by = who(flow);
    if (by === "") return text("Sign in to ask for a change.");
    const { id } = await flow.step("request", ({ idempotencyKey }) => {
      if (!requests.has(idempotencyKey)) requests.set(idempotencyKey, { change, by });
      return { id: idempotencyKey };
    });
    // Holds no process while it waits, and outlives the one it began in.
    const decided = await flow.until("review", () => requests.get(id)?.verdict !== undefined, {
      waitMs: 2 * 86_400_000,
    });
    if (!decided) return text(`Nobody reviewed "${change}".`);
    // What was decided is remembered: whatever is written later, this task goes on with this verdict.
    const verdict = await flow.step("verdict", () => requests.get(id)?.verdict ?? { approved: false, by: "nobody" });
    if (!verdict.approved) return text(`${verdict.by} did not approve "${change}".`);
    await flow.step("apply", () => void applied.push(change));
    return text(`"${change}" was approved by ${verdict.by} and is done.`);
  },
);

export const review = tool(
  "review",
  { description: "Shows a change that waits for a second person, and takes their word" },
  async (_args, flow) => {
    const reviewer = who(flow);
    const [id, request] = await flow.step("next", () => {
      // Never one's own: an accept does not widen what a person may do.
      const next = [...requests].find(([, { by, verdict }]) => verdict === undefined && by !== reviewer);
      return next ?? ([null, null] as const);
    });
    if (reviewer === "" || id === null || request === null) return text("There is nothing for you to review.");
    const approved = await flow.confirm(
      "approve",
      `${request.by} asks for this change: ${request.change}. Approve it?`,
    );
    const known = requests.get(id);
    if (known === undefined || known.verdict !== undefined) return text("Somebody else was quicker.");
    known.verdict = { approved, by: reviewer };
    return text(approved ? "Approved." : "Not approved.");
  },
);

/** In memory, so that the example needs nothing; a server that restarts keeps tasks in SQLite or PostgreSQL. */
export const options: ParleyOptions = { callers: "authenticated", tasks: { store: memoryTasks(), pollIntervalMs: 50 } };
export const name = "four-eyes";
export const version = "1.0.0";
export const flows = [requestChange, review];
export default flows;
