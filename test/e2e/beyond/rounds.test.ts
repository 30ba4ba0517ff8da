/** Whole calls that the official suite never makes: saved ones, late ones, other people's, many at once, over a pipe. */
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { inputRequired, McpServer } from "@modelcontextprotocol/server";
import { expect, it, onTestFinished, vi } from "vitest";
import { z } from "zod";
import { createCalls, type Responders } from "../../../src/client.ts";
import { tool } from "../../../src/index.ts";
import { connect, serveHttp } from "../../helpers/http.ts";
import { MOUNTS } from "../../helpers/mounts.ts";
import { accept, pair, text } from "./pair.ts";

const done: string[] = [];
const remove = tool("remove", { inputSchema: z.object({ file: z.string() }) }, async ({ file }, flow) => {
  const ok = await flow.confirm("ok", `Remove ${file}?`);
  const who = flow.caller?.subject ?? "nobody";
  if (ok) done.push(`${file} by ${who}`);
  return text(ok ? `removed ${file}` : "kept");
});
const asking = () => vi.fn<NonNullable<Responders["form"]>>(async () => accept({ confirm: true }));

/** A call of Ann's, answered with yes but not sent, as it would be kept over night. */
async function saved(host: Awaited<ReturnType<typeof pair>>["host"]) {
  const { calls } = await host({ form: asking() }, "ann");
  const call = await calls.open("tools/call", { name: "remove", arguments: { file: "a" } });
  call.answer("ok", accept({ confirm: true }));
  done.length = 0;
  return call.toJSON();
}

it.each(MOUNTS)(
  "B10 a saved call ends for who began it; another caller's yes is asked for anew (%s mount)",
  async (mount) => {
    const { host, refusals } = await pair(mount, [remove]);
    const ann = await host({ form: asking() }, "ann");
    expect(await ann.calls.resume(await saved(host)).run()).toMatchObject(text("removed a"));
    expect(done).toEqual(["a by ann"]);

    const strict = await host({ form: asking() }, "bob", { restartRefusedState: false });
    const refused = { code: -32602, data: { reason: "invalid_request_state" } };
    await expect(strict.calls.resume(await saved(host)).run()).rejects.toMatchObject(refused);
    expect(done).toEqual([]);

    const form = asking();
    const bob = await host({ form }, "bob");
    expect(await bob.calls.resume(await saved(host)).run()).toMatchObject(text("removed a"));
    expect(form).toHaveBeenCalledTimes(1);
    expect(done).toEqual(["a by bob"]);
    expect(refusals()).toEqual(["other_principal", "other_principal"]);
  },
);

it.each(MOUNTS)(
  "B11 changed arguments: the old yes is worth nothing, the new question names the new target (%s mount)",
  async (mount) => {
    const { host, refusals } = await pair(mount, [remove]);
    const form = vi.fn<NonNullable<Responders["form"]>>(async () => accept({ confirm: false }));
    const { calls } = await host({ form }, "ann");
    const call = await saved(host);
    const changed = { ...call, params: { ...call.params, arguments: { file: "everything" } } };
    expect(await calls.resume(changed).run()).toMatchObject(text("kept"));
    expect(form.mock.calls[0]?.[0].message).toBe("Remove everything?");
    expect([done, refusals()]).toEqual([[], ["other_params"]]);
  },
);

it.each(MOUNTS)(
  "C6 B44 an answer after expiry does not count; the person is asked once more (%s mount)",
  async (mount) => {
    let nowMs = 1_000_000;
    const { host, refusals } = await pair(mount, [remove], { now: () => nowMs, limits: { roundTtlMs: 60_000 } });
    const thinksFor = (...pauses: number[]) =>
      vi.fn<NonNullable<Responders["form"]>>(async () => {
        nowMs += pauses.shift() ?? 0;
        return accept({ confirm: true });
      });
    const inTime = thinksFor(59_999);
    expect(
      await (await host({ form: inTime })).calls.callTool({ name: "remove", arguments: { file: "a" } }),
    ).toMatchObject(text("removed a"));
    expect([inTime.mock.calls.length, refusals()]).toEqual([1, []]);

    const late = thinksFor(60_000, 1);
    const { calls, seen } = await host({ form: late });
    expect(await calls.callTool({ name: "remove", arguments: { file: "b" } })).toMatchObject(text("removed b"));
    expect([late.mock.calls.length, refusals()]).toEqual([2, ["expired"]]);
    expect(seen.filter(({ type }) => type === "restarted")).toHaveLength(1);
  },
);

