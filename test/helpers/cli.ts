/** Runs the built command line as a process, as its users do. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export const MAIN = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
export const FIXTURES = fileURLToPath(new URL("../fixtures/cli/", import.meta.url));
/** For tests only. */
export const KEY = Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString("base64url");

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

type Env = Record<string, string | undefined>;

function start(args: readonly string[], env: Env): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    cwd: FIXTURES,
    env: { ...process.env, PARLEY_KEYS: KEY, NODE_ENV: undefined, PARLEY_DEBUG: undefined, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Runs to the end, without a terminal. */
export async function parley(args: readonly string[], env: Env = {}): Promise<Ended> {
  const child = start(args, env);
  const ended = { out: "", err: "" };
  child.stdout?.on("data", (chunk) => {
    ended.out += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    ended.err += chunk;
  });
  const [code] = await once(child, "close");
  return { code, ...ended };
}

export interface Serving {
  readonly url: string;
  /** The one line on standard output. */
  readonly line: string;
  /** All of standard error so far. */
  readonly err: () => string;
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Starts `parley serve` on a free port. */
export function serving(module: string, args: readonly string[] = [], env: Env = {}): Promise<Serving> {
  return running(["serve", module, "--port", "0", ...args], env);
}

/** Starts a command that prints one line with a URL and runs until it is stopped. */
export async function running(args: readonly string[], env: Env = {}): Promise<Serving> {
  const child = start(args, env);
  let err = "";
  child.stderr?.on("data", (chunk) => {
    err += chunk;
  });
  const closed = once(child, "close").then(([code]) => code as number | null);
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [line] = (await Promise.race([once(lines, "line"), closed.then(() => [undefined])])) as [string?];
  if (line === undefined) throw new Error(`it ended: ${err}`);
  return {
    url: line.slice(line.indexOf("http")),
    line,
    err: () => err,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return closed;
    },
  };
}

const folder = mkdtempSync(join(tmpdir(), "parley-cli-"));
let files = 0;

/** A file with this content (JSON unless it is text), in a folder of this run. */
export function file(content: unknown, extension = "json"): string {
  files += 1;
  const path = join(folder, `${files}.${extension}`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

export const YES = { action: "accept", content: { confirm: true } };
