import { describe, expect, it } from "vitest";
import type { Responders } from "../../src/calls/index.ts";
import type { Header, Line } from "../../src/transcript/format.ts";
import {
  diffCalls,
  type RecordedCall,
  type ReplayOptions,
  readTranscript,
  replayCall,
} from "../../src/transcript/index.ts";
import { lineRecorder } from "../../src/transcript/recorder.ts";
import { accept, done, form, inOrder, interim, link, type Reply, scripted } from "./calls-peer.ts";

const PASSWORD = "correct-horse-7";
const SURFACE: Responders = {
  form: async (_, { key }) => (key === "login" ? accept({ password: PASSWORD }) : accept({})),
  url: async () => ({ action: "accept" }),
  sample: async () => ({ role: "assistant", content: { type: "text", text: "4" }, model: "m" }),
  roots: async () => ({ roots: [{ uri: "file:///a" }] }),
};

async function record(replies: Reply[], args: object = { env: "a" }, responders = SURFACE): Promise<RecordedCall> {
  const lines: (Header | Line)[] = [];
  const peer = await scripted(inOrder(...replies));
  const calls = peer.calls({ responders, recorder: lineRecorder((line) => lines.push(line)) });
  await calls.callTool({ name: "t", arguments: { ...args } }).catch(() => {});
  return readTranscript(lines.map((line) => `${JSON.stringify(line)}\n`).join("")).calls[0] as RecordedCall;
}

async function replay(recorded: RecordedCall, replies: Reply[], options: ReplayOptions = {}) {
  const peer = await scripted(inOrder(...replies));
  const result = await replayCall(peer.client, recorded, options);
  return { ...result, peer };
}

const text = (message: string, properties: object = {}): object => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties } },
});
const two = (first = text("Deploy?"), state = "s1"): Reply[] => [
  interim({ ok: first, go: link() }, state),
  interim({ ok: text("Sure?") }, `${state}-2`),
  done("deployed"),
];

