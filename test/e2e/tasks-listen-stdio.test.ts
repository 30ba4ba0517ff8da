/** Task notifications over one pipe (stdio): the same words, marked with the subscription they belong to (H6, H30, G33). */

import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { afterEach, describe, expect, it } from "vitest";
import { createCalls } from "../../src/client.ts";
import { createParley, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { YES } from "../helpers/cli.ts";
import { SUBSCRIPTION_ID } from "../helpers/listen.ts";
import { EVERYTHING, TASKS, textIn, type Wire, yes } from "../helpers/tasks.ts";
import { until } from "../helpers/until.ts";

const closers: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const asks = tool("asks", { background: {} }, async (_args, flow) => ({
  content: [{ type: "text", text: `sure ${await flow.confirm("sure", "Sure?")}` }],
}));

let goOn = () => {};
const later = tool("later", { background: {} }, async (_args, flow) => {
  await flow.step("before", () => new Promise<void>((resolve) => (goOn = resolve)));
  return { content: [{ type: "text", text: `sure ${await flow.confirm("sure", "Sure?")}` }] };
});

class Pipe {
  readonly messages: Wire[] = [];
  readonly #in = new PassThrough();
  readonly #out = new PassThrough();
  #next = 100;
  server: McpServer | undefined;
  reads = 0;
  /** Holds reads of the store back. */
  gate: Promise<void> | undefined;
  /** Holds back what goes out. */
  sendGate: Promise<void> | undefined;
  readonly #closed: () => Promise<void>;

  /** @param pollIntervalMs so long by default that nothing is heard by looking */
  constructor(pollIntervalMs = 3_600_000) {
    const memory = memoryTasks();
    const read = async (id: string) => {
      this.reads++;
      await this.gate;
      return memory.read(id);
    };
    const parley = createParley({
      keys: [Buffer.from("0123456789abcdef0123456789abcdef")],
      callers: "anonymous",
      tasks: { store: { ...memory, read }, pollIntervalMs, lookMs: 10, subscriptions: 3 },
    });
    let rest = "";
    this.#out.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.messages.push(JSON.parse(line));
    });
    const wire = new StdioServerTransport(this.#in, this.#out);
    const send = wire.send.bind(wire);
    wire.send = async (message) => {
      await this.sendGate;
      await send(message);
    };
    const handle = serveStdio(
      () => {
        this.server = new McpServer({ name: "s", version: "1.0.0" });
        parley.register(this.server, [asks, later]);
        return this.server;
      },
      { transport: parley.taskSubscriptions(wire) },
    );
    this.#closed = () => handle.close();
    closers.push(async () => {
      await handle.close();
      await parley.close();
    });
  }

  send(method: string, params: Wire, id?: string | number, capabilities: object = EVERYTHING): void {
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "raw", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const message =
      id === undefined
        ? { jsonrpc: "2.0", method, params }
        : { jsonrpc: "2.0", id, method, params: { ...params, _meta } };
    this.#in.write(`${JSON.stringify(message)}\n`);
  }

  answer(id: string | number): Promise<Wire> {
    return until(() => this.messages.find((message) => message["id"] === id));
  }

  async request(method: string, params: Wire): Promise<Wire> {
    const id = this.#next++;
    this.send(method, params, id);
    return (await this.answer(id))["result"] as Wire;
  }

  async begin(name = "asks"): Promise<string> {
    return String((await this.request("tools/call", { name, arguments: {} }))["taskId"]);
  }

  /** What belongs to one subscription, in order. */
  of(id: string | number): Wire[] {
    return this.messages.filter(({ params }) => {
      const meta = (params as Wire | undefined)?.["_meta"] as Wire | undefined;
      return meta?.[SUBSCRIPTION_ID] === id;
    });
  }

  tasks(id: string | number): Wire[] {
    return this.of(id).flatMap(({ method, params }) => (method === "notifications/tasks" ? [params as Wire] : []));
  }

  end(): Promise<void> {
    return this.#closed();
  }
}

