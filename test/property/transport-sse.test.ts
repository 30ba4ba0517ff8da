/** The event stream reader, over any stream cut anywhere (B23, G29). */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventStreamReader, EventTooLong, type StreamEvent } from "../../src/transport/sse.ts";

const LIMIT = 10_000;
const lineEnd = fc.constantFrom("\n", "\r\n", "\r");
/** A line's content: what the format gives a meaning to comes more often than chance would have it. */
const text = fc
  .array(fc.oneof(fc.constantFrom(":", " ", "data", "é", "😀", "\u0000", "\ufeff"), fc.string({ unit: "grapheme" })))
  .map((parts) => parts.join("").replace(/[\r\n]/g, ""));
type Line = { comment: string } | { name: string; value: string };
const name = fc.constantFrom("data", "data", "event", "id", "retry", "data2");
const line: fc.Arbitrary<Line> = fc.oneof(fc.record({ comment: text }), fc.record({ name, value: text }));
const ended = fc.tuple(line, lineEnd);

/** Events as they are written, and as they are meant. */
const stream = fc.array(fc.tuple(fc.array(ended, { maxLength: 5 }), lineEnd), { maxLength: 5 }).map((events) => ({
  meant: events.flatMap(([lines]) => meaning(lines.map(([each]) => each))),
  written: events.map(([lines, end]) => {
    const before = lines.at(-1)?.[1] ?? "\n";
    // After a carriage return a line feed would be no empty line.
    return lines.map(([each, own]) => write(each) + own).join("") + (before === "\r" && end === "\n" ? "\r" : end);
  }),
}));

function write(each: Line): string {
  return "comment" in each ? `:${each.comment}` : `${each.name}:${each.value.startsWith(" ") ? " " : ""}${each.value}`;
}

function meaning(lines: Line[]): StreamEvent[] {
  const of = (wanted: string) => lines.flatMap((each) => ("name" in each && each.name === wanted ? [each.value] : []));
  const data = of("data");
  return data.length === 0 ? [] : [{ type: of("event").at(-1) || "message", data: data.join("\n") }];
}

/** The bytes in pieces that end where `cuts` say. */
function pieces(bytes: Uint8Array, cuts: number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(at[index - 1] ?? 0, end));
}

function read(parts: Iterable<Uint8Array>, limit = LIMIT): StreamEvent[] {
  const reader = new EventStreamReader(limit);
  return [...parts].flatMap((part) => [...reader.read(part)]);
}

const bytesOf = (written: string) => new TextEncoder().encode(written);

describe("the event stream reader", () => {
  it("reads what was written, wherever the bytes are cut and whichever line ends there are", () => {
    fc.assert(
      fc.property(stream, fc.boolean(), fc.array(fc.nat(), { maxLength: 20 }), ({ meant, written }, mark, cuts) => {
        // A comment between events, so that a carriage return and a line feed of two events do not touch.
        const bytes = bytesOf((mark ? "\ufeff" : "") + written.join(":\n"));
        expect(read([bytes])).toEqual(meant);
        expect(read(pieces(bytes, cuts))).toEqual(meant);
        expect(read(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(meant);
      }),
      { numRuns: 500 },
    );
  });

  it("leaves out an event that the stream breaks off in", () => {
    expect(read([bytesOf("data: 1\n\ndata: 2\n\n")])).toHaveLength(2);
    expect(read([bytesOf("data: 1\n\ndata: 2\n")])).toEqual([{ type: "message", data: "1" }]);
  });

  it("gives an event with empty data, and none without data", () => {
    expect(read([bytesOf("data\n\nevent: x\n\n: ping\n\n")])).toEqual([{ type: "message", data: "" }]);
  });

  it.each([
    ["in one line", (n: number) => [`data: ${"x".repeat(n)}\n\n`]],
    ["in many lines", (n: number) => Array.from({ length: n / 10 }, () => `data: ${"x".repeat(9)}\n`)],
    ["in a line that does not end", (n: number) => Array.from({ length: n / 10 }, () => "x".repeat(10))],
  ])("refuses an event that is too long %s, and counts each event anew", (_, make) => {
    const short = make(LIMIT - 10).map(bytesOf);
    expect(() => read([...short, bytesOf("\n\n"), ...short])).not.toThrow();
    expect(() => read(make(LIMIT + 10).map(bytesOf))).toThrow(EventTooLong);
  });
});
