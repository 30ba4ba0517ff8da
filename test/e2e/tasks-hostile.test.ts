/** Tasks whose flows, stores and callers do what nobody should. */
import { ProtocolError } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, it } from "vitest";
import { type AnyFlow, createParley, type ParleyEvent, type ParleyOptions, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { serveFlows } from "../helpers/mounts.ts";
import { TaskWire, textIn } from "../helpers/tasks.ts";

const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function serve(flows: readonly AnyFlow[], options: ParleyOptions = {}) {
  const events: ParleyEvent[] = [];
  const parley = createParley({
    keys: [KEY],
    callers: "anonymous",
    tasks: { store: memoryTasks(), pollIntervalMs: 10, lookMs: 20, drainMs: 50, leaseMs: 100 },
    onEvent: (event) => events.push(event),
    ...options,
  });
  const server = await serveFlows("native", parley, flows);
  closers.push(async () => {
    await server.close();
    await parley.close();
  });
  return { wire: new TaskWire(server.url), events };
}

describe("H16: what a flow ends with", () => {
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  const result = (structuredContent: unknown) => ({ ...text("done"), structuredContent }) as ReturnType<typeof text>;

  /** The end of a task of such a flow, and how often it ran. */
  async function endOf(end: () => ReturnType<typeof text>) {
    let runs = 0;
    const served = await serve([
      tool("job", { background: {} }, () => {
        runs++;
        return end();
      }),
    ]);
    const task = await served.wire.ended(await served.wire.begin("job"));
    return { task, runs, events: served.events };
  }

  it("is its result", async () => {
    const { task, runs } = await endOf(() => result({ n: 1 }));
    expect([task["result"], runs]).toMatchObject([{ structuredContent: { n: 1 } }, 1]);
  });

  it.each<[string, () => ReturnType<typeof text>]>([
    ["a result with a bigint", () => result({ n: 1n })],
    ["a result that holds itself", () => result(circle)],
    [
      "an error of the protocol with such data",
      () => {
        throw new ProtocolError(-32_000, "no", circle);
      },
    ],
  ])("is a failure, told once, and no reason to run again, when it is no JSON: %s", async (_, end) => {
    const { task, runs, events } = await endOf(end);
    expect(task).toMatchObject({ status: "failed", error: { code: -32603, message: "Internal server error" } });
    expect(runs).toBe(1);
    const told = events.find(({ type }) => type === "task_ended");
    expect(told).toMatchObject({ status: "failed", error: { message: expect.stringMatching(/written as JSON/) } });
  });

  it("is a result that says so when what was thrown cannot be read", async () => {
    const { task, runs } = await endOf(() => {
      throw Object.create(null);
    });
    expect(task).toMatchObject({ status: "completed", result: { isError: true } });
    expect(textIn(task["result"])).toBe("something was thrown that cannot be read");
    expect(runs).toBe(1);
  });
});
