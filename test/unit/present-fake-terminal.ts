/** A terminal in memory: a keyboard that is a stream with raw mode, a screen that remembers every byte. */
import { PassThrough, Writable } from "node:stream";
import { setImmediate, setTimeout } from "node:timers/promises";
import { stripVTControlCharacters } from "node:util";
import type { QuestionContext } from "../../src/calls/responder.ts";

export const ENTER = "\r";
export const ESC = "\x1b";
export const CTRL_C = "\x03";
export const CTRL_D = "\x04";
export const UP = "\x1b[A";
export const DOWN = "\x1b[B";
export const SPACE = " ";

class Keyboard extends PassThrough {
  isTTY = true;
  raw = false;
  setRawMode(raw: boolean): this {
    this.raw = raw;
    return this;
  }
}

class Screen extends Writable {
  isTTY = true;
  columns = 100;
  rows = 50;
  written = "";
  override _write(chunk: Buffer | string, _encoding: BufferEncoding, done: () => void): void {
    this.written += chunk.toString();
    this.emit("drawn");
    done();
  }
}

export class FakeTerminal {
  readonly input = new Keyboard();
  readonly output = new Screen();
  #seen = 0;

  /** All that was written, without the library's own colours and cursor movements. */
  get text(): string {
    return stripVTControlCharacters(this.output.written);
  }

  /** Waits until `text` is on the screen, after what earlier steps waited for. */
  async shows(text: string): Promise<void> {
    const deadline = Date.now() + 5000;
    for (;;) {
      const at = this.text.indexOf(text, this.#seen);
      if (at >= 0) {
        this.#seen = at + text.length;
        return;
      }
      if (Date.now() > deadline)
        throw new Error(`"${text}" was never shown. The screen since:\n${this.text.slice(this.#seen)}`);
      await setTimeout(2);
    }
  }

  /** Waits for a prompt and presses keys, one event at a time. */
  async at(prompt: string, ...keys: string[]): Promise<void> {
    await this.shows(prompt);
    await setImmediate();
    for (const key of keys) {
      this.input.write(key);
      await setImmediate();
    }
  }
}

export function contextOf(changes: Partial<QuestionContext> = {}): QuestionContext {
  return {
    server: { id: "deploy-server" },
    method: "tools/call",
    target: "deploy",
    params: { name: "deploy", arguments: { env: "prod" } },
    key: "window",
    round: 1,
    signal: new AbortController().signal,
    ...changes,
  };
}
