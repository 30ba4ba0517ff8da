import { Writable } from "node:stream";

/** A terminal to write to, as far as prompts look at it. */
export interface TerminalOutput extends Writable {
  isTTY?: boolean;
  columns?: number;
  rows?: number;
}

/**
 * What the prompt library writes, and what this package makes bold with: hide or show the cursor, move it, erase a
 * line or what is below, set a style. No other escape passes, such as one that clears the screen.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape is what is looked for
const CURSOR_AND_COLOUR = /(\u001b\[(?:\?25[hl]|\d*[ABCDG]|J|2?K|[\d;]*m))/;
const HIDDEN = /[^\P{C}\n]|[\p{Zl}\p{Zp}\u2800]|\p{Default_Ignorable_Code_Point}/gu;

/**
 * What stands between a prompt library and the terminal: it lets cursor movement and colour through and replaces
 * every other hidden character. Server text is escaped long before; this is for what a person pastes, which the
 * library echoes as it is.
 */
export class GuardedOutput extends Writable implements TerminalOutput {
  readonly #terminal: TerminalOutput;
  readonly #forward = () => this.emit("resize");

  constructor(terminal: TerminalOutput) {
    super({ decodeStrings: false });
    this.#terminal = terminal;
    terminal.on("resize", this.#forward);
  }

  get isTTY(): boolean {
    return this.#terminal.isTTY === true;
  }
  get columns(): number {
    // A terminal that was never told its size says 0.
    return this.#terminal.columns || 80;
  }
  get rows(): number {
    return this.#terminal.rows || 24;
  }

  override _write(chunk: string | Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const pieces = chunk.toString().split(CURSOR_AND_COLOUR);
    this.#terminal.write(pieces.map((piece, index) => (index % 2 === 1 ? piece : piece.replace(HIDDEN, "¤"))).join(""));
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#terminal.off("resize", this.#forward);
    done(error);
  }
}
