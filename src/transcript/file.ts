import { closeSync, openSync, writeSync } from "node:fs";
import type { Recorder } from "../calls/events.ts";
import { ParleyError } from "../errors.ts";
import { KEEPS } from "./format.ts";
import { lineRecorder, type RecorderOptions } from "./recorder.ts";

/** A transcript being written. */
export interface Recording extends Recorder {
  /**
   * What went wrong first, if anything did: the calls went on. After a fault of the file nothing more is written; after
   * one in what a call said, such as a result nested too deep, nothing more of that call.
   */
  readonly problem: Error | undefined;
  close(): void;
}

/**
 * A `recorder` for `createCalls` that writes a transcript to `path`: a new file, readable by its owner only, each line
 * out before the call goes on.
 *
 * @throws ParleyError `configuration` when the file exists already or cannot be made, or for an unknown `keep`.
 */
export function recordTo(path: string, options: RecorderOptions = {}): Recording {
  const unknown = options.keep?.find((one) => !KEEPS.includes(one));
  if (unknown !== undefined) {
    throw new ParleyError("configuration", `keep knows ${KEEPS.join(" and ")} only.`, { details: { option: "keep" } });
  }
  let file: number | undefined = open(path);
  let problem: Error | undefined;
  let broken = false;
  const write = (line: unknown): void => {
    if (file === undefined || broken) return;
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`);
    try {
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done);
    } catch (error) {
      broken = true;
      problem ??= error as Error;
    }
  };
  const { record } = lineRecorder(write, options);
  return {
    get problem() {
      return problem;
    },
    record(event, content) {
      try {
        record(event, content);
      } catch (error) {
        problem ??= error as Error;
      }
    },
    close() {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

function open(path: string): number {
  try {
    return openSync(path, "wx", 0o600);
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    const exists = code === "EEXIST";
    const what = exists
      ? `The transcript ${path} exists already`
      : `The transcript ${path} cannot be written (${code})`;
    const remedy = exists ? "name another file, or remove it first" : "check the path";
    throw new ParleyError("configuration", `${what}.`, { cause: error, details: { path, remedy } });
  }
}
