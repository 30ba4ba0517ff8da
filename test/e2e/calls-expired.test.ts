/** How long a question can wait (README): as long as its state, and what becomes of the call after that. */
import { afterEach, describe, expect, it } from "vitest";
import { createCalls } from "../../src/client.ts";
import { createParley, type ParleyOptions, tool } from "../../src/index.ts";
import { memoryLedger } from "../../src/ledger/memory.ts";
import { connect } from "../helpers/http.ts";
import { serveFlows } from "../helpers/mounts.ts";

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** A call whose second question takes `thinkMs` to answer, the first time. */
async function play(thinkMs: number, options: ParleyOptions) {
  let nowMs = 1_000_000;
  const keys: string[] = [];
  const asked: string[] = [];
  const flow = tool("t", {}, async (_args, flow) => {
    await flow.step("plan", ({ idempotencyKey }) => void keys.push(idempotencyKey));
    const both = [await flow.confirm("a", "A?"), await flow.confirm("b", "B?")];
    return { content: [{ type: "text", text: both.join() }] };
  });
  const key = Buffer.from("0123456789abcdef0123456789abcdef");
  const parley = createParley({ keys: [key], callers: "anonymous", now: () => nowMs, ...options });
  const server = await serveFlows("native", parley, [flow]);
  const client = await connect(server.url);
  closers.push(
    () => server.close(),
    () => client.close(),
  );
  const calls = createCalls(client, {
    server: "s",
    responders: {
      form: async ({ message }) => {
        asked.push(message);
        if (asked.length === 2) nowMs += thinkMs;
        return { action: "accept", content: { confirm: true } };
      },
    },
  });
  const result = await calls.callTool({ name: "t" });
  return { result, keys, asked };
}

describe.each([
  ["without a ledger", () => ({})],
  ["with a ledger", () => ({ ledger: memoryLedger() })],
])("L13 B44: an answer that comes late, %s", (_, options) => {
  it.each([
    ["the default", 599_000, {}],
    ["a longer life", 86_400_000, { limits: { roundTtlMs: 7 * 86_400_000 } }],
  ])("counts within %s of its state", async (_life, thinkMs, limits) => {
    const { result, keys, asked } = await play(thinkMs, { ...options(), ...limits });
    expect(result.content).toEqual([{ type: "text", text: "true,true" }]);
    expect([asked, keys.length]).toEqual([["A?", "B?"], 1]);
  });

  it("makes a new call after that: all is asked again, and steps run again under other keys", async () => {
    const { result, keys, asked } = await play(600_001, options());
    expect(result.content).toEqual([{ type: "text", text: "true,true" }]);
    expect(asked).toEqual(["A?", "B?", "A?", "B?"]);
    expect(new Set(keys).size).toBe(2);
  });
});
