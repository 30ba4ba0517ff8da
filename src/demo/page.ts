/** What the demo prints, and what it expects. */

export function say(line = ""): void {
  process.stdout.write(`${line}\n`);
}

/** The demo checks itself: what is not as the text around it says ends it with an error. */
export function expect(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`expected ${what}`);
}
