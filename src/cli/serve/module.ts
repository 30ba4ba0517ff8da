import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, extname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { McpServer } from "@modelcontextprotocol/server";
import { messageOf } from "../../errors.ts";
import type { AnyFlow } from "../../flow/define.ts";
import { isObject } from "../../internal/json.ts";
import type { ParleyOptions } from "../../server/options.ts";
import type { Parley } from "../../server/parley.ts";
import { usageError } from "../exit.ts";

/** What a module for `parley serve` exports. */
export interface ServedModule {
  /** Default: the file's name. */
  readonly name: string;
  /** Default "0.0.0". */
  readonly version: string;
  /** For `createParley`. */
  readonly options: ParleyOptions;
  /** From `flows` or `default`, or else every export that is a flow. */
  readonly flows: readonly AnyFlow[];
  /** From `register`: adds what it likes to each server, flows included. */
  readonly register: ((mcpServer: McpServer, parley: Parley) => unknown) | undefined;
}

const REMEDY =
  "export what tool(), prompt() and resource() make, each or as the array flows, or register(mcpServer, parley)";
const FLOW_TYPES: ReadonlySet<unknown> = new Set(["tool", "prompt", "resource"]);

function isFlow(value: unknown): boolean {
  return isObject(value) && FLOW_TYPES.has(value["type"]);
}

/**
 * Imports an ES module by path (relative to `cwd`) or package name.
 * @throws ParleyError `usage` for one that does not load, or exports nothing that can be served.
 */
export async function loadModule(specifier: string, cwd: string): Promise<ServedModule> {
  return readExports(await importModule(specifier, cwd), specifier);
}

async function importModule(specifier: string, cwd: string): Promise<Record<string, unknown>> {
  const path = resolve(cwd, specifier);
  const isPath = /^[./\\]|\.[cm]?[jt]s$/.test(specifier) || existsSync(path);
  if (isPath && !existsSync(path)) throw usageError(`there is no module ${specifier}`, "check the path");
  try {
    return await import(isPath ? pathToFileURL(path).href : packageEntry(specifier, cwd));
  } catch (error) {
    const reason = messageOf(error);
    throw usageError(`the module ${specifier} does not load: ${reason}`, "mend the module, or check its name", error);
  }
}

/** A package as `cwd` sees it; one that only ES modules can import is looked for beside this package. */
function packageEntry(specifier: string, cwd: string): string {
  try {
    return pathToFileURL(createRequire(join(cwd, "from-here.js")).resolve(specifier)).href;
  } catch {
    return specifier;
  }
}

/** @throws ParleyError `usage` naming the export. */
export function readExports(exports: Readonly<Record<string, unknown>>, specifier: string): ServedModule {
  const wrong = (rule: string) => usageError(`the module ${specifier}: ${rule}`, REMEDY);
  const { register, options = {} } = exports;
  const from = exports["flows"] === undefined ? "default" : "flows";
  const given = exports[from] ?? Object.values(exports).filter(isFlow);
  const flows: unknown = isFlow(given) ? [given] : given;
  if (!Array.isArray(flows)) throw wrong(`the export ${from} is not an array of flows`);
  for (const [at, flow] of flows.entries()) {
    if (!isFlow(flow)) throw wrong(`${from}[${at}] is not a flow`);
  }
  if (register !== undefined && typeof register !== "function") throw wrong("the export register is not a function");
  if (flows.length === 0 && register === undefined) throw wrong("it exports nothing to serve");
  if (!isObject(options)) throw wrong("the export options is not an object");
  const text = (name: "name" | "version", otherwise: string): string => {
    const value = exports[name] ?? otherwise;
    if (typeof value !== "string" || value === "") throw wrong(`the export ${name} is not a non-empty string`);
    return value;
  };
  return {
    name: text("name", basename(specifier, extname(specifier))),
    version: text("version", "0.0.0"),
    options: options as ParleyOptions,
    flows: flows as AnyFlow[],
    register: register as ServedModule["register"],
  };
}
