import type { SamplingParams } from "../../protocol/types.ts";

/** What a function may be called in the chat completions format; MCP allows dots and longer names. */
const FITS = /^[\w-]{1,64}$/;

/** Names of tools on both sides; one that does not fit the other side gets a stand-in for this request. */
export class ToolNames {
  readonly #there = new Map<string, string>();
  readonly #here = new Map<string, string>();

  constructor(tools: NonNullable<SamplingParams["tools"]>) {
    // Names that fit first, so that no stand-in takes one of them.
    const names = tools.map(({ name }) => name);
    for (const name of names.filter((name) => FITS.test(name))) this.#pair(name, name);
    for (const name of names) this.there(name);
  }

  /** The name there. History may name tools that are not offered any more. */
  there(name: string): string {
    const known = this.#there.get(name);
    if (known !== undefined) return known;
    const base = name.replaceAll(/[^\w-]/g, "_").slice(0, 56) || "tool";
    let stand = FITS.test(name) ? name : base;
    for (let number = 2; this.#here.has(stand); number += 1) stand = `${base}_${number}`;
    this.#pair(name, stand);
    return stand;
  }

  here(name: string): string | undefined {
    return this.#here.get(name);
  }

  #pair(here: string, there: string): void {
    this.#there.set(here, there);
    this.#here.set(there, here);
  }
}
