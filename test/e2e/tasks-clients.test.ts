/** Each side against the other's official counterpart: their client with our tasks, our driver with theirs and with ours. */
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";
import { contributeTaskFilterV2 } from "@modelcontextprotocol/ext-tasks/core/v2";
import { McpServer } from "@modelcontextprotocol/server";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createCalls, type Responders } from "../../src/client.ts";
import { createParley, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { connect, rpc, serveHttp, TRANSPORTS, type TransportName } from "../helpers/http.ts";
import { MOUNTS, serveFlows } from "../helpers/mounts.ts";
import { EVERYTHING, yes } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const ran: string[] = [];
const release = tool("release", { inputSchema: z.object({ version: z.string() }) }, async ({ version }, flow) => {
  if (!(await flow.confirm("start", `Start ${version}?`))) return text("not started");
  await flow.background();
  await flow.progress({ progress: 1, total: 3, message: "building" });
  await flow.step("build", () => void ran.push("build"));
  const { channel } = await flow.form("channel", {
    message: "Which channel?",
    schema: z.object({ channel: z.enum(["stable", "beta"]) }),
  });
  if (!(await flow.confirm("publish", `Publish to ${channel}?`))) return text("kept");
  await flow.step("upload", () => void ran.push("publish"));
  return text(`${version} on ${channel}`);
});
const failing = tool("failing", { background: {} }, () => ({ ...text("no luck"), isError: true }));

async function serveOurs(mount: (typeof MOUNTS)[number], pollIntervalMs = 10): Promise<string> {
  ran.length = 0;
  const parley = createParley({
    keys: [Buffer.from("0123456789abcdef0123456789abcdef")],
    callers: "anonymous",
    tasks: { store: memoryTasks(), pollIntervalMs },
  });
  const server = await serveFlows(mount, parley, [release, failing]);
  closers.push(async () => {
    await server.close();
    await parley.close();
  });
  return server.url;
}

/** Answers every form by its fields, and remembers what was asked. */
function person(asked: string[]): Responders {
  return {
    form: async ({ message, requestedSchema }) => {
      asked.push(message);
      const content = "confirm" in requestedSchema.properties ? { confirm: true } : { channel: "beta" };
      return { action: "accept", content };
    },
  };
}

/** The official tasks client on the official client. It leaves the wire, and what to listen for, to its host. */
async function officialSession(url: string, asked: string[], transport: TransportName = "sdk") {
  const client = await connect(url, { capabilities: EVERYTHING as never }, {}, transport);
  const sent: string[] = [];
  const session = createTaskSessionFromClient(client, {
    endpointId: "ours",
    rawDispatch: async (request) => {
      const { method, params } = request as { method: string; params: Record<string, unknown> };
      sent.push(method);
      const name = String(params["taskId"] ?? params["name"]);
      const answered = await rpc(url, method, params, { capabilities: EVERYTHING, headers: { "mcp-name": name } });
      return answered.error
        ? { kind: "error", error: answered.error as never }
        : { kind: "result", result: answered.result as never };
    },
    v2RequestFraming: {
      protocolVersion: "2026-07-28",
      clientInfo: { name: "official", version: "1.0.0" },
      clientCapabilities: EVERYTHING as never,
    },
    onInputRequest: (async ({ params }: { params: { message: string; requestedSchema: { properties: object } } }) => {
      asked.push(params.message);
      const content = "confirm" in params.requestedSchema.properties ? { confirm: true } : { channel: "beta" };
      return { action: "accept", content };
    }) as never,
  });
  closers.push(
    () => client.close(),
    () => session.close(),
  );
  return { client, session, sent };
}

describe.each(MOUNTS)("our tasks, on the %s mount", (mount) => {
  it("are driven to the end by the official client, questions included", async () => {
    const asked: string[] = [];
    const { session } = await officialSession(await serveOurs(mount), asked);
    const execution = await session.callTool("release", { version: "1.2" });
    expect(execution.kind).toBe("task");
    const { outcome } = await execution.settle();
    expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: "1.2 on beta" }] });
    expect(asked).toEqual(["Start 1.2?", "Which channel?", "Publish to beta?"]);
    expect(ran).toEqual(["build", "publish"]);
    const failed = await (await session.callTool("failing")).settle();
    expect(resultFromTaskOutcome(failed.outcome)).toMatchObject({ isError: true });
  });

  it.each(TRANSPORTS)(
    "H30 H32 are heard of by the official client, which then need not look, over %s",
    async (transport) => {
      const asked: string[] = [];
      const { client, session, sent } = await officialSession(await serveOurs(mount, 3_600_000), asked, transport);
      const execution = await session.callTool("release", { version: "1.2" });
      if (execution.kind !== "task") throw new Error("no task");
      const filter = contributeTaskFilterV2({}, [String(execution.handle.taskId)]).notifications;
      const subscription = await client.listen(filter as never);
      const { outcome } = await execution.settle();
      expect(resultFromTaskOutcome(outcome)).toMatchObject({ content: [{ text: "1.2 on beta" }] });
      expect(asked).toEqual(["Start 1.2?", "Which channel?", "Publish to beta?"]);
      expect(sent.filter((method) => method === "tasks/get").length).toBeLessThanOrEqual(1);
      expect(await subscription.closed).toBe("graceful");
    },
  );

  it("are driven to the end by our driver, the rounds before them included", async () => {
    const client = await connect(await serveOurs(mount));
    closers.push(() => client.close());
    const asked: string[] = [];
    const calls = createCalls(client, { server: "ours", responders: person(asked) });
    const result = await calls.callTool({ name: "release", arguments: { version: "1.2" } });
    expect(result).toEqual(text("1.2 on beta"));
    expect(asked).toEqual(["Start 1.2?", "Which channel?", "Publish to beta?"]);
    await expect(calls.callTool({ name: "failing" })).resolves.toMatchObject({ isError: true });
  });

  it("go on from a saved call in another client, and are cancelled with their call", async () => {
    const url = await serveOurs(mount);
    const [first, second] = [await connect(url), await connect(url)];
    closers.push(
      () => first.close(),
      () => second.close(),
    );
    const asked: string[] = [];
    const options = { server: "ours", responders: person(asked) };
    const call = await createCalls(first, options).open("tools/call", { name: "release", arguments: { version: "2" } });
    call.answer("start", yes as never);
    await call.continue();
    expect([call.task?.status, call.unanswered]).toEqual(["input_required", ["channel"]]);
    const saved = JSON.stringify(call);
    await expect(createCalls(second, options).resume(saved).run()).resolves.toEqual(text("2 on beta"));
    expect(asked).toEqual(["Which channel?", "Publish to beta?"]);
    const other = await createCalls(first, options).open("tools/call", {
      name: "release",
      arguments: { version: "3" },
    });
    other.answer("start", yes as never);
    await other.continue();
    const taskId = String(other.task?.taskId);
    other.abort();
    const look = () => rpc(url, "tasks/get", { taskId }, { capabilities: EVERYTHING, headers: { "mcp-name": taskId } });
    await until(async () => ((await look()).result?.["status"] === "cancelled" ? true : undefined));
  });

  it("without tasks our driver is told what it lacks", async () => {
    const client = await connect(await serveOurs(mount));
    closers.push(() => client.close());
    const calls = createCalls(client, { server: "ours", tasks: false, responders: person([]) });
    const call = calls.callTool({ name: "release", arguments: { version: "1" } });
    await expect(call).rejects.toMatchObject({ code: -32021 });
    expect(ran).toEqual([]);
  });
});