describe("replayCall", () => {
  it("an unchanged server: no difference, the same answers, its own states", async () => {
    const recorded = await record(two());
    const { changes, stopped, peer } = await replay(recorded, two(undefined, "other"));
    expect({ changes, stopped }).toEqual({ changes: [], stopped: undefined });
    expect(peer.requests.map(({ params }) => [params["requestState"], params["inputResponses"]])).toEqual([
      [undefined, undefined],
      ["other", { ok: accept(), go: { action: "accept" } }],
      ["other-2", { ok: accept() }],
    ]);
    expect(peer.requests[0]?.params["arguments"]).toEqual({ env: "a" });
  });

  it("all kinds of question are answered as they were", async () => {
    const replies = () => [
      interim({
        s: { method: "sampling/createMessage", params: { messages: [], maxTokens: 5 } },
        r: { method: "roots/list" },
      }),
      done(),
    ];
    const { changes, peer } = await replay(await record(replies()), replies());
    expect(changes).toEqual([]);
    expect(peer.requests[1]?.params["inputResponses"]).toMatchObject({
      s: { model: "m" },
      r: { roots: [{ uri: "file:///a" }] },
    });
  });

  it("a changed text is named, and the old consent is not given to it", async () => {
    const recorded = await record(two());
    const { changes, stopped, peer } = await replay(recorded, two(text("Deploy to production?")));
    expect(changes).toEqual([
      {
        type: "question_changed",
        key: "ok",
        round: 1,
        part: "message",
        before: "Deploy?",
        after: "Deploy to production?",
      },
    ]);
    expect(stopped).toEqual({ key: "ok", reason: "changed" });
    expect(peer.requests).toHaveLength(1);
  });

  it("with answerChanged the answer is given, and the rest is compared as well", async () => {
    const changed = two(text("Deploy to production?"));
    const { changes, stopped } = await replay(await record(two()), [changed[0]!, changed[1]!, done("other")], {
      answerChanged: true,
    });
    expect(stopped).toBeUndefined();
    expect(changes).toEqual([
      expect.objectContaining({ type: "question_changed", part: "message" }),
      { type: "result_changed", path: "/content/0/text", before: "deployed", after: "other" },
    ]);
  });

  it("a changed schema, kind and url are named apart", async () => {
    const recorded = await record(two());
    const schema = text("Deploy?", { why: { type: "string" } });
    expect((await replay(recorded, two(schema))).changes).toMatchObject([
      { part: "schema", after: { properties: { why: {} } } },
    ]);
    expect((await replay(recorded, two(link() as never))).changes).toMatchObject([
      { part: "kind", before: "form", after: "url" },
    ]);
    const [, ...rest] = two();
    const elsewhere = interim({ ok: text("Deploy?"), go: link("https://other.example/connect") }, "s");
    expect((await replay(recorded, [elsewhere, ...rest])).changes).toMatchObject([{ key: "go", part: "url" }]);
    // Another ticket in the same link is no other link.
    const tickets = (ticket: string) => [interim({ go: link(`https://example.com/c?ticket=${ticket}`) }), done()];
    expect((await replay(await record(tickets("a1")), tickets("b2"))).changes).toEqual([]);
  });

  it("a question more, a question less, a round more, a round less", async () => {
    const recorded = await record(two());
    const [first, second, last] = two() as [Reply, Reply, Reply];
    const more = await replay(recorded, [
      interim({ ok: text("Deploy?"), go: link(), new: text("?") }, "s"),
      second,
      last,
    ]);
    expect(more.changes).toEqual([{ type: "question_added", key: "new", round: 1 }]);
    expect(more.stopped).toEqual({ key: "new", reason: "not_recorded" });
    const less = await replay(recorded, [interim({ ok: text("Deploy?") }, "s"), second, last]);
    expect(less.changes).toEqual([{ type: "question_removed", key: "go", round: 1 }]);
    const extra = await replay(recorded, [first, second, interim({ third: text("Really?") }, "s"), last]);
    expect(extra.changes).toEqual([{ type: "question_added", key: "third", round: 3 }]);
    const short = await replay(recorded, [first, last]);
    expect(short.changes).toEqual([
      { type: "question_removed", key: "ok", round: 2 },
      { type: "rounds_changed", before: 2, after: 1 },
    ]);
  });

  it("another result, another end", async () => {
    const recorded = await record([done("a")]);
    expect((await replay(recorded, [done("b")])).changes).toEqual([
      { type: "result_changed", path: "/content/0/text", before: "a", after: "b" },
    ]);
    const gone = await replay(recorded, [{ resultType: "complete", content: [], isError: true }]);
    expect(gone.changes).toEqual([
      { type: "result_changed", path: "/content/0", before: { type: "text", text: "a" } },
      { type: "result_changed", path: "/isError", after: true },
    ]);
    expect((await replay(recorded, [{ error: { code: -32603, message: "no" } }])).changes).toEqual([
      { type: "end_changed", before: "complete", after: "failed (-32603)" },
    ]);
  });

  it("rounds that ask nothing do not count", async () => {
    const [first, second, last] = two() as [Reply, Reply, Reply];
    const { changes } = await replay(await record(two()), [interim(undefined, "busy"), first, second, last]);
    expect(changes).toEqual([]);
  });

  it("what was masked must be given anew, by key, before anything is sent", async () => {
    const replies = () => [interim({ login: form({ password: { type: "string" } }) }), done(`hello ${PASSWORD}`)];
    const recorded = await record(replies());
    const peer = await scripted(inOrder(...replies()));
    const refused = replayCall(peer.client, recorded);
    await expect(refused).rejects.toMatchObject({ code: "configuration", message: expect.stringContaining('"login"') });
    await expect(refused).rejects.toMatchObject({ details: { remedy: expect.stringContaining("--answers") } });
    expect(peer.requests).toHaveLength(0);
    const instead = { keys: new Set(["login"]), responders: SURFACE };
    const { changes, live, peer: again } = await replay(recorded, replies(), { instead });
    expect(changes).toEqual([]);
    expect(again.requests[1]?.params["inputResponses"]).toEqual({ login: accept({ password: PASSWORD }) });
    expect(JSON.stringify([live, changes])).not.toContain(PASSWORD);
  });

  it("a masked answer is never sent, even when its key was promised anew", async () => {
    const replies = () => [interim({ login: form({ password: { type: "string" } }) }), done()];
    const { stopped, peer } = await replay(await record(replies()), replies(), {
      instead: { keys: new Set(["login"]), responders: {} },
    });
    expect(stopped).toEqual({ key: "login", reason: "not_recorded" });
    expect(peer.requests).toHaveLength(1);
  });

  it("masked arguments too", async () => {
    const recorded = await record([done()], { token: "t0ken-t0ken" });
    await expect(replay(recorded, [done()])).rejects.toThrowError(/\/arguments\/token/);
    const { peer, changes } = await replay(recorded, [done()], { arguments: { token: "another-one" } });
    expect(peer.requests[0]?.params["arguments"]).toEqual({ token: "another-one" });
    expect(changes).toEqual([]);
  });

  it("a recording that stops early is compared as far as it goes", async () => {
    const whole = await record(two());
    const { end: _, ...cut } = { ...whole, rounds: whole.rounds.slice(0, 1) };
    const { changes, stopped } = await replay(cut, two());
    expect({ changes, stopped }).toEqual({ changes: [], stopped: { key: "ok", reason: "not_recorded" } });
    expect(diffCalls(whole, whole)).toEqual([]);
  });
});
