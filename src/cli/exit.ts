/** How the command line ends: exit codes, and one line for every error. Loads no SDK, so that a usage error is quick. */
import { ParleyError } from "../errors.ts";
import { visible } from "../present/text.ts";

/** Exit codes of `parley`. They never change their meaning. */
export const EXIT = {
  /** The command did what it was asked to do. */
  complete: 0,
  /** The tool ran and reported an error of its own (`isError`). */
  toolError: 1,
  /** The command line, a file, a module or an option is wrong. Nothing was sent. */
  usage: 2,
  /** A question was not answered: nothing here can, nobody did in time, or a person ended the call. */
  refused: 3,
  /** The server, the protocol or the connection failed. */
  failed: 4,
  /** `replay`: the server did something else than what was recorded. */
  changed: 5,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error as it is reported. `code` is a ParleyError code, a JSON-RPC error number, or an SDK or system error name. */
export interface Failure {
  readonly exit: ExitCode;
  readonly code: string | number;
  readonly message: string;
  /** Empty when the message says it. */
  readonly remedy: string;
}

/** Wrong use of the command line: what is wrong, and how to mend it. */
export function usageError(what: string, remedy: string, cause?: unknown): ParleyError {
  return new ParleyError("usage", what, { cause, details: { remedy } });
}

/** `parley: <what>: <remedy>`, or what alone when it says the remedy, on one line and with nothing hidden in it, whoever wrote the message. */
export function errorLine({ message, remedy }: Pick<Failure, "message" | "remedy">): string {
  return oneLine(remedy === "" ? `parley: ${message}` : `parley: ${withoutEnd(message)}: ${remedy}`);
}

/** Any text on one line, fit for a terminal. Not cut short of 2000 characters. Takes time linear in the text. */
export function oneLine(text: string): string {
  const [first = "", ...others] = text.split(/[\r\n]/);
  const last = others.pop();
  if (last === undefined) return visible(first, { maxLength: 2000 }).text;
  const between = others.map((line) => line.trim()).filter((line) => line !== "");
  return visible([first.trimEnd(), ...between, last.trimStart()].join(" "), { maxLength: 2000 }).text;
}

/** Without the full stops, colons and spaces at its end. A pattern anchored there only would take quadratic time. */
function withoutEnd(text: string): string {
  let end = text.length;
  while (end > 0 && /[.:\s]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
