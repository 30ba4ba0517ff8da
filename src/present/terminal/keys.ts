/** The keyboard, one prompt at a time. */
import { PassThrough, type Readable } from "node:stream";

/** A terminal's keyboard. */
export interface TerminalInput extends Readable {
  isTTY?: boolean;
  setRawMode?: (raw: boolean) => unknown;
}

const CTRL_C = "\u0003";
const DOWN = "\u001b[B";
/** How the prompt library moves in a list; it goes round at both ends. */
const MOVES: Readonly<Record<string, 1 | -1>> = { up: -1, k: -1, left: -1, h: -1, down: 1, j: 1, right: 1, l: 1 };

/**
 * Letters that move the highlight of a list to their option. They mark and never choose: what Enter gives is what is
 * highlighted (F7, D2).
 */
export class Letters {
  readonly #letters: readonly (string | undefined)[];
  #at: number;

  constructor(letters: readonly (string | undefined)[], initial: number) {
    this.#letters = letters;
    this.#at = initial;
  }

  /** Follows the highlight; what to type in place of a letter that has an option, as often down as it takes. */
  press(name = ""): string {
    const count = this.#letters.length;
    const to = this.#letters.indexOf(name);
    if (to >= 0) return DOWN.repeat((to - this.#at + count) % count);
    this.#at = (this.#at + (MOVES[name] ?? 0) + count) % count;
    return "";
  }
}

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
