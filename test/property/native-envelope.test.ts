/** The quick check of a request says yes only where the SDK's schemas do. */
import { classifyInboundRequest } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isPlainRequest } from "../../src/server/native/envelope.ts";

const some = fc.constantFrom<unknown>(
  undefined,
  null,
  0,
  1,
  1.5,
  2 ** 53,
  true,
  "",
  "x",
  {},
  [],
  { a: true },
  { a: "x" },
);
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 4 });
const often = <T>(right: fc.Arbitrary<T>) => fc.oneof({ weight: 29, arbitrary: right }, { weight: 1, arbitrary: some });
const rarely = fc.oneof({ weight: 19, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: some });
const flags = often(
  fc.dictionary(fc.constantFrom("a", "listChanged", "applyDefaults", "__proto__"), often(fc.boolean())),
);
const capabilities = fc.dictionary(
  fc.constantFrom("elicitation", "elicitation", "sampling", "roots", "extensions", "experimental", "tasks"),
  often(fc.dictionary(fc.constantFrom("form", "url", "tools", "context", "listChanged", "x/y"), flags, { maxKeys: 2 })),
  { maxKeys: 2 },
);
const info = fc.record({
  name: often(fc.string()),
  version: often(fc.string()),
  title: optional(often(fc.string())),
  icons: rarely,
  websiteUrl: optional(often(fc.string())),
  other: rarely,
});
const meta = fc.record({
  "io.modelcontextprotocol/protocolVersion": often(fc.constant("2026-07-28")),
  "io.modelcontextprotocol/clientCapabilities": often(capabilities),
  "io.modelcontextprotocol/clientInfo": optional(often(info)),
  "io.modelcontextprotocol/logLevel": rarely,
  "io.modelcontextprotocol/related-task": rarely,
  progressToken: optional(often(fc.oneof(fc.string(), fc.integer()))),
  traceparent: optional(some),
});
const message = fc.record({
  jsonrpc: often(fc.constant("2.0")),
  id: often(fc.oneof(fc.string(), fc.maxSafeInteger())),
  method: often(fc.constantFrom("tools/call", "tools/list", "initialize")),
  params: often(fc.record({ name: some, _meta: often(meta) })),
  extra: rarely,
});

it("G4 G6 whatever it says yes to, the SDK classifies as a request of this revision", () => {
  let yes = 0;
  fc.assert(
    fc.property(message, (drawn) => {
      // As it would come off the wire: without members that are undefined.
      const body = JSON.parse(JSON.stringify(drawn)) as { method: string };
      if (!isPlainRequest(body)) return;
      yes++;
      const found = classifyInboundRequest({
        httpMethod: "POST",
        protocolVersionHeader: "2026-07-28",
        mcpMethodHeader: body.method,
        body,
      });
      expect(found).toMatchObject({
        kind: "modern",
        messageKind: "request",
        classification: { revision: "2026-07-28" },
      });
    }),
    { numRuns: 3_000 },
  );
  // Or the property says nothing.
  expect(yes).toBeGreaterThan(300);
});

it("what official clients send needs no second look", () => {
  const sent = (capabilities: object) => ({
    jsonrpc: "2.0",
    id: 7,
    method: "tools/call",
    params: {
      name: "t",
      arguments: {},
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "c", version: "1", title: "C" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        progressToken: 7,
      },
    },
  });
  for (const capabilities of [
    {},
    { elicitation: {} },
    { elicitation: { form: { applyDefaults: true }, url: {} }, sampling: { tools: {} }, roots: { listChanged: true } },
    { extensions: { "io.modelcontextprotocol/tasks": {} } },
  ]) {
    expect(isPlainRequest(sent(capabilities))).toBe(true);
  }
});
