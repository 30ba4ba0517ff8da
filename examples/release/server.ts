/**
 * A release. It asks before it starts, as any call does; then it goes on as a task, for minutes if need be, and asks again
 * before it publishes. Whoever started it may close the lid: the question waits, and the build is not repeated.
 * Run: npx parley serve examples/dist/release/server.js --port 3000 (see examples/README.md to build).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ParleyOptions, tool } from "mcp-parley";
import { memoryTasks } from "mcp-parley/tasks/memory";
import { z } from "zod";

/** Stands for your build farm and registry. */
const world = { builds: 0, published: new Map<string, string>() };

async function build(version: string, signal: AbortSignal): Promise<{ artifact: string; tests: number }> {
  await sleep(50, undefined, { signal });
  world.builds += 1;
  return { artifact: `app-${version}.tgz`, tests: 128 };
}

/** The key is the same wherever and however often the step runs, so that one yes is one publication. */
function publish(artifact: string, channel: string, idempotencyKey: string): string {
  const known = world.published.get(idempotencyKey);
  if (known !== undefined) return known;
  const publication = `${artifact} on ${channel}`;
  world.published.set(idempotencyKey, publication);
  return publication;
}

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

export const release = tool(
  "release",
  {
    description: "Builds, tests and publishes a version; asks before each that matters",
    inputSchema: z.object({ version: z.string() }),
    annotations: { destructiveHint: true },
  },
  async ({ version }, flow) => {
    if (!(await flow.confirm("start", `Start the release of ${version}?`))) return text("Not started.");

    // From here on nobody has to wait. A client without tasks is served round by round, by the same code.
    await flow.background({ ttlMs: 86_400_000, otherwise: "foreground" });

    await flow.progress({ progress: 1, total: 2, message: "building and testing" });
    const { artifact, tests } = await flow.step("build", ({ signal }) => build(version, signal));
    const { channel } = await flow.form("channel", {
      message: `${artifact} is built and passed ${tests} tests. Where should it be published?`,
      schema: z.object({ channel: z.enum(["stable", "beta", "nowhere"]).meta({ title: "Channel" }) }),
    });
    if (channel === "nowhere") return text(`${artifact} was built and not published.`);
    const published = await flow.step("publish", ({ idempotencyKey }) => publish(artifact, channel, idempotencyKey));
    return text(`Published ${published}.`);
  },
);

export const status = tool("status", { description: "Builds made and versions published so far" }, () =>
  text(JSON.stringify({ builds: world.builds, published: [...world.published.values()] })),
);

/** In memory, so that the example needs nothing. `sqliteTasks({ path })` survives a restart. */
export const options: ParleyOptions = { tasks: { store: memoryTasks(), pollIntervalMs: 50 } };
export const name = "release";
export const version = "1.0.0";
export const flows = [release, status];
export default flows;
