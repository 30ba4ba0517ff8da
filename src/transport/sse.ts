/** One event of a `text/event-stream`. Ids and retry times are for resumption, which this client does not do. */
export interface StreamEvent {
  /** `message` unless the stream names another. */
  readonly type: string;
  readonly data: string;
}

/** An event is longer than was allowed; the reader that threw it is of no further use. */
export class EventTooLong extends Error {}

const LINE_END = /\r\n|\n|\r/g;

/**
 * Reads an event stream as the HTML standard says, from bytes cut anywhere: all three line ends, a byte order mark,
 * `data` over several lines, comments (which keep a stream alive and mean nothing, G29). An event that the stream breaks
 * off in does not count.
 */
export class EventStreamReader {
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  /** The line that has not ended yet. */
  #line = "";
  /** The last piece ended in a carriage return: a line feed that comes first belongs to it. */
  #returned = false;
  #type = "";
  #data: string[] = [];
  #length = 0;

  /** @param maxLength longest event, in UTF-16 code units. */
  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /**
   * The events that `bytes` completes.
   * @throws EventTooLong
   */
  *read(bytes: Uint8Array): Generator<StreamEvent> {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return;
    let at = this.#returned && text.startsWith("\n") ? 1 : 0;
    this.#returned = text.endsWith("\r");
    for (const { index, 0: end } of text.matchAll(LINE_END)) {
      if (index < at) continue;
      const line = this.#line + text.slice(at, index);
      this.#line = "";
      at = index + end.length;
      const event = this.#take(line);
      if (event !== undefined) yield event;
    }
    this.#line += text.slice(at);
    this.#bound(this.#line.length);
  }

  #take(line: string): StreamEvent | undefined {
    if (line === "") return this.#dispatch();
    if (line.startsWith(":")) return undefined;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#type = value;
    if (field === "data") {
      this.#bound(value.length);
      this.#data.push(value);
      this.#length += value.length + 1;
    }
    return undefined;
  }

  #dispatch(): StreamEvent | undefined {
    const event = { type: this.#type || "message", data: this.#data.join("\n") };
    const empty = this.#data.length === 0;
    this.#type = "";
    this.#data = [];
    this.#length = 0;
    return empty ? undefined : event;
  }

  #bound(more: number): void {
    if (this.#length + more > this.#maxLength) throw new EventTooLong();
  }
}
