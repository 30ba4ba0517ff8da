/** How tasks go, at the terminal where questions are asked: between two questions, never into one. */
import type { CallEvent } from "../../calls/events.ts";
import { taskLines } from "../tasks.ts";
import { type Safe, say } from "../text.ts";
import type { TerminalOutput } from "./guard.ts";
import type { TerminalInput } from "./keys.ts";
import { whenFree } from "./turns.ts";
import { wrapped } from "./wrap.ts";

export interface TerminalTasksOptions {
  /** The keyboard that `terminalResponders` was given, so that the two take turns. Default `process.stdin`. */
  input?: TerminalInput;
  /** The screen. Default `process.stderr`. */
  output?: TerminalOutput;
}

/**
 * An `onEvent` for `createCalls` that shows calls which go on as tasks: their status, the server's message (escaped and
 * bounded) and, when a call ends early, what becomes of its task. Five lines of a call at once, then one each two
 * seconds. While a person answers, lines wait, and only the latest of each call is shown.
 */
export function terminalTasks(options: TerminalTasksOptions = {}): (event: CallEvent) => void {
  const { input = process.stdin as TerminalInput, output = process.stderr as TerminalOutput } = options;
  const latest = new Map<string, Safe>();
  const flush = (): void => {
    for (const line of latest.values()) {
      for (const part of wrapped(say`  ◦ ${line}`, output.columns || 80)) output.write(`${part}\n`);
    }
    latest.clear();
  };
  return taskLines({
    print(line, callId) {
      latest.set(callId, line);
      if (latest.size === 1) whenFree(input, flush);
    },
  });
}
