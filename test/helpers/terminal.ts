/** Programs on a real pseudo-terminal, played by script. It needs python3, whose standard library can make one. */
import { execFile, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const DOWN = "\x1b[B";
export const UP = "\x1b[A";
export const ENTER = "\r";
export const ESC = "\x1b";
export const CTRL_C = "\x03";

/** Wait for the text, after what earlier steps waited for, and press the keys. */
export type Step = [text: string, keys: string[]];

export interface Played {
  /** Every byte the terminal got, as UTF-8. */
  readonly screen: string;
  readonly status: number;
  /** The first text that never came: the script ended there. */
  readonly missed: string | null;
}

/** False where there is no python3: such tests are left out, loudly, and fail in CI. */
export const canHaveTerminal = spawnSync("python3", ["-c", "import pty"]).status === 0;
if (!canHaveTerminal) process.stderr.write("SKIPPED: tests on a real pseudo-terminal need python3.\n");

export async function onTerminal(
  steps: readonly Step[],
  command: readonly string[],
  options: { env?: Record<string, string | undefined>; seconds?: number; columns?: number } = {},
): Promise<Played> {
  const { env, seconds = 25, columns = 160 } = options;
  const play = fileURLToPath(new URL("terminal-pty.py", import.meta.url));
  return new Promise((resolve, reject) => {
    const settings = { env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile("python3", [play], settings, (error, stdout) => {
      if (error) reject(error);
      else resolve(JSON.parse(stdout) as Played);
    });
    child.stdin?.end(JSON.stringify({ command, steps, seconds, columns }));
  });
}

/** The sequences a host itself writes at a prompt: hide or show the cursor, move it, erase a line or what is below, style. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it is what is looked for
const OWN = /\x1b\[(\?25[lh]|\d*[ABCDG]|J|2?K|[\d;]*m)/g;
/** T1, U1 to U3: nothing of these is a host's, at a prompt. The pseudo-terminal's own line ends are CR LF. */
const HIDDEN = /[^\P{C}\r\n]|\r(?!\n)|[\p{Zl}\p{Zp}\u2800]|\p{Default_Ignorable_Code_Point}/gu;

/** The code points on a screen that no host wrote; empty when nothing of a server's got through raw. */
export function rawOn(screen: string): string[] {
  const found = screen.replace(OWN, "").match(HIDDEN) ?? [];
  return [...new Set(found)].map((char) => `U+${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`);
}

/** What a person reads: the text without the host's own sequences, with plain line ends. */
export function readable(screen: string): string {
  return screen.replace(OWN, "").replaceAll("\r\n", "\n");
}
