import { ProtocolError, SdkError, SdkErrorCode, UnauthorizedError } from "@modelcontextprotocol/client";
import { describe, expect, it, test, vi } from "vitest";
import { EXIT, errorLine, oneLine } from "../../src/cli/exit.ts";
import { failureOf, reportFailure } from "../../src/cli/failure.ts";
import { ParleyError, type ParleyErrorCode } from "../../src/errors.ts";

const of = (code: ParleyErrorCode) => failureOf(new ParleyError(code, "what"), "srv").exit;

describe("exit codes", () => {
  it("2 usage and options, 3 unanswered, timed out and aborted, 4 the rest", () => {
    expect(["usage", "configuration", "sdk_incompatible"].map((code) => of(code as never))).toEqual([2, 2, 2]);
    expect(["unanswerable", "human_timeout", "aborted", "invalid_content"].map((code) => of(code as never))).toEqual([
      3, 3, 3, 3,
    ]);
    const failed = ["rounds_exceeded", "invalid_interim", "invalid_result", "leg_timeout", "total_timeout"];
    expect(failed.map((code) => of(code as never))).toEqual([4, 4, 4, 4, 4]);
  });

  it("B17 -32021 means that nothing here can answer: 3, with the capabilities by name", () => {
    const data = { requiredCapabilities: { elicitation: { url: {} }, roots: {} } };
    const failure = failureOf(new ProtocolError(-32_021, "Missing", data), "srv");
    expect(failure.exit).toBe(EXIT.refused);
    expect(failure.message).toContain("elicitation.url, roots");
    for (const hostile of [undefined, null, [], { requiredCapabilities: "x" }, { requiredCapabilities: { a: 1 } }]) {
      expect(failureOf(new ProtocolError(-32_021, "Missing", hostile)).exit).toBe(EXIT.refused);
    }
  });

  it("an error of the server, an unknown caller and a dead connection are 4, each with its remedy", () => {
    expect(failureOf(new ProtocolError(-32_602, "no such tool"))).toMatchObject({ exit: 4, code: -32_602 });
    expect(failureOf(new UnauthorizedError("no"))).toMatchObject({ exit: 4, code: "unauthorized" });
    const http = new SdkError(SdkErrorCode.ClientHttpAuthentication, "401");
    expect(failureOf(http)).toMatchObject({ code: "unauthorized", remedy: expect.stringContaining("--header") });
    const refused = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    const fetchFailed = new TypeError("fetch failed", { cause: new AggregateError([refused]) });
    expect(failureOf(fetchFailed)).toMatchObject({ exit: 4, code: "ECONNREFUSED" });
    expect(failureOf("thrown text")).toMatchObject({ exit: 4, message: expect.stringContaining("thrown text") });
  });

  it("T1 T2 U1 whatever a message holds, the line is one line and shows what is hidden", () => {
    const line = errorLine({ message: "bad\n\r\nparley: fine\u001b[2J\u202e\u009b1m.", remedy: "mend" });
    expect(line).toBe("parley: bad parley: fine⟨U+001B⟩[2J⟨U+202E⟩⟨U+009B⟩1m: mend");
    expect(oneLine("x".repeat(5000)).length).toBeLessThan(2100);
  });

  test.each([
    ["spaces", " "],
    ["line feeds", "\n"],
    ["blank lines", " \n"],
    ["carriage returns", "\t\r"],
    ["full stops", "."],
    ["colons", ": "],
    ["wide spaces", "\u3000"],
  ])("F3 T3: a megabyte of %s with an x at its end is a line at once", (_, unit) => {
    const text = `x${unit.repeat(1_000_000 / unit.length)}x`;
    const started = performance.now();
    const line = errorLine({ message: text, remedy: "mend" });
    expect(`${line}${oneLine(text)}${oneLine(`server: ${text}`)}`).not.toMatch(/[\r\n]/);
    expect(performance.now() - started).toBeLessThan(3000);
  });

  it("T2: white space around line breaks is one space; elsewhere it stays", () => {
    expect(oneLine("  a  b \t\n \r\n  c\rd \n")).toBe("  a  b c d ");
    expect(errorLine({ message: "a. b: .\n", remedy: "mend" })).toBe("parley: a. b: mend");
  });

  it("T1 T2: PARLEY_DEBUG shows a stack whose every line is escaped and set in", () => {
    const error = new Error("bad\u001b[2J\nparley: all is well\u202e\rparley: fine\u009b1m");
    const lines: string[] = [];
    vi.stubEnv("PARLEY_DEBUG", "1");
    try {
      reportFailure(error, { err: (line: string) => lines.push(line) } as never);
    } finally {
      vi.unstubAllEnvs();
    }
    expect(lines.length).toBeGreaterThan(3);
    const [, ...stack] = lines;
    for (const line of stack) expect(line).toMatch(/^ {2}[^\p{C}]+$/u);
    expect(stack.join("\n")).toContain("cli-exit.test.ts");
    expect(stack.join("\n")).toContain("⟨U+001B⟩[2J");
  });
});
