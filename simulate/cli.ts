/** The command line of the simulator. */
import { parseArgs } from "node:util";
import { MUTANTS } from "./mutants.ts";
import { simulateTasks, type TaskHistory } from "./tasks/world.ts";
import { type History, simulate } from "./world.ts";

const USAGE = `npm run simulate -- [options]
  --seeds N      play N seeds (default 1000), stop at the first broken promise
  --from N       first seed (default 1)
  --seed N       play one seed and print its history
  --tasks        play worlds of tasks instead of worlds of rounds (with --seeds, --from and --seed)
  --mutant NAME  play with a fault built in: ${Object.keys(MUTANTS).join(", ")}
`;

/** @returns the exit code: 1 when a promise was broken. */
export async function main(argv: readonly string[]): Promise<number> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    args: [...argv],
    options: {
      seeds: text,
      from: text,
      seed: text,
      mutant: text,
      tasks: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    print(USAGE);
    return 0;
  }
  const first = whole("from", values.from ?? "1");
  const count = whole("seeds", values.seeds ?? "1000");
  if (values.tasks) {
    if (values.seed === undefined) return playTasks(first, count);
    const history = await simulateTasks(whole("seed", values.seed), { verbose: true });
    show(history);
    return history.broken === undefined ? 0 : 1;
  }
  const mutant = values.mutant === undefined ? {} : { mutant: mutantNamed(values.mutant) };
  if (values.seed !== undefined) {
    const history = await simulate(whole("seed", values.seed), { ...mutant, verbose: true });
    show(history);
    return history.broken === undefined ? 0 : 1;
  }
  const started = performance.now();
  let events = 0;
  let repeated = 0;
  const seen = new Map<string, number>();
  for (let seed = first; seed < first + count; seed++) {
    const history = await simulate(seed, mutant);
    events += history.events;
    repeated += history.repeated;
    for (const [what, times] of Object.entries(history.seen)) seen.set(what, (seen.get(what) ?? 0) + times);
    if (history.broken !== undefined) {
      show(await simulate(seed, { ...mutant, verbose: true }));
      print(`seed ${seed}: ${history.broken}\n`);
      return 1;
    }
    // Lets the process breathe: a history never leaves the microtasks.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const seconds = Math.round((performance.now() - started) / 1000);
  print(
    `${count} seeds clean in ${seconds} s: ${events} events; ${repeated} effects repeated under the same key, each after a crash, a lost lease or a fault of the store\n`,
  );
  print(seenText(seen));
  return 0;
}

async function playTasks(first: number, count: number): Promise<number> {
  const seen = new Map<string, number>();
  let repeated = 0;
  for (let seed = first; seed < first + count; seed++) {
    const history = await simulateTasks(seed);
    repeated += history.repeated;
    for (const [what, times] of Object.entries(history.seen)) seen.set(what, (seen.get(what) ?? 0) + times);
    if (history.broken !== undefined) {
      print(`seed ${seed}: ${history.broken}\n`);
      return 1;
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  print(`${count} worlds of tasks clean; ${repeated} effects repeated under the same key\n`);
  print(seenText(seen));
  return 0;
}

function seenText(seen: ReadonlyMap<string, number>): string {
  const times = [...seen].map(([what, count]) => `${what} ${count}`).sort();
  return `seen: ${times.join(", ")}\n`;
}

function show({ seed, config, lines, broken }: History | TaskHistory): void {
  print(
    `seed ${seed}: ${JSON.stringify(config)}\n${lines.join("\n")}\n${broken === undefined ? "clean" : `BROKEN: ${broken}`}\n`,
  );
}

function mutantNamed(name: string) {
  const mutant = MUTANTS[name];
  if (mutant === undefined)
    throw new Error(`There is no mutant "${name}". There are ${Object.keys(MUTANTS).join(", ")}.`);
  return mutant;
}

function whole(name: string, value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 0) throw new Error(`--${name} must be a whole number.`);
  return number;
}

function print(text: string): void {
  process.stdout.write(text);
}
