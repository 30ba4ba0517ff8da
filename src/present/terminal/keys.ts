/** The keyboard, one prompt at a time. */
import { PassThrough, type Readable } from "node:stream";

/** A terminal's keyboard. */
export interface TerminalInput extends Readable {
  isTTY?: boolean;
  setRawMode?: (raw: boolean) => unknown;
}

const CTRL_C = "\u0003";

/**
 * Drops what was typed already until the keyboard has been silent for `settleMs` (D2). Ends early when a signal fires,
 * and with `true` when Ctrl-C was among what was typed.
 */
export async function settle(
  input: TerminalInput,
  settleMs: number,
  signals: readonly AbortSignal[],
): Promise<boolean> {
  let interrupted = false;
  await new Promise<void>((resolve) => {
    let timer = setTimeout(finish, settleMs);
    const drop = (chunk: Buffer | string) => {
      clearTimeout(timer);
      interrupted ||= chunk.includes(CTRL_C);
      if (interrupted) return finish();
      timer = setTimeout(finish, settleMs);
    };
    function finish() {
      clearTimeout(timer);
      input.off("data", drop);
      input.pause();
      for (const signal of signals) signal.removeEventListener("abort", finish);
      resolve();
    }
    input.on("data", drop);
    for (const signal of signals) signal.addEventListener("abort", finish, { once: true });
    input.resume();
  });
  return interrupted;
}

/**
 * The keyboard for one prompt. A stream of its own, so that nothing typed before reaches the prompt, nothing of it
 * stays behind, and an error of the terminal does not crash the library's line reader.
 */
export class Keys extends PassThrough {
  readonly isTTY = true;
  readonly #input: TerminalInput;
  readonly #relay = (chunk: Buffer | string) => this.write(chunk);

  constructor(input: TerminalInput) {
    super();
    this.#input = input;
    input.on("data", this.#relay);
    input.resume();
  }

  setRawMode(raw: boolean): void {
    this.#input.setRawMode?.(raw);
  }

  stop(): void {
    this.#input.off("data", this.#relay);
    this.#input.pause();
    this.destroy();
  }
}
