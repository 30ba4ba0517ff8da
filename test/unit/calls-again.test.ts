import { expect, test } from "vitest";
import { inOrder, scripted } from "./calls-peer.ts";

const again = (reason: string) => ({ error: { code: -32603, message: "later", data: { reason } } });
const done = { resultType: "complete", content: [] };

test.each(["ledger_unavailable", "round_running"])(
  "L14: a server that says %s gets the same request once more, under the same call id",
  async (reason) => {
    const peer = await scripted(inOrder(again(reason), done));
    await expect(peer.calls().callTool({ name: "t" })).resolves.toMatchObject({ content: [] });
    const [first, second] = peer.requests.map(({ params }) => params["_meta"] as Record<string, unknown>);
    expect(second?.["mcp-parley/call-id"]).toBe(first?.["mcp-parley/call-id"]);
    expect(first?.["mcp-parley/call-id"]).toMatch(/^[0-9a-f]{32}$/);
  },
);

test("another internal error is final", async () => {
  const peer = await scripted(inOrder(again("flow_diverged"), done));
  await expect(peer.calls().callTool({ name: "t" })).rejects.toMatchObject({ code: -32603 });
  expect(peer.requests).toHaveLength(1);
});