it.each(MOUNTS)(
  "calls in flight of two callers do not mix, whatever order they are answered in (%s mount)",
  async (mount) => {
    const { host, refusals } = await pair(mount, [remove]);
    done.length = 0;
    const people = ["ann", "bob"];
    const slow: Responders["form"] = async ({ message }) => {
      await new Promise((resolve) => setTimeout(resolve, (message.length * 7) % 5));
      return accept({ confirm: !message.includes("odd") });
    };
    const runs = people.map(async (who) => {
      const { calls } = await host({ form: slow }, who);
      const files = Array.from({ length: 6 }, (_, at) => `${who}-${"x".repeat(at)}${at % 2 ? "-odd" : ""}`);
      const results = await Promise.all(files.map((file) => calls.callTool({ name: "remove", arguments: { file } })));
      const expected = files.map((file) => text(file.includes("odd") ? "kept" : `removed ${file}`).content);
      expect(results.map(({ content }) => content)).toEqual(expected);
      return files.filter((file) => !file.includes("odd")).map((file) => `${file} by ${who}`);
    });
    const expected = (await Promise.all(runs)).flat();
    expect(done.toSorted()).toEqual(expected.toSorted());
    expect(refusals()).toEqual([]);
  },
);

it("B03 B48 rounds of state alone: paced, echoed exactly, nobody asked, and ended by the cap", async () => {
  const states = [' {"a":1}\n', "é", "p1.x", "last"];
  const seen: unknown[] = [];
  const server = await serveHttp(() => {
    const mcp = new McpServer({ name: "waits", version: "1.0.0" });
    mcp.registerTool("wait", {}, (ctx) => {
      const state = ctx.mcpReq.requestState<string>();
      seen.push(state);
      const next = states[state === undefined ? 0 : states.indexOf(state) + 1];
      return next === undefined ? text("done") : inputRequired({ requestState: next });
    });
    mcp.registerTool("forever", {}, () => inputRequired({ requestState: "again" }));
    return mcp;
  });
  onTestFinished(() => server.close());
  const form = asking();
  const paced: number[] = [];
  const calls = createCalls(await connect(server.url), {
    server: "waits",
    responders: { form },
    maxRounds: 5,
    pacing: { initialMs: 1, factor: 2, maxMs: 4, jitter: 0 },
    onEvent: (event) => event.type === "paced" && paced.push(event.ms),
  });
  expect(await calls.callTool({ name: "wait" })).toMatchObject(text("done"));
  expect(seen).toEqual([undefined, ...states]);
  expect(paced).toEqual([1, 2, 4, 4]);
  await expect(calls.callTool({ name: "forever" })).rejects.toMatchObject({ code: "rounds_exceeded" });
  expect(form).not.toHaveBeenCalled();
});

it("stdio: our driver and the built server over a real pipe, three rounds, two calls at once", async () => {
  const client = new Client({ name: "host", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const args = ["test/fixtures/stdio-server.mjs"];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: "inherit" }) as never);
  onTestFinished(() => client.close());
  const answers: Record<string, object> = { ok: { confirm: true }, window: { when: "now" } };
  const form: Responders["form"] = async (_params, { key, params }) => {
    const { env } = params["arguments"] as { env: string };
    return accept((answers[key] ?? { note: `for ${env}` }) as Record<string, string>);
  };
  const calls = createCalls(client, { server: "stdio", responders: { form } });
  const results = await Promise.all(
    ["prod", "test"].map((env) => calls.callTool({ name: "deploy", arguments: { env } })),
  );
  expect(results.map(({ content }) => (content[0] as { text: string }).text)).toEqual([
    expect.stringMatching(/^prod plan \d true now for prod$/),
    expect.stringMatching(/^test plan \d true now for test$/),
  ]);
});
