#!/usr/bin/env node
/** The `parley` command. */
import { EXIT, errorLine } from "./exit.ts";
import { claimStdout, type Io } from "./io.ts";
import { run } from "./program.ts";

const io: Io = {
  out: (line) => void process.stdout.write(`${line}\n`),
  err: (line) => void process.stderr.write(`${line}\n`),
  claimOut: claimStdout,
  cwd: process.cwd(),
};

/** A reader that has seen enough ends us, and is no error of ours. */
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : EXIT.failed));

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => stop.abort());

process.once("beforeExit", () => {
  io.err(errorLine({ message: "nothing is left to wait for", remedy: "a promise in the module never settles" }));
  process.exit(EXIT.usage);
});

const code = await run(process.argv.slice(2), io, stop.signal);
// What a served module left open must not keep the process; what was printed must be out first.
process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
