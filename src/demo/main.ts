/** `npm run demo`: see it work, and see it refuse. Exit 0 if everything was as the text says, 1 if not, 2 for usage. */
import { parseArgs } from "node:util";
import { oneLine } from "../cli/exit.ts";
import { messageOf } from "../errors.ts";
import { terminalAvailable, terminalResponders } from "../present/index.ts";
import { say } from "./page.ts";
import { tellRefusals } from "./refusals.ts";
import { type Service, startService } from "./service.ts";
import { tellStory } from "./story.ts";

/** Long enough to send the control on a busy machine, short enough to wait for. */
const SHORT_TTL_MS = 3_000;

const complain = (what: string, remedy: string) =>
  process.stderr.write(`${oneLine(`parley demo: ${what}: ${remedy}`)}\n`);

async function main(args: readonly string[]): Promise<number> {
  let interactive = false;
  try {
    const { values } = parseArgs({ args: [...args], options: { interactive: { type: "boolean" } } });
    interactive = values.interactive === true;
  } catch (error) {
    complain((error as Error).message, "the only flag is --interactive");
    return 2;
  }
  if (interactive && !terminalAvailable()) {
    complain("--interactive asks at a terminal, and there is none", "leave the flag out, or run it in one");
    return 2;
  }
  const services: Service[] = [];
  try {
    const started = await Promise.allSettled([startService(["A", "B"]), startService(["C", "D"], SHORT_TTL_MS)]);
    for (const one of started) if (one.status === "fulfilled") services.push(one.value);
    for (const one of started) if (one.status === "rejected") throw one.reason;
    const [service, shortLived] = services as [Service, Service];
    const pids = service.replicas.map(({ name, pid }) => `${name} (process ${pid})`).join(" and ");
    say("1. A tool that asks, on two replicas");
    say(`  Replicas ${pids} share a key and the list of callers, nothing else. A proxy takes turns.`);
    await tellStory(service, interactive ? terminalResponders() : undefined);
    say();
    say("2. The same state where it does not belong");
    await tellRefusals(service, shortLived, SHORT_TTL_MS);
    say();
    say("Everything was as it should be.");
    return 0;
  } catch (error) {
    complain(messageOf(error), "please report it with the output above");
    return 1;
  } finally {
    await Promise.all(services.map((service) => service.stop()));
  }
}

process.exitCode = await main(process.argv.slice(2));
