/** Kinds of questions and answers that the official suite never exercises: our driver against our server. */
import { ResourceTemplate } from "@modelcontextprotocol/server";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import type { Responders } from "../../../src/client.ts";
import { prompt, resource, type SamplingParams, tool } from "../../../src/index.ts";
import { MOUNTS } from "../../helpers/mounts.ts";
import { accept, pair, text } from "./pair.ts";

const confirm = async () => accept({ confirm: true });

it.each(MOUNTS)(
  "A3 resources ask, fixed and templated, and each answer makes its own content (%s mount)",
  async (mount) => {
    const diary = resource(
      "diary",
      new ResourceTemplate("diary://{day}", { list: undefined }),
      {},
      async (uri, { day }, flow) => {
        const { name } = await flow.form("name", {
          message: `Who reads ${day}?`,
          schema: z.object({ name: z.string() }),
        });
        return { contents: [{ uri: uri.href, text: `${day} for ${name}` }] };
      },
    );
    const terms = resource("terms", "terms://all", {}, async (uri, _variables, flow) => ({
      contents: [{ uri: uri.href, text: String(await flow.confirm("agree", "Agree?")) }],
    }));
    const { host } = await pair(mount, [diary, terms]);
    const names = ["Ada", "Bo"];
    const form: Responders["form"] = async (_params, { key }) =>
      accept(key === "agree" ? { confirm: true } : { name: names.shift() ?? "" });
    const { calls, legs } = await host({ form });
    for (const [uri, content] of [
      ["diary://monday", "monday for Ada"],
      ["diary://monday", "monday for Bo"],
      ["terms://all", "true"],
    ] as const) {
      expect((await calls.readResource({ uri })).contents).toMatchObject([{ uri, text: content }]);
    }
    expect(legs()).toBe(6);
  },
);

it.each(MOUNTS)(
  "B13 B14 decline and cancel: one dialog, two requests, nothing done, and a result that says so (%s mount)",
  async (mount) => {
    let removed = 0;
    const schema = z.object({ ok: z.boolean() });
    const remove = tool("remove", {}, async (_args, flow) => {
      const { ok } = await flow.form("ok", { message: "Remove?", schema });
      if (ok) removed++;
      return text(ok ? "removed" : "kept");
    });
    const letter = prompt("letter", {}, async (_args, flow) => {
      await flow.form("ok", { message: "Write?", schema });
      return { messages: [] };
    });
    const { host } = await pair(mount, [remove, letter]);
    const call = async (answer: Awaited<ReturnType<NonNullable<Responders["form"]>>>) => {
      const form = vi.fn(async () => answer);
      const { calls, legs } = await host({ form });
      const result = await calls.callTool({ name: "remove" });
      expect(form).toHaveBeenCalledTimes(1);
      expect(legs()).toBe(2);
      return { result, letter: () => calls.getPrompt({ name: "letter" }) };
    };
    expect((await call(accept({ ok: true }))).result).toMatchObject(text("removed"));
    expect(removed).toBe(1);
    expect((await call(accept({ ok: false }))).result).toMatchObject(text("kept"));
    const declined = await call({ action: "decline" });
    expect(declined.result).toMatchObject({ isError: true, ...text('The request for "ok" was declined.') });
    await expect(declined.letter()).rejects.toMatchObject({ data: { reason: "input_declined", key: "ok" } });
    const cancelled = await call({ action: "cancel" });
    expect(cancelled.result).toMatchObject({ isError: true, ...text('The request for "ok" was cancelled.') });
    await expect(cancelled.letter()).rejects.toMatchObject({ data: { reason: "input_cancelled", key: "ok" } });
    expect(removed).toBe(1);
  },
);

it.each(MOUNTS)(
  "E21 URL mode: agreeing is consent and carries no content, declining is not agreeing (%s mount)",
  async (mount) => {
    const connect = tool("connect", {}, async (_args, flow) => {
      const { action } = await flow.outcome.url("go", { message: "Connect", url: "https://example.com/connect" });
      return text(action === "accept" && (await flow.confirm("done", "Connected?")) ? "connected" : action);
    });
    const { host } = await pair(mount, [connect]);
    const url = vi.fn<NonNullable<Responders["url"]>>(async () => accept({ smuggled: "token" }));
    expect(await (await host({ url, form: confirm })).calls.callTool({ name: "connect" })).toMatchObject(
      text("connected"),
    );
    expect(url.mock.calls[0]?.[0]).toEqual({ mode: "url", message: "Connect", url: "https://example.com/connect" });
    const refuses = await host({ url: async () => ({ action: "decline" }), form: confirm });
    expect(await refuses.calls.callTool({ name: "connect" })).toMatchObject(text("decline"));
    const formsOnly = await host({ form: confirm });
    await expect(formsOnly.calls.callTool({ name: "connect" })).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { url: {} } } },
    });
  },
);

it.each(MOUNTS)(
  "F18 sampling with tools: the model asks for a tool, the flow runs it once, the model answers (%s mount)",
  async (mount) => {
    let ran = 0;
    const tools = [{ name: "size", inputSchema: { type: "object" as const, properties: { of: { type: "string" } } } }];
    const summary = tool("summary", {}, async (_args, flow) => {
      const messages: SamplingParams["messages"] = [{ role: "user", content: { type: "text", text: "How big?" } }];
      const first = await flow.sample("first", { messages, maxTokens: 50, tools });
      const [use] = [first.content].flat();
      if (use?.type !== "tool_use") return text("no tool was used");
      const size = await flow.step("size", () => {
        ran++;
        return `${use.input["of"]}: 42`;
      });
      const result = {
        type: "tool_result" as const,
        toolUseId: use.id,
        content: [{ type: "text" as const, text: size }],
      };
      messages.push({ role: "assistant", content: [use] }, { role: "user", content: [result] });
      const last = await flow.sample("last", { messages, maxTokens: 50, tools });
      const [words] = [last.content].flat();
      return text(words?.type === "text" ? words.text : "no words");
    });
    const { host } = await pair(mount, [summary]);
    const sample: Responders["sample"] = async ({ messages }) => {
      const last = [messages.at(-1)?.content].flat()[0];
      if (last?.type !== "tool_result") {
        const use = { type: "tool_use" as const, id: "u1", name: "size", input: { of: "disk" } };
        return { role: "assistant", model: "m", content: [use], stopReason: "toolUse" };
      }
      const [block] = last.content;
      const words = `The model read "${block?.type === "text" ? block.text : ""}"`;
      return { role: "assistant", model: "m", content: { type: "text", text: words }, stopReason: "endTurn" };
    };
    const { calls, legs } = await host({ sample, sampleTools: true });
    expect(await calls.callTool({ name: "summary" })).toMatchObject(text('The model read "disk: 42"'));
    expect([ran, legs()]).toEqual([1, 3]);
    await expect((await host({ sample })).calls.callTool({ name: "summary" })).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { sampling: { tools: {} } } },
    });
  },
);