it("our driver drives a tasks server that was written by hand on the SDK", async () => {
  const tasks = new Map<string, { polls: number; answer?: unknown }>();
  const stamps = { createdAt: new Date(0).toISOString(), lastUpdatedAt: new Date(0).toISOString(), ttlMs: null };
  const idOnly = z.object({ taskId: z.string() });
  const question = {
    method: "elicitation/create",
    params: {
      message: "Size?",
      requestedSchema: {
        type: "object",
        properties: { size: { type: "string" } },
        required: ["size"],
      },
    },
  };
  const updates: unknown[] = [];
  const server = await serveHttp(() => {
    const mcp = new McpServer({ name: "by-hand", version: "1.0.0" });
    mcp.server.registerCapabilities({ extensions: { "io.modelcontextprotocol/tasks": {} } });
    mcp.registerTool("order", {}, () => {
      const taskId = `order-${tasks.size}`;
      tasks.set(taskId, { polls: 0 });
      return { resultType: "task", taskId, status: "working", ...stamps, pollIntervalMs: 5 } as never;
    });
    mcp.server.setRequestHandler("tasks/get", { params: idOnly }, ({ taskId }) => {
      const task = tasks.get(taskId) as { polls: number; answer?: unknown };
      const base = { resultType: "complete", taskId, ...stamps, pollIntervalMs: 5 };
      if (task.answer !== undefined) {
        return {
          ...base,
          status: "completed",
          result: { resultType: "complete", ...text(JSON.stringify(task.answer)) },
        };
      }
      // Shown again and again before it is answered (B48).
      return ++task.polls < 3
        ? { ...base, status: "working" }
        : { ...base, status: "input_required", inputRequests: { size: question } };
    });
    mcp.server.setRequestHandler("tasks/update", { params: idOnly }, ({ taskId }, ctx) => {
      updates.push(ctx.mcpReq.inputResponses);
      Object.assign(tasks.get(taskId) ?? {}, { answer: ctx.mcpReq.inputResponses?.["size"] });
      return { resultType: "complete" };
    });
    return mcp;
  });
  closers.push(() => server.close());
  const client = await connect(server.url);
  closers.push(() => client.close());
  const responders: Responders = { form: async () => ({ action: "accept", content: { size: "XL" } }) };
  const result = await createCalls(client, { server: "shop", responders }).callTool({ name: "order" });
  expect(result).toEqual(text(JSON.stringify({ action: "accept", content: { size: "XL" } })));
  expect(updates).toHaveLength(1);
});
