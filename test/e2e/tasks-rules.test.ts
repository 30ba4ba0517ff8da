/** Section H at the wire, on both mounts: who gets a task, what it looks like, and who may touch it. */
import { type AuthInfo, ProtocolError } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createParley, type Parley, type ParleyEvent, tool } from "../../src/index.ts";
import { memoryTasks } from "../../src/tasks/memory.ts";
import { connect, type TestServer } from "../helpers/http.ts";
import { MOUNTS, serveFlows } from "../helpers/mounts.ts";
import { EVERYTHING, no, TASKS, TaskWire, textIn, yes } from "../helpers/tasks.ts";

const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });
const UNKNOWN = { code: -32602, message: "Unknown taskId" };
const ACK = { resultType: "complete" };

const people: Record<string, AuthInfo> = {
  ann: { token: "ann", clientId: "app", scopes: [], extra: { iss: "https://id", sub: "ann" } },
  bob: { token: "bob", clientId: "app", scopes: [], extra: { iss: "https://id", sub: "bob" } },
};

describe.each(MOUNTS)("tasks at the wire, on the %s mount", (mount) => {
  let server: TestServer;
  let parley: Parley;
  let ann: TaskWire;
  let bob: TaskWire;
  const ran: string[] = [];
  const events: ParleyEvent[] = [];
  let letGo: () => void = () => {};
  let nowMs = 1_000_000;

  const flows = [
    tool("asks", { background: {} }, async (_args, flow) => {
      const [a, b] = await Promise.all([flow.confirm("a", "A?"), flow.confirm("b", "B?")]);
      ran.push("asked");
      return text(`${a} ${b}`);
    }),
    tool("again", { background: {} }, async (_args, flow) => {
      const { size } = await flow.form("size", { message: "Size?", schema: z.object({ size: z.number().int() }) });
      return text(`size ${size}`);
    }),
    tool("either", { background: { otherwise: "foreground" } }, () => text("done")),
    tool("late", {}, async (_args, flow) => {
      const name = await flow.form("name", { message: "Name?", schema: z.object({ name: z.string() }) });
      const inTask = await flow.background({ ttlMs: 5_000, pollIntervalMs: 7 });
      return text(`${name.name} ${inTask}`);
    }),
    tool("works", { background: {} }, async (_args, flow) => {
      await flow.progress({ progress: 1, total: 2 });
      await flow.step("work", ({ signal }) => {
        ran.push("work");
        return new Promise<void>((resolve, reject) => {
          letGo = resolve;
          signal.addEventListener("abort", () => reject(signal.reason), { once: true });
        });
      });
      return text("worked");
    }),
    tool("stubborn", { background: {} }, async (_args, flow) => {
      await flow.step("work", () => {
        ran.push("work");
        return new Promise<void>((resolve) => {
          letGo = resolve;
        });
      });
      return text("finished all the same");
    }),
    tool("short", { background: { ttlMs: 40 } }, async (_args, flow) => text(String(await flow.confirm("a", "A?")))),
    tool("errs", { background: {} }, () => {
      throw new Error("no luck");
    }),
    tool("breaks", { background: {} }, () => {
      throw new ProtocolError(-31_500, "broken", { why: "test" });
    }),
    tool("declined", { background: {} }, async (_args, flow) => {
      await flow.form("a", { message: "A?", schema: z.object({ a: z.string() }) });
      return text("not reached");
    }),
    tool("typed", { background: {}, outputSchema: z.object({ n: z.number() }) }, () => text("no structure")),
    tool("needs-url", { background: {} }, async (_args, flow) => {
      await flow.url("u", { message: "Open", url: "https://example.com" });
      return text("opened");
    }),
  ];

  beforeAll(async () => {
    parley = createParley({
      keys: [Buffer.from("0123456789abcdef0123456789abcdef")],
      now: () => nowMs++,
      tasks: { store: memoryTasks(), pollIntervalMs: 20 },
      onEvent: (event) => events.push(event),
    });
    server = await serveFlows(mount, parley, flows, { callers: (token) => (token ? people[token] : undefined) });
    ann = new TaskWire(server.url, { token: "ann" });
    bob = new TaskWire(server.url, { token: "bob" });
  });
  afterAll(async () => {
    await server.close();
    await parley.close();
  });
  beforeEach(() => {
    ran.length = 0;
    events.length = 0;
  });

  it("H1: discovery names the extension, and no capability of the earlier kind (H38)", async () => {
    const { result } = await ann.send("server/discover", {});
    const capabilities = result?.["capabilities"] as Record<string, unknown>;
    expect(capabilities["extensions"]).toMatchObject({ "io.modelcontextprotocol/tasks": {} });
    expect(capabilities).not.toHaveProperty("tasks");
  });

  it("H3, H5: a request that did not declare the extension is refused, or served in the foreground", async () => {
    expect((await ann.call("either")).result?.["resultType"]).toBe("task");
    const plain = new TaskWire(server.url, { token: "ann", capabilities: { elicitation: {} } });
    const refused = await plain.call("asks");
    expect([refused.status, refused.error?.code]).toEqual([400, -32021]);
    expect(refused.error?.data).toEqual({ requiredCapabilities: TASKS });
    expect(refused.error?.message).toContain("extensions (io.modelcontextprotocol/tasks)");
    const { result } = await plain.call("either");
    expect([result?.["resultType"], textIn(result)]).toEqual(["complete", "done"]);
    expect(ran).toEqual([]);
  });

  it("H35: the round that hands over must declare it, whatever an earlier one did", async () => {
    const first = await ann.call("late");
    const retry = {
      requestState: first.result?.["requestState"],
      inputResponses: { name: { action: "accept", content: { name: "Ann" } } },
    };
    const plain = new TaskWire(server.url, { token: "ann", capabilities: { elicitation: {} } });
    expect((await plain.call("late", {}, retry)).error?.code).toBe(-32021);
    const { result } = await ann.call("late", {}, retry);
    expect(result?.["resultType"]).toBe("task");
    expect(textIn((await ann.ended(String(result?.["taskId"])))["result"])).toBe("Ann true");
  });

  it("H7 to H9: a new task is flat, with times as ISO 8601, and nothing of a round's", async () => {
    const first = await ann.call("late");
    const { result } = await ann.call(
      "late",
      {},
      {
        requestState: first.result?.["requestState"],
        inputResponses: { name: { action: "accept", content: { name: "Ann" } } },
      },
    );
    expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: 5_000, pollIntervalMs: 7 });
    expect(String(result?.["createdAt"])).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    for (const field of ["requestState", "inputRequests", "content", "result", "task", "ttl", "pollInterval"])
      expect(result).not.toHaveProperty(field);
  });

  it("the round that hands over meets its own task when it comes again (H11)", async () => {
    const first = await ann.call("late");
    const retry = {
      requestState: first.result?.["requestState"],
      inputResponses: { name: { action: "accept", content: { name: "Ann" } } },
    };
    const [one, two] = [await ann.call("late", {}, retry), await ann.call("late", {}, retry)];
    expect(one.result?.["taskId"]).toBe(two.result?.["taskId"]);
  });

  it("H13, H18, L36: an id is unguessable, and unknown to everybody else in the same words", async () => {
    const taskId = await ann.begin("asks");
    expect(taskId).toMatch(/^[A-Za-z0-9_-]{32}$/);
    await ann.questions(taskId);
    const nobody = new TaskWire(server.url);
    for (const wire of [bob, nobody]) {
      for (const [id, answered] of [
        [taskId, await wire.get(taskId)],
        [taskId, await wire.update(taskId, { a: yes, b: yes })],
        [taskId, await wire.cancel(taskId)],
        ["unknown", await wire.get("unknown")],
      ] as const)
        expect(answered.error, `${id}`).toEqual(UNKNOWN);
    }
    expect((await ann.update("unknown", { a: yes })).error).toEqual(UNKNOWN);
    expect((await ann.cancel("unknown")).error).toEqual(UNKNOWN);
    // Nothing of what others tried has reached it.
    expect(Object.keys(await ann.questions(taskId))).toEqual(["a", "b"]);
  });

  it("H6: every method of tasks needs the declaration", async () => {
    const taskId = await ann.begin("asks");
    const plain = new TaskWire(server.url, { token: "ann", capabilities: { elicitation: {} } });
    for (const answered of [
      await plain.get(taskId),
      await plain.update(taskId, { a: yes }),
      await plain.cancel(taskId),
    ]) {
      expect([answered.status, answered.error?.code, answered.error?.data]).toEqual([
        400,
        -32021,
        { requiredCapabilities: TASKS },
      ]);
    }
    expect((await ann.get(taskId)).result?.["status"]).not.toBe("cancelled");
  });

  it("H33: the header names the task", async () => {
    const taskId = await ann.begin("asks");
    const answered = await ann.send("tasks/get", { taskId }, { "mcp-name": "another" });
    expect([answered.status, answered.error?.code]).toEqual([400, -32020]);
  });

  it("H38: the methods of the earlier kind are unknown", async () => {
    for (const method of ["tasks/result", "tasks/list"])
      expect((await ann.send(method, { taskId: "x" }, { "mcp-name": "x" })).error?.code).toBe(-32601);
  });

  it("H38: under an earlier revision the extension's name enables nothing", async () => {
    const client = await connect(server.url, { versionNegotiation: { mode: "legacy" }, capabilities: TASKS } as never, {
      authorization: "Bearer ann",
    });
    const request = client.request({ method: "tasks/get", params: { taskId: "x" } } as never, z.object({}) as never);
    await expect(request).rejects.toMatchObject({ code: -32601 });
    await client.close();
  });

  it("H17: lists all that is open; H26, H27: takes a part, ignores what is not open, and acks with nothing", async () => {
    const taskId = await ann.begin("asks");
    expect(Object.keys(await ann.questions(taskId))).toEqual(["a", "b"]);
    expect((await ann.update(taskId, { a: yes, other: yes })).result).toMatchObject(ACK);
    expect(Object.keys((await ann.update(taskId, { a: no })).result ?? {}).sort()).toEqual(["_meta", "resultType"]);
    const partly = (await ann.get(taskId)).result;
    expect([partly?.["status"], Object.keys(partly?.["inputRequests"] as object)]).toEqual(["input_required", ["b"]]);
    await ann.update(taskId, { b: no });
    expect(textIn((await ann.ended(taskId))["result"])).toBe("true false");
    expect(ran).toEqual(["asked"]);
  });

  it("H24: a question that is asked again comes under a key of its own, and the old one is dead", async () => {
    const taskId = await ann.begin("again");
    expect(Object.keys(await ann.questions(taskId))).toEqual(["size"]);
    await ann.update(taskId, { size: { action: "accept", content: { size: "large" } } });
    const again = await ann.when(taskId, ({ inputRequests }) => inputRequests !== undefined);
    expect(Object.keys(again["inputRequests"] as object)).toEqual(["size~2"]);
    await ann.update(taskId, { size: { action: "accept", content: { size: 1 } } });
    expect((await ann.get(taskId)).result?.["status"]).toBe("input_required");
    await ann.update(taskId, { "size~2": { action: "accept", content: { size: 2 } } });
    expect(textIn((await ann.ended(taskId))["result"])).toBe("size 2");
  });

  it.each([
    ["no map", "x"],
    ["a number for an answer", { a: 1 }],
    ["a wrapped answer", { a: { method: "elicitation/create", result: yes } }],
  ])("L37: refuses an update that is malformed: %s", async (_what, responses) => {
    const taskId = await ann.begin("asks");
    await ann.questions(taskId);
    const answered = await ann.update(taskId, responses);
    // The SDK reads what is no map as an empty one before anybody else sees it.
    if (mount === "sdk" && responses === "x") expect(answered.result).toMatchObject(ACK);
    else expect(answered.error?.code).toBe(-32602);
    expect(Object.keys(await ann.questions(taskId))).toEqual(["a", "b"]);
  });

  it("L37: an update of what works or has ended is acked and ignored", async () => {
    const working = await ann.begin("works");
    await ann.when(working, () => ran.length > 0);
    expect((await ann.update(working, { a: yes })).result).toMatchObject(ACK);
    letGo();
    expect(textIn((await ann.ended(working))["result"])).toBe("worked");
    expect((await ann.update(working, { a: yes })).result).toMatchObject(ACK);
    expect(textIn((await ann.get(working)).result?.["result"])).toBe("worked");
  });

  it("H28: cancels what waits for an answer, and an answer after that changes nothing", async () => {
    const taskId = await ann.begin("asks");
    await ann.questions(taskId);
    expect((await ann.cancel(taskId)).result).toMatchObject(ACK);
    expect((await ann.get(taskId)).result).toMatchObject({ status: "cancelled", resultType: "complete" });
    expect((await ann.update(taskId, { a: yes, b: yes })).result).toMatchObject(ACK);
    expect((await ann.cancel(taskId)).result).toMatchObject(ACK);
    expect((await ann.get(taskId)).result).toMatchObject({ status: "cancelled" });
    expect(ran).toEqual([]);
  });

  it("H28: cancels what runs, through its signal", async () => {
    const taskId = await ann.begin("works");
    await ann.when(taskId, () => ran.length > 0);
    expect((await ann.cancel(taskId)).result).toMatchObject(ACK);
    expect(await ann.ended(taskId)).toMatchObject({ status: "cancelled" });
  });

  it("H28: what does not listen to its signal ends a step later, and an ended task stays as it ended (H14)", async () => {
    const taskId = await ann.begin("stubborn");
    await ann.when(taskId, () => ran.length > 0);
    await ann.cancel(taskId);
    const asked = (await ann.get(taskId)).result;
    expect([asked?.["status"], asked?.["statusMessage"]]).toEqual(["working", "Cancellation was requested"]);
    letGo();
    const end = await ann.ended(taskId);
    for (const answered of [await ann.cancel(taskId), await ann.update(taskId, { a: yes })])
      expect(answered.result).toMatchObject(ACK);
    expect((await ann.get(taskId)).result).toMatchObject({ status: end["status"] });
  });

  it.each(["either", "errs", "breaks"])(
    "H28: cancelling %s when it has ended is acked and changes nothing",
    async (name) => {
      const taskId = await ann.begin(name);
      const { status } = await ann.ended(taskId);
      expect((await ann.cancel(taskId)).result).toMatchObject(ACK);
      expect((await ann.get(taskId)).result).toMatchObject({ status });
    },
  );

  it("H15, H16: an error of the tool is a result; an error of the protocol is a failure, as the call would have had it", async () => {
    const tooled = await ann.ended(await ann.begin("errs"));
    expect(tooled).toMatchObject({ status: "completed", result: { isError: true, resultType: "complete" } });
    expect(textIn(tooled["result"])).toContain("no luck");
    const broken = await ann.ended(await ann.begin("breaks"));
    expect(broken).toMatchObject({ status: "failed", statusMessage: "broken" });
    expect(broken["error"]).toEqual({ code: -31_500, message: "broken", data: { why: "test" } });
    expect(broken).not.toHaveProperty("result");
    const typed = await ann.ended(await ann.begin("typed"));
    expect(typed).toMatchObject({ status: "completed", result: { isError: true } });
  });

  it("L4: a person's no that nobody caught is a plain result", async () => {
    const taskId = await ann.begin("declined");
    await ann.questions(taskId);
    await ann.update(taskId, { a: { action: "decline" } });
    expect(await ann.ended(taskId)).toMatchObject({ status: "completed", result: { isError: true } });
  });

  it("H20: a task past its time has failed as expired, and takes no answer", async () => {
    const taskId = await ann.begin("short");
    const expired = await ann.ended(taskId);
    expect(expired["error"]).toEqual({ code: -32603, message: "The task expired", data: { reason: "expired" } });
    expect((await ann.update(taskId, { a: yes })).result).toMatchObject(ACK);
    expect((await ann.cancel(taskId)).result).toMatchObject(ACK);
    expect((await ann.get(taskId)).result).toMatchObject({ status: "failed" });
  });

  it("A11: what the call's client did not declare cannot be asked, and that fails the task", async () => {
    ann.capabilities = { elicitation: { form: {} }, ...TASKS };
    const taskId = await ann.begin("needs-url");
    const failed = await ann.ended(taskId);
    ann.capabilities = EVERYTHING;
    expect(failed["error"]).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { url: {} } } },
    });
  });

  it("L15: a poll that could not be asked what is open is told what it lacks", async () => {
    const taskId = await ann.begin("needs-url");
    await ann.questions(taskId);
    ann.capabilities = { elicitation: { form: {} }, ...TASKS };
    const told = await ann.get(taskId);
    ann.capabilities = EVERYTHING;
    expect(told.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: { url: {} } } } });
    expect(Object.keys(await ann.questions(taskId))).toEqual(["u"]);
  });

  it("H31: progress is the task's status message", async () => {
    const taskId = await ann.begin("works");
    const working = await ann.when(taskId, ({ statusMessage }) => statusMessage !== undefined);
    expect(working).toMatchObject({ status: "working", statusMessage: "1 of 2" });
    letGo();
    await ann.ended(taskId);
  });

  it("tells its operator that tasks began and ended, and nothing of what is in them", async () => {
    const taskId = await ann.begin("asks");
    await ann.questions(taskId);
    await ann.update(taskId, { a: yes, b: yes });
    await ann.ended(taskId);
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(["task_begun", "task_ended"]));
    expect(JSON.stringify(events)).not.toContain(taskId);
  });
});
