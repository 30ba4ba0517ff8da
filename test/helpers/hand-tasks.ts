/** A server of tasks written by hand on the official SDK: what a task is now is the test's to say. */
import { createServer } from "node:http";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, McpServer, ProtocolError } from "@modelcontextprotocol/server";
import { z } from "zod";
import { listen, type TestServer } from "./http.ts";

/** What `tasks/get` answers, and what the tool does. */
export interface Knobs {
  status: string;
  message?: string | undefined;
  /** Outstanding questions. */
  asks: Record<string, object>;
  result: object;
  error: object;
  ttlMs: number | null;
  pollIntervalMs: number;
  /** The task is not known any more. */
  forgotten: boolean;
  /** `tasks/*` fail with this error. */
  fails?: { code: number; message: string } | undefined;
  /** The connection breaks when a request of this kind has come in. */
  cut?: RegExp | undefined;
  /** Requests of this kind are not answered before it settles. */
  hold?: { of: RegExp; until: Promise<unknown> } | undefined;
}

export interface HandTasks extends TestServer {
  readonly knobs: Knobs;
  /** Requests as they came, without lists and the like. */
  readonly seen: { method: string; params: Record<string, unknown> }[];
  count(method: string): number;
}

export const done = (text: string, more: object = {}) => ({ content: [{ type: "text", text }], ...more });
export const question = (message: string, properties: Record<string, object> = { confirm: { type: "boolean" } }) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } },
});

const stamps = { createdAt: new Date(0).toISOString(), lastUpdatedAt: new Date(0).toISOString() };
const idOnly = z.object({ taskId: z.string() });

/** Tool `build` becomes a task; `plain` ends at once. */
export async function handTasks(port = 0): Promise<HandTasks> {
  const knobs: Knobs = {
    status: "working",
    asks: {},
    result: done("built"),
    error: { code: -31_500, message: "it broke" },
    ttlMs: null,
    pollIntervalMs: 20,
    forgotten: false,
  };
  const seen: HandTasks["seen"] = [];
  let tasks = 0;
  const handler = createMcpHandler(() => author(knobs, () => `task-${++tasks}`));
  const handle = toNodeHandler(handler);
  const http = createServer(async (req, res) => {
    if (req.method !== "POST") return void res.writeHead(405).end();
    let raw = "";
    for await (const chunk of req) raw += chunk;
    const body = JSON.parse(raw) as HandTasks["seen"][number];
    if (/^(tools\/call|tasks\/)/.test(body.method)) seen.push({ method: body.method, params: body.params });
    if (knobs.cut?.test(body.method)) return void req.socket.destroy();
    if (knobs.hold?.of.test(body.method)) await knobs.hold.until;
    await handle(req as Parameters<typeof handle>[0], res, body);
  });
  const server = await listen(http, () => handler.close(), port);
  const count = (method: string) => seen.filter((one) => one.method === method).length;
  return { ...server, knobs, seen, count };
}

function author(knobs: Knobs, newId: () => string): McpServer {
  const mcp = new McpServer({ name: "by-hand", version: "1.0.0" });
  mcp.server.registerCapabilities({ extensions: { "io.modelcontextprotocol/tasks": {} } });
  const now = (taskId: string) => {
    const { status, message, ttlMs, pollIntervalMs } = knobs;
    return {
      taskId,
      status,
      ...stamps,
      ttlMs,
      pollIntervalMs,
      ...(message !== undefined && { statusMessage: message }),
    };
  };
  const known = () => {
    if (knobs.fails) throw new ProtocolError(knobs.fails.code, knobs.fails.message);
    if (knobs.forgotten) throw new ProtocolError(-32_602, "Unknown task");
  };
  mcp.registerTool("build", {}, () => ({ ...now(newId()), resultType: "task", status: "working" }) as never);
  mcp.registerTool("plain", {}, () => done("plain") as never);
  mcp.registerTool("broken", {}, () => done("no luck", { isError: true }) as never);
  mcp.server.setRequestHandler("tasks/get", { params: idOnly }, ({ taskId }) => {
    known();
    const { status, asks, result, error } = knobs;
    return {
      resultType: "complete",
      ...now(taskId),
      ...(status === "input_required" && { inputRequests: asks }),
      ...(status === "completed" && { result: { resultType: "complete", ...result } }),
      ...(status === "failed" && { error }),
    };
  });
  mcp.server.setRequestHandler("tasks/update", { params: idOnly }, (_params, { mcpReq }) => {
    known();
    for (const key of Object.keys(mcpReq.inputResponses ?? {})) delete knobs.asks[key];
    if (Object.keys(knobs.asks).length === 0) knobs.status = "working";
    return { resultType: "complete" };
  });
  mcp.server.setRequestHandler("tasks/cancel", { params: idOnly }, () => {
    known();
    knobs.status = "cancelled";
    return { resultType: "complete" };
  });
  return mcp;
}