describe("task notifications over stdio", () => {
  it("H30 several subscriptions on one pipe: acknowledged, told of, and quiet once they are cancelled", async () => {
    const pipe = new Pipe();
    const [one, two] = [await pipe.begin(), await pipe.begin()];
    pipe.send("subscriptions/listen", { notifications: { taskIds: [one, "nobody's"], toolsListChanged: true } }, "a");
    pipe.send("subscriptions/listen", { notifications: { taskIds: [two, one] } }, "b");
    const accepted = (id: string) => until(() => (pipe.of(id)[0]?.["params"] as Wire | undefined)?.["notifications"]);
    expect(await accepted("a")).toEqual({ toolsListChanged: true, taskIds: [one] });
    expect(await accepted("b")).toEqual({ taskIds: [two, one] });
    await until(() => pipe.tasks("b").filter(({ status }) => status === "input_required")[1]);
    await until(() => pipe.tasks("a").find(({ status }) => status === "input_required"));
    pipe.send("notifications/cancelled", { requestId: "b" });
    const heardByB = pipe.of("b").length;
    await pipe.request("tasks/update", { taskId: one, inputResponses: { sure: yes } });
    await until(() => pipe.tasks("a").find(({ status }) => status === "completed"));
    expect(textIn(pipe.tasks("a").at(-1)?.["result"])).toBe("sure true");
    expect(pipe.of("b")).toHaveLength(heardByB);
    pipe.server?.sendToolListChanged();
    await until(() => pipe.of("a").find(({ method }) => method === "notifications/tools/list_changed"));
    await pipe.end();
    expect(await pipe.answer("a")).toMatchObject({
      result: { resultType: "complete", _meta: { [SUBSCRIPTION_ID]: "a" } },
    });
  });

  it("H6 A11 refuses what was not declared, at once or later, and tells nothing after that", async () => {
    const pipe = new Pipe();
    const taskId = await pipe.begin();
    const notifications = { taskIds: [taskId], toolsListChanged: true };
    pipe.send("subscriptions/listen", { notifications }, "undeclared", { elicitation: {} });
    expect(await pipe.answer("undeclared")).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: TASKS } },
    });
    pipe.send("subscriptions/listen", { notifications: { taskIds: 1 } }, "malformed");
    expect(await pipe.answer("malformed")).toMatchObject({ error: { code: -32602 } });
    await until(async () => (await pipe.request("tasks/get", { taskId }))["inputRequests"]);
    pipe.send("subscriptions/listen", { notifications }, "mute", TASKS);
    expect(await pipe.answer("mute")).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: { form: {} } } } },
    });
    pipe.server?.sendToolListChanged();
    await pipe.request("tools/list", {});
    const inTime = await pipe.begin("later");
    pipe.send("subscriptions/listen", { notifications: { taskIds: [inTime] } }, "in time", TASKS);
    await until(() => pipe.tasks("in time")[0]);
    goOn();
    expect(await pipe.answer("in time")).toMatchObject({ error: { code: -32021 } });
    expect(pipe.tasks("in time")).toMatchObject([{ status: "working" }]);
    // Asked of the store while the SDK has already taken it in.
    let letGo = () => {};
    pipe.gate = new Promise((resolve) => {
      letGo = resolve;
    });
    pipe.send("subscriptions/listen", { notifications }, "late", TASKS);
    await pipe.request("tools/list", {});
    pipe.server?.sendToolListChanged();
    await pipe.request("tools/list", {});
    pipe.gate = undefined;
    letGo();
    expect(await pipe.answer("late")).toMatchObject({ error: { code: -32021 } });
    await pipe.end();
    for (const id of ["undeclared", "malformed", "mute", "late"]) {
      expect(pipe.of(id), id).toEqual([]);
      expect(
        pipe.messages.filter((message) => message["id"] === id),
        id,
      ).toHaveLength(1);
    }
  });

  it("SUB nothing comes before the acknowledgement, however long the store takes", async () => {
    const pipe = new Pipe();
    const taskId = await pipe.begin();
    let letGo = () => {};
    pipe.gate = new Promise((resolve) => {
      letGo = resolve;
    });
    pipe.send("subscriptions/listen", { notifications: { taskIds: [taskId], toolsListChanged: true } }, 5);
    await pipe.request("tools/list", {});
    pipe.server?.sendToolListChanged();
    await pipe.request("tools/list", {});
    expect(pipe.of(5)).toEqual([]);
    pipe.gate = undefined;
    letGo();
    await until(() => pipe.of(5).find(({ method }) => method === "notifications/tools/list_changed"));
    expect(pipe.of(5)[0]?.["method"]).toBe("notifications/subscriptions/acknowledged");
  });

  it("what is cancelled, repeated or at its end costs no place and no reads", async () => {
    const pipe = new Pipe(10);
    const taskId = await pipe.begin();
    for (let n = 0; n < 5; n++) {
      pipe.send("subscriptions/listen", { notifications: { taskIds: [taskId] } }, `n${n}`);
      await until(() => pipe.of(`n${n}`)[0]);
      pipe.send("notifications/cancelled", { requestId: `n${n}` });
    }
    const acknowledged = () => pipe.of("same").filter(({ method }) => String(method).endsWith("/acknowledged")).length;
    for (let n = 0; n < 5; n++) {
      pipe.send("subscriptions/listen", { notifications: { taskIds: [taskId] } }, "same");
      await until(() => acknowledged() > n || undefined);
    }
    await pipe.request("tasks/update", { taskId, inputResponses: { sure: yes } });
    await until(() => pipe.tasks("same").find(({ status }) => status === "completed"));
    // All of its tasks have ended: it stays open, as the SDK has it, and takes nobody's place.
    for (let n = 0; n < 5; n++) {
      pipe.send("subscriptions/listen", { notifications: { taskIds: [taskId] } }, `over ${n}`);
      await until(() => pipe.tasks(`over ${n}`)[0]);
    }
    const reads = pipe.reads;
    await new Promise((resolve) => setTimeout(resolve, 80));
    expect(pipe.reads).toBeLessThanOrEqual(reads + 1);
    expect(pipe.messages.filter(({ error }) => error !== undefined)).toEqual([]);
  });

  it("a cancelled one hears nothing more, whatever was on its way", async () => {
    const pipe = new Pipe();
    const [one, two] = [await pipe.begin(), await pipe.begin()];
    const hold = () => {
      let letGo = () => {};
      const gate = new Promise<void>((resolve) => {
        letGo = resolve;
      });
      return { gate, letGo };
    };
    const opening = hold();
    pipe.gate = opening.gate;
    pipe.send("subscriptions/listen", { notifications: { taskIds: [one] } }, "opening");
    await pipe.request("tools/list", {});
    pipe.send("notifications/cancelled", { requestId: "opening" });
    await pipe.request("tools/list", {});
    pipe.gate = undefined;
    opening.letGo();
    await pipe.request("tools/list", {});
    expect(pipe.of("opening")).toEqual([]);

    pipe.send("subscriptions/listen", { notifications: { taskIds: [one, two] } }, "busy");
    await until(() => pipe.tasks("busy").filter(({ status }) => status === "input_required")[1]);
    const sending = hold();
    pipe.sendGate = sending.gate;
    const [before, reads] = [pipe.tasks("busy").length, pipe.reads];
    for (const taskId of [one, two]) pipe.send("tasks/cancel", { taskId }, `cancel ${taskId}`);
    // Each is read to cancel it, and to tell of it.
    await until(() => pipe.reads >= reads + 4 || undefined);
    await new Promise((resolve) => setTimeout(resolve, 20));
    pipe.send("notifications/cancelled", { requestId: "busy" });
    await new Promise((resolve) => setTimeout(resolve, 20));
    pipe.sendGate = undefined;
    sending.letGo();
    await pipe.request("tools/list", {});
    // One was being written already.
    expect(pipe.tasks("busy").length - before).toBe(1);
  });

  it("parley serve --stdio tells the official client", async () => {
    const cwd = fileURLToPath(new URL("../fixtures/cli", import.meta.url));
    const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));
    const client = new Client(
      { name: "official", version: "1.0.0" },
      { capabilities: EVERYTHING as never, versionNegotiation: { mode: { pin: "2026-07-28" } } },
    );
    const told: Wire[] = [];
    client.fallbackNotificationHandler = async ({ method, params }) => {
      if (method === "notifications/tasks") told.push(params as Wire);
    };
    const args = [main, "serve", "tasks.mjs", "--stdio"];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, cwd, stderr: "ignore" }) as never);
    closers.push(() => client.close());
    const calls = createCalls(client, { server: "tasks", responders: { form: async () => YES as never } });
    const call = await calls.open("tools/call", { name: "release", arguments: {} });
    call.answer("start", YES as never);
    await call.continue();
    const subscription = await client.listen({ taskIds: [call.task?.taskId] } as never);
    await until(() => told.find(({ status }) => status === "input_required"));
    call.answer("publish", YES as never);
    await call.continue();
    await until(() => told.find(({ status }) => status === "completed"));
    expect(textIn(told.at(-1)?.["result"])).toBe("published");
    await subscription.close();
  });
});
