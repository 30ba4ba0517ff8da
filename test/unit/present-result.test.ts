import { describe, expect, it } from "vitest";
import { jsonText, renderResult } from "../../src/present/result.ts";

const HOSTILE = "a\u001b[2Jb\u202ec\u009b2J\u200b\u{e0041}\u2028d";

describe("what is printed of a result", () => {
  it("T1 U1 U2 U3 JSON reads back the same, and holds no hidden character", () => {
    const value = { [HOSTILE]: [HOSTILE, "ä 日本 🙂"] };
    const text = jsonText(value);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(text).toContain("ä 日本 🙂");
  });

  it("T1 every text is escaped, and no part is left out", () => {
    const content = [
      { type: "text", text: HOSTILE },
      { type: "image", data: "AAAA", mimeType: "image/\u001bpng" },
      { type: "resource_link", uri: "file:///\u202e", name: "n" },
      { type: "resource", resource: { uri: "x:1", text: "in\u001b" } },
      { type: "resource", resource: { uri: "x:2", blob: "AAAA" } },
    ];
    const lines = renderResult("tools/call", { content } as never).split("\n");
    expect(lines).toHaveLength(content.length);
    expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    expect(lines[1]).toMatch(/^\[image .*png, 3 bytes\]$/);
  });

  it("a long text is printed whole, structured content where there is no text", () => {
    const long = "line\n".repeat(5000);
    expect(renderResult("tools/call", { content: [{ type: "text", text: long }] })).toBe(long);
    expect(renderResult("tools/call", { content: [], structuredContent: { n: 1 } })).toBe('{"n":1}');
  });

  it("prompts and resources", () => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "hi" } }];
    expect(renderResult("prompts/get", { messages })).toBe("user: hi");
    expect(
      renderResult("resources/read", {
        contents: [
          { uri: "x:1", text: "t" },
          { uri: "x:2", blob: "AAAA" },
        ],
      }),
    ).toBe("t\n[x:2 of unknown type, 3 bytes]");
  });
});
