import { expect, test } from "vitest";
import { accept, done, form, interim, type Reply, type Seen, scripted } from "./calls-peer.ts";

const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
const listed = { name: "count", inputSchema: { type: "object" }, outputSchema };
const structured = (structuredContent: unknown): Reply => ({ ...(done() as object), structuredContent });

/** Lists one tool with an output schema; its first leg asks, its second ends with `last`. */
const tool =
  (last: Reply) =>
  ({ method, params }: Seen): Reply => {
    if (method === "tools/list")
      return { resultType: "complete", tools: [listed], ttlMs: 60_000, cacheScope: "private" };
    return params["inputResponses"] === undefined ? interim({ a: form() }, "s") : last;
  };

test("A30, B27: a listed output schema is checked against the final result only", async () => {
  const good = await scripted(tool(structured({ n: 1 })));
  await good.client.listTools();
  const responders = { form: async () => accept() };
  const result = await good.calls({ responders }).callTool({ name: "count" });
  expect(result.structuredContent).toEqual({ n: 1 });

  for (const last of [structured({ n: "1" }), done()]) {
    const bad = await scripted(tool(last));
    await bad.client.listTools();
    const failure = bad.calls({ responders }).callTool({ name: "count" });
    await expect(failure).rejects.toMatchObject({ code: "invalid_result", details: { server: "files" } });
  }
});

test("a tool list is never fetched just to check a result, and a failed tool needs no structured content", async () => {
  const responders = { form: async () => accept() };
  const cold = await scripted(tool(structured({ n: "1" })));
  await cold.calls({ responders }).callTool({ name: "count" });
  expect(cold.requests.map(({ method }) => method)).toEqual(["tools/call", "tools/call"]);

  const failed = await scripted(tool({ ...(done() as object), isError: true }));
  await failed.client.listTools();
  await expect(failed.calls({ responders }).callTool({ name: "count" })).resolves.toMatchObject({ isError: true });
});

test("a result that the revision's schema refuses is an invalid result; the server's errors stay the SDK's", async () => {
  const odd = await scripted(() => ({ resultType: "complete", content: "text" }));
  await expect(odd.calls().callTool({ name: "count" })).rejects.toMatchObject({ code: "invalid_result" });
  const failing = await scripted(() => ({ error: { code: -32602, message: "no such tool" } }));
  await expect(failing.calls().callTool({ name: "count" })).rejects.toMatchObject({
    name: "ProtocolError",
    code: -32602,
  });
});

test.each([[null], [[]], [7], ["text"]])("B1: a result that is %j is an invalid result at once", async (bad) => {
  const odd = await scripted(() => bad as never);
  const failure = odd.calls().callTool({ name: "count" });
  await expect(failure).rejects.toMatchObject({ code: "invalid_result", details: { server: "files" } });
  await expect(failure).rejects.toThrow(/not an object/);
  expect(odd.requests).toHaveLength(1);
});
