import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { isObject } from "../internal/json.ts";
import { usageError } from "./exit.ts";

/** Reads a file that holds one JSON object. @throws ParleyError `usage`; it never repeats what is in the file. */
export async function readJsonObject(path: string, cwd: string, what: string): Promise<Record<string, unknown>> {
  return parseObject(await readText(path, cwd, what), `the ${what} ${path}`);
}

/** @throws ParleyError `usage` */
export async function readText(path: string, cwd: string, what: string): Promise<string> {
  try {
    return await readFile(resolve(cwd, path), "utf8");
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? "unreadable";
    throw usageError(`cannot read the ${what} ${path} (${reason})`, "check the path", error);
  }
}

/** @throws ParleyError `usage` naming `what`; it never repeats the text, which may hold secrets. */
export function parseObject(text: string, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const at = /position \d+/.exec((error as Error).message)?.[0];
    throw usageError(`${what} is not JSON${at === undefined ? "" : ` (at ${at})`}`, "give one JSON object");
  }
  if (!isObject(value)) throw usageError(`${what} is not a JSON object`, "give one JSON object, such as {}");
  return value;
}
