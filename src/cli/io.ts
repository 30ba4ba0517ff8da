import { Writable } from "node:stream";

/** Where a command reads and writes. Lines only; the newline is added here. */
export interface Io {
  /** Results. */
  out(line: string): void;
  /** Errors, warnings and questions. */
  err(line: string): void;
  /** For `serve`, which runs code of others: see {@link claimStdout}. */
  claimOut(): Writable;
  /** Relative paths start here. */
  readonly cwd: string;
}

/**
 * Takes standard output away: from now on what else is written to it, `console.log` of a served module included, goes
 * to standard error. What is returned is the only way left.
 */
export function claimStdout(): Writable {
  const write = process.stdout.write.bind(process.stdout);
  const wire = new Writable({ write: (chunk: Buffer, _encoding, done) => void write(chunk, done) });
  process.stdout.on("error", (error) => wire.destroy(error));
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return wire;
}
