/** What the mount refuses, and that a refusal never runs a flow: each case after a positive control, one change at a time. */
import { type AuthInfo, createRequestStateCodec, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { createParley, type ParleyEvent, type ParleyOptions, prompt, resource, tool } from "../../src/index.ts";
import { rpc, serveHttp, type TestServer } from "../helpers/http.ts";
import { MOUNTS, serveFlows } from "../helpers/mounts.ts";

const yes = { ok: { action: "accept", content: { confirm: true } } };
const KEY = Buffer.from("0123456789abcdef0123456789abcdef");
const frozen = {
  status: 200,
  error: { code: -32602, message: "Invalid or expired requestState", data: { reason: "invalid_request_state" } },
};
const text = (value: string) => ({ content: [{ type: "text" as const, text: value }] });

/** Bearer tokens of this test: who is who. */
const people: Record<string, AuthInfo> = {
  ann: { token: "ann", clientId: "app", scopes: [], extra: { iss: "https://id", sub: "ann" } },
  ann2: { token: "ann2", clientId: "app", scopes: ["more"], extra: { iss: "https://id", sub: "ann" } },
  bob: { token: "bob", clientId: "app", scopes: [], extra: { iss: "https://id", sub: "bob" } },
};

const callers = (token: string | undefined) => (token === undefined ? undefined : people[token]);

describe.each(MOUNTS)("refusals at the wire, on the %s mount", (mount) => {
  let ran = 0;
  let nowMs = 1_000_000;
  const events: ParleyEvent[] = [];
  const servers: Record<string, TestServer> = {};

  const flows = (version: string) => {
    const ask = async (flow: { confirm(key: string, message: string): Promise<boolean> }, what: string) => {
      ran++;
      return (await flow.confirm("ok", `${what}?`)) ? `did ${what}` : "did not";
    };
    const schema = z.object({ file: z.string(), deep: z.object({ x: z.number(), y: z.number() }).optional() });
    return [
      tool("remove", { inputSchema: schema, version }, async ({ file }, flow) => text(await ask(flow, file))),
      tool("other", { inputSchema: schema, version }, async ({ file }, flow) => text(await ask(flow, file))),
      prompt("remove", { argsSchema: z.object({ file: z.string() }), version }, async ({ file }, flow) => ({
        messages: [{ role: "user", content: { type: "text", text: await ask(flow, file) } }],
      })),
      ...["a", "b"].map((name) =>
        resource(name, `doc://${name}`, { version }, async (uri, _variables, flow) => ({
          contents: [{ uri: uri.href, text: await ask(flow, name) }],
        })),
      ),
    ];
  };
  const serve = (options: ParleyOptions, version = "1") => {
    const parley = createParley({ keys: [KEY], now: () => nowMs, onEvent: (event) => events.push(event), ...options });
    return serveFlows(mount, parley, flows(version), { callers });
  };
  const bearer = (token?: string) => (token === undefined ? {} : { authorization: `Bearer ${token}` });

  beforeAll(async () => {
    servers["one"] = await serve({});
    servers["replica"] = await serve({});
    servers["audience"] = await serve({ audience: "elsewhere" });
    servers["other-key"] = await serve({ keys: [Buffer.from("ABCDEF0123456789abcdef0123456789")] });
    servers["rotated"] = await serve({ keys: [Buffer.from("ABCDEF0123456789abcdef0123456789"), KEY] });
    servers["version"] = await serve({}, "2");
  });
  afterAll(() => Promise.all(Object.values(servers).map((server) => server.close())));
  beforeEach(() => {
    nowMs = 1_000_000;
    events.length = 0;
  });

  const callA = { method: "tools/call", params: { name: "remove", arguments: { file: "a", deep: { x: 1, y: 2 } } } };
  type Change = {
    on?: string;
    as?: string | undefined;
    method?: string;
    params?: Record<string, unknown>;
    afterMs?: number;
    edit?: (state: string) => unknown;
  };

  async function roundTrip(change: Change, first = callA, as: string | undefined = "ann") {
    const asked = await rpc(servers["one"]?.url as string, first.method, first.params, { headers: bearer(as) });
    const state = asked.result?.["requestState"] as string;
    const before = ran;
    nowMs += change.afterMs ?? 0;
    const answered = await rpc(
      servers[change.on ?? "one"]?.url as string,
      change.method ?? first.method,
      { ...(change.params ?? first.params), inputResponses: yes, requestState: change.edit?.(state) ?? state },
      { headers: bearer("as" in change ? change.as : as) },
    );
    return { answered, ran: ran - before };
  }

  it.each<[string, Change]>([
    ["the same request", {}],
    ["on another replica with the same key (A22, B44)", { on: "replica" }],
    ["after rotation, while the old key still opens (B44)", { on: "rotated" }],
    ["arguments in another order (C7)", { params: { arguments: { deep: { y: 2, x: 1 }, file: "a" }, name: "remove" } }],
    ["the same person with a refreshed token (L26)", { as: "ann2" }],
    ["just before expiry (C6)", { afterMs: 599_999 }],
    ["clocks apart, within the allowance", { afterMs: -30_000 }],
  ])("positive control: %s is served", async (_, change) => {
    const { answered, ran: runs } = await roundTrip(change);
    expect(answered.result).toMatchObject({ resultType: "complete", content: [{ text: "did a" }] });
    expect(runs).toBe(1);
  });

  it.each<[string, Change, string]>([
    [
      "C3 a changed character",
      { edit: (state) => state.replace(/.$/, (last) => (last === "A" ? "B" : "A")) },
      "tampered|malformed",
    ],
    ["C3 cut short", { edit: (state) => state.slice(0, -1) }, "tampered|malformed"],
    ["C3 something appended", { edit: (state) => `${state}AAAA` }, "tampered"],
    ["one spelling: padding", { edit: (state) => `${state}=` }, "malformed"],
    ["one spelling: white space", { edit: (state) => `${state}\n` }, "malformed"],
    ["B08 a plain word", { edit: () => "signed-in" }, "unknown_format"],
    ["C5 another caller", { as: "bob" }, "other_principal"],
    ["C5 nobody", { as: undefined }, "other_principal"],
    [
      "C7 one argument changed (B11)",
      { params: { name: "remove", arguments: { file: "b", deep: { x: 1, y: 2 } } } },
      "other_params",
    ],
    [
      "C7 one deep argument changed",
      { params: { name: "remove", arguments: { file: "a", deep: { x: 1, y: 3 } } } },
      "other_params",
    ],
    ["C7 another tool", { params: { name: "other", arguments: callA.params.arguments } }, "other_target"],
    ["C18 another service", { on: "audience" }, "other_audience"],
    ["B44 a key that is gone", { on: "other-key" }, "unknown_key"],
    ["C6 expired", { afterMs: 600_000 }, "expired"],
    ["C6 from the future, beyond the allowance", { afterMs: -30_001 }, "not_yet_valid"],
  ])("%s: one answer, no run, the reason on the event hook", async (_, change, reason) => {
    const { answered, ran: runs } = await roundTrip(change);
    expect(answered).toMatchObject(frozen);
    expect(runs).toBe(0);
    const refused = events.flatMap((event) => (event.type === "state_refused" ? [event.reason] : []));
    expect(refused).toEqual([expect.stringMatching(new RegExp(`^(${reason})$`))]);
  });

  it("C7 another URI: refused; the same one: served", async () => {
    const read = { method: "resources/read", params: { uri: "doc://a" } };
    expect((await roundTrip({}, read as never)).answered.result).toMatchObject({ contents: [{ text: "did a" }] });
    expect((await roundTrip({ params: { uri: "doc://b" } }, read as never)).answered).toMatchObject(frozen);
  });

  it("C7 another method with the same name and arguments: refused", async () => {
    const plain = { method: "tools/call", params: { name: "remove", arguments: { file: "a" } } };
    expect((await roundTrip({}, plain as never)).answered.result).toMatchObject({ resultType: "complete" });
    expect((await roundTrip({ method: "prompts/get" }, plain as never)).answered).toMatchObject(frozen);
  });

  it("C5 a state made for nobody is not a person's", async () => {
    expect((await roundTrip({}, callA, "nobody")).answered.result).toMatchObject({ resultType: "complete" });
    expect((await roundTrip({ as: "ann" }, callA, "nobody")).answered).toMatchObject(frozen);
  });

  it("design 3.8 a state of another flow version is not continued: the question is asked again", async () => {
    const { answered, ran: runs } = await roundTrip({ on: "version" });
    expect(answered.result).toMatchObject({ resultType: "input_required", inputRequests: { ok: {} } });
    expect(runs).toBe(1);
    expect(events.map((event) => event.type)).toContain("started_over");
  });

  it("two tokens spliced are nobody's", async () => {
    const [first, second] = await Promise.all(
      [1, 2].map(async () => {
        const asked = await rpc(servers["one"]?.url as string, callA.method, callA.params, { headers: bearer("ann") });
        return asked.result?.["requestState"] as string;
      }),
    );
    const middle = Math.floor((first?.length ?? 0) / 2);
    const spliced = `${first?.slice(0, middle)}${second?.slice(middle)}`;
    expect((await roundTrip({ edit: () => spliced })).answered).toMatchObject(frozen);
  });

  it.each([7, null, { a: 1 }, ["x"]])("a state that is no string is refused as well: %j", async (requestState) => {
    const before = ran;
    const params = { ...callA.params, requestState, inputResponses: yes };
    const answered = await rpc(servers["one"]?.url as string, callA.method, params, { headers: bearer("ann") });
    expect(answered).toMatchObject(frozen);
    expect(ran).toBe(before);
  });
});

describe("callers", () => {
  it("B10 start-up says that states are not bound to a caller, unless every caller must authenticate", () => {
    const codes = (options: ParleyOptions) => {
      const seen: string[] = [];
      createParley({ keys: [KEY], onEvent: (event) => event.type === "warning" && seen.push(event.code), ...options });
      return seen;
    };
    expect(codes({})).toEqual(["anonymous_callers"]);
    expect(codes({ callers: "anonymous" })).toEqual(["anonymous_callers"]);
    expect(codes({ callers: "authenticated" })).toEqual([]);
  });

  it.each(MOUNTS)('callers: "authenticated" refuses a call without verified auth info, %s mount', async (mount) => {
    let ran = 0;
    const parley = createParley({ keys: [KEY], callers: "authenticated" });
    const flow = tool("t", {}, async () => text(`${++ran}`));
    const server = await serveFlows(mount, parley, [flow], { callers });
    expect((await rpc(server.url, "tools/call", { name: "t" })).error).toMatchObject({ code: -32600 });
    expect(ran).toBe(0);
    const ann = await rpc(server.url, "tools/call", { name: "t" }, { headers: { authorization: "Bearer ann" } });
    expect(ann.result).toMatchObject({ content: [{ text: "1" }] });
    await server.close();
  });
});

describe("beside a server's own multi round-trip tools", () => {
  it("its own state codec goes on working, ours passes it, and neither takes the other's state", async () => {
    const codec = createRequestStateCodec<{ step: string }>({ key: "k".repeat(32) });
    const parley = createParley({ keys: [KEY], callers: "anonymous", onEvent: () => undefined });
    const mine = tool("mine", {}, async (_args, flow) => text(String(await flow.confirm("ok", "Ok?"))));
    const seen: unknown[] = [];
    const server = await serveHttp(() => {
      const mcp = new McpServer({ name: "s", version: "1.0.0" }, { requestState: { verify: codec.verify } });
      mcp.registerTool("theirs", {}, async (ctx) => {
        const state = ctx.mcpReq.requestState<{ step: string }>();
        seen.push(state);
        if (state?.step === "asked") return text("theirs done");
        return inputRequired({ requestState: await codec.mint({ step: "asked" }) });
      });
      parley.register(mcp, [mine]);
      return mcp;
    });
    const theirs = await rpc(server.url, "tools/call", { name: "theirs" });
    const own = await rpc(server.url, "tools/call", { name: "mine" });
    const [theirState, ownState] = [theirs, own].map((asked) => asked.result?.["requestState"]);
    const retry = (name: string, requestState: unknown) =>
      rpc(server.url, "tools/call", { name, requestState, inputResponses: yes });

    expect((await retry("theirs", theirState)).result).toMatchObject({ content: [{ text: "theirs done" }] });
    expect((await retry("mine", ownState)).result).toMatchObject({ content: [{ text: "true" }] });
    expect(await retry("mine", theirState)).toMatchObject(frozen);
    seen.length = 0;
    const crossed = await retry("theirs", ownState);
    expect(crossed.result).toMatchObject({ resultType: "input_required" });
    expect(seen).toEqual([undefined]);
    await server.close();
  });

  it("two Parleys on one server each know their own states", async () => {
    const codec = createRequestStateCodec({ key: "k".repeat(32) });
    const make = (byte: number) =>
      createParley({ keys: [KEY.map((old, index) => (index === 0 ? byte : old))], callers: "anonymous" });
    const [first, second] = [make(1), make(2)];
    const ask = (name: string) => tool(name, {}, async (_args, flow) => text(String(await flow.confirm("ok", "Ok?"))));
    const server = await serveHttp(() => {
      const mcp = new McpServer({ name: "s", version: "1.0.0" }, { requestState: { verify: codec.verify } });
      first.register(mcp, [ask("one")]);
      second.register(mcp, [ask("two")]);
      return mcp;
    });
    for (const name of ["one", "two"]) {
      const asked = await rpc(server.url, "tools/call", { name });
      const retry = { name, requestState: asked.result?.["requestState"], inputResponses: yes };
      expect((await rpc(server.url, "tools/call", retry)).result).toMatchObject({ content: [{ text: "true" }] });
    }
    await server.close();
  });
});

describe("wrong use", () => {
  it("register takes an array, and says so", () => {
    const mcp = new McpServer({ name: "s", version: "1.0.0" });
    const parley = createParley({ keys: [KEY], callers: "anonymous" });
    expect(() => parley.register(mcp, tool("t", {}, async () => text("x")) as never)).toThrow(
      /must be an array of flows/,
    );
    expect(() => parley.register({} as never, [])).toThrow(/must be an McpServer/);
    expect(() => parley.register(mcp, [{} as never])).toThrow(/must come from tool/);
  });
});
