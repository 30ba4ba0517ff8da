import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { CallEvent } from "../../src/calls/events.ts";
import type { Responders } from "../../src/calls/index.ts";
import { policyResponders, readPolicy } from "../../src/policy/index.ts";
import { readTranscript, recordTo, type TranscriptKeep } from "../../src/transcript/index.ts";
import { accept, done, form, inOrder, interim, link, type Reply, scripted } from "./calls-peer.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-transcript-"));
let files = 0;
const fresh = () => join(folder, `${++files}.jsonl`);

const PASSWORD = "correct-horse-7";
const API_KEY = "ak_9f8e7d6c5b";
const STATE = "sealed.0f1e2d3c4b5a6978.state";
const ASK = { ok: form({ user: { type: "string" }, password: { type: "string" } }) };
const typed = { user: "ann", password: PASSWORD };

interface Run {
  readonly keep?: readonly TranscriptKeep[];
  readonly args?: Record<string, unknown>;
  readonly responders?: Responders;
}

async function record(replies: Reply[], { keep, args = {}, responders }: Run = {}) {
  const path = fresh();
  const peer = await scripted(inOrder(...replies));
  const recorder = recordTo(path, { ...(keep && { keep }) });
  const calls = peer.calls({
    recorder,
    responders: responders ?? { form: async () => accept(typed), url: async () => ({ action: "accept" }) },
  });
  const ended = await calls.callTool({ name: "t", arguments: args }).then(
    () => "complete",
    (error: { code: string }) => error.code,
  );
  recorder.close();
  const text = readFileSync(path, "utf8");
  return {
    path,
    text,
    ended,
    peer,
    lines: text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  };
}

describe("recordTo", () => {
  it("writes a line for everything that happens, the header first", async () => {
    const { lines, ended } = await record([interim({ ok: form() }, "s"), done("fine")], {
      args: { env: "staging" },
      responders: policyResponders(readPolicy({ version: 1, rules: [{ name: "no", then: { action: "decline" } }] })),
    });
    expect(ended).toBe("complete");
    expect(lines[0]).toEqual({ format: "mcp-parley/transcript", version: 1, startedAt: expect.any(Number), keep: [] });
    expect(lines.map(({ type }) => type)).toEqual([undefined, "call", "leg", "interim", "answer", "leg", "complete"]);
    expect(lines[1]).toMatchObject({
      call: 1,
      server: "files",
      method: "tools/call",
      capabilities: { elicitation: {} },
    });
    expect(lines[1].params).toEqual({ name: "t", arguments: { env: "staging" } });
    expect(lines[3]).toMatchObject({
      round: 1,
      questions: [{ key: "ok", request: form() }],
      state: { ordinal: 1, bytes: 1 },
    });
    expect(lines[4]).toMatchObject({ round: 1, key: "ok", answer: { action: "decline" }, by: "policy:no" });
    expect(lines[5]).toMatchObject({ round: 2, answered: ["ok"], state: { ordinal: 1, bytes: 1 } });
    expect(lines[6]).toMatchObject({ round: 2, result: { content: [{ type: "text", text: "fine" }] } });
  });

  it("M1 B35 F1: no state and no secret, wherever the server repeats it; kept by name only", async () => {
    const replies = () => [
      interim(ASK, STATE),
      interim({ again: form({ note: { type: "string", default: PASSWORD } }) }, `${STATE}2`),
      done(`logged in with ${PASSWORD}, key ${API_KEY}, state ${STATE}2`),
    ];
    const args = { env: "prod", deep: { apiKey: API_KEY, list: [{ token: 123456789 }] } };
    const responders: Responders = { form: async (_, { key }) => accept(key === "ok" ? typed : { note: PASSWORD }) };
    const secrets = [PASSWORD, API_KEY, "123456789"];
    const hits = (text: string, words: string[]) => words.filter((word) => text.includes(word));

    const kept = await record(replies(), { args, responders, keep: ["state", "secrets"] });
    expect(kept.ended).toBe("complete");
    expect(hits(kept.text, [...secrets, STATE])).toEqual([...secrets, STATE]);

    const left = await record(replies(), { args, responders });
    expect(left.ended).toBe("complete");
    expect(hits(left.text, [...secrets, STATE])).toEqual([]);
    expect(left.lines[1]).toMatchObject({
      params: { arguments: { env: "prod", deep: { apiKey: "[masked]", list: [{ token: "[masked]" }] } } },
      masked: ["/arguments/deep/apiKey", "/arguments/deep/list/0/token"],
    });
    expect(left.lines[4]).toMatchObject({
      answer: { content: { user: "ann", password: "[masked]" } },
      masked: ["/content/password"],
    });
    expect(left.lines.find(({ type }) => type === "complete").result.content[0].text).toBe(
      "logged in with [masked], key [masked], state [masked]",
    );
    // What was sent is what was answered.
    expect(JSON.stringify(left.peer.requests[1])).toContain(PASSWORD);
    expect(hits((await record(replies(), { args, responders, keep: ["state"] })).text, secrets)).toEqual([]);
    expect(hits((await record(replies(), { args, responders, keep: ["secrets"] })).text, [STATE])).toEqual([]);
  });

  it("B35: a secret that the server gives back encoded, or in a key, is left out, too", async () => {
    const secret = 'sä cret/+"7\\x';
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const shown = [
      JSON.stringify({ login: secret }),
      `https://example.com/?p=${encodeURIComponent(secret)}`,
      new URLSearchParams({ p: secret }).toString(),
      ...["", "u", "me", "ann"].map((name) => `Basic ${base64(`${name}:${secret}`)}`),
      Buffer.from(secret).toString("base64url"),
    ];
    // A digit at either end holds bits of its neighbour.
    const cores = [0, 1, 2].map((before) => base64("-".repeat(before) + secret).slice(4, -4));
    const telling = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret), "cret%2F%2B", ...cores];
    const said = { resultType: "complete", content: shown.map((text) => ({ type: "text", text })) };
    const replies = () => [interim(ASK), interim({ [`sure-${secret}`]: form() }), said];
    const responders: Responders = {
      form: async (_, { key }) => accept(key === "ok" ? { user: "ann", password: secret } : {}),
    };
    const left = (text: string) => telling.filter((one) => text.includes(JSON.stringify(one).slice(1, -1)));
    const kept = await record(replies(), { responders, keep: ["secrets"] });
    expect([kept.ended, left(kept.text).length]).toEqual(["complete", telling.length]);
    const { text, ended } = await record(replies(), { responders });
    expect([ended, left(text)]).toEqual(["complete", []]);
    expect(readTranscript(text).calls[0]?.rounds[1]?.questions[0]?.key).toBe("sure-[masked]");
    expect(readTranscript(text).calls[0]?.rounds[1]?.answers.has("sure-[masked]")).toBe(true);
  });

  it("a link's ticket, user name and fragment are secrets; its host and path are not", async () => {
    const ticket = "dGlja2V0LXRpY2tldC10aWNrZXQ";
    const url = `https://u:pw-123456@example.com/connect/${ticket}?ticket=${ticket}&x=1#f-1`;
    const { text, lines } = await record([interim({ go: { ...link(url) } }), done(`opened ${ticket}`)]);
    expect(text).not.toContain(ticket);
    expect(text).not.toContain("pw-123456");
    const bare = await record([interim({ go: link(`https://example.com/?${ticket}`) }), done()]);
    expect(bare.text).not.toContain(ticket);
    expect(lines[3].questions[0].request.params.url).toBe(
      "https://example.com/connect/[masked]?ticket=[masked]&x=[masked]#[masked]",
    );
    expect(readTranscript(text).calls[0]?.rounds[0]?.questions).toHaveLength(1);
  });

  it("F4: a hostile address costs no line and no time", async () => {
    const long = Array.from({ length: 20_000 }, (_, at) => `segment-of-twenty-${at}`).join("/");
    const urls = [
      `https://u:100%@example.com/${long}?${long.replaceAll("/", "&x=")}`,
      "https://example.com/%zz?%zz=%zz",
    ];
    const started = performance.now();
    for (const url of urls) {
      const { text, ended } = await record([interim({ go: link(url) }), done("x".repeat(100_000))]);
      expect(ended).toBe("complete");
      expect(readTranscript(text).calls[0]?.rounds[0]?.questions).toHaveLength(1);
      expect(text).not.toContain("segment-of-twenty-19999");
      expect(text).not.toContain("100%");
    }
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it("F4 M1: states of a megabyte, repeated by the server, are left out like short ones", async () => {
    const state = (round: number) => `${round}-${"0123456789abcdef".repeat(65_000)}`;
    const rounds = [1, 2, 3].map((round) => interim({ [`k${round}`]: form() }, state(round)));
    const { text } = await record([...rounds, done(`was ${state(3)}`)], { responders: { form: async () => accept() } });
    expect(text.length).toBeLessThan(10_000);
    expect(readTranscript(text).calls[0]?.end).toMatchObject({ result: { content: [{ text: "was [masked]" }] } });
  });

  it("a secret that is a word of the protocol leaves a transcript that can be read", async () => {
    for (const word of ["string", "form", "accept", "properties", "text", "4"]) {
      const { text } = await record(
        [interim(ASK), interim({ n: form({ n: { type: "number", minimum: 4 }, s: { type: "string" } }) }), done(word)],
        { responders: { form: async (_, { key }) => accept(key === "ok" ? { user: "a", password: word } : { n: 4 }) } },
      );
      expect(readTranscript(text).calls[0]?.end).toMatchObject({ result: { content: [{ text: "[masked]" }] } });
    }
  });

  it("is its owner's alone, and never replaces a file", async () => {
    const { path, text } = await record([done()]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(() => recordTo(path)).toThrowError(
      expect.objectContaining({ code: "configuration", message: expect.stringContaining("exists already") }),
    );
    expect(readFileSync(path, "utf8")).toBe(text);
    expect(() => recordTo(join(folder, "no", "where"))).toThrowError(/ENOENT/);
    expect(() => recordTo(fresh(), { keep: ["everything" as TranscriptKeep] })).toThrowError(/state and secrets only/);
  });

  it("a closed one does not stop the call", async () => {
    const peer = await scripted(inOrder(done()));
    const recorder = recordTo(fresh());
    recorder.close();
    expect((await peer.calls({ recorder }).callTool({ name: "t" })).content).toHaveLength(1);
  });

  it("an observer that throws takes nothing from the transcript", async () => {
    const path = fresh();
    const peer = await scripted(inOrder(done()));
    const recorder = recordTo(path);
    const onEvent = () => {
      throw new Error("no");
    };
    await peer.calls({ recorder, onEvent }).callTool({ name: "t" });
    recorder.close();
    expect(readTranscript(readFileSync(path, "utf8")).calls[0]?.end?.type).toBe("complete");
  });

  it("what a server says to break it costs the rest of that call, and no other call", () => {
    const path = fresh();
    const recorder = recordTo(path);
    const of = (callId: string) => ({ callId, server: "s", method: "tools/call", target: "t", round: 1 }) as const;
    const begin = (id: string) =>
      recorder.record({ ...of(id), type: "leg", answered: [] } as CallEvent, { params: { name: id } });
    const ending = (id: string, result: object) =>
      recorder.record({ ...of(id), type: "complete", ms: 1 } as CallEvent, { result: result as never });
    begin("rude");
    begin("meanwhile");
    expect(recorder.problem).toBeUndefined();
    ending("rude", JSON.parse(`${'{"a":'.repeat(20_000)}1${"}".repeat(20_000)}`));
    expect(recorder.problem).toBeInstanceOf(RangeError);
    ending("meanwhile", { content: [] });
    begin("after");
    ending("after", { content: [] });
    recorder.close();
    const { calls } = readTranscript(readFileSync(path, "utf8"));
    expect(calls.map(({ params, end }) => [params["name"], end?.type])).toEqual([
      ["rude", undefined],
      ["meanwhile", "complete"],
      ["after", "complete"],
    ]);
  });

  it("each line is out before the call goes on", async () => {
    const path = fresh();
    const peer = await scripted(inOrder(interim({ ok: form() }, "s"), done()));
    const recorder = recordTo(path);
    const seen: string[] = [];
    const look = async () => {
      seen.push(
        ...readFileSync(path, "utf8")
          .trimEnd()
          .split("\n")
          .map((line) => JSON.parse(line).type),
      );
      return accept();
    };
    await peer.calls({ recorder, responders: { form: look } }).callTool({ name: "t" });
    expect(seen).toEqual([undefined, "call", "leg", "interim"]);
    recorder.close();
  });

  it("B35: a resumed call does not repeat what it was told before", async () => {
    const path = fresh();
    const peer = await scripted(inOrder(interim(ASK, STATE), done(`hello ${PASSWORD}`)));
    const call = await peer.calls().open("tools/call", { name: "t" }, { capabilities: { elicitation: {} } });
    call.answer("ok", accept(typed));
    const recorder = recordTo(path);
    await peer.calls({ recorder }).resume(JSON.stringify(call)).run();
    recorder.close();
    const text = readFileSync(path, "utf8");
    expect(text).toContain("hello [masked]");
    for (const word of [PASSWORD, STATE]) expect(text).not.toContain(word);
    expect(readTranscript(text).calls[0]?.end?.type).toBe("complete");
  });

  it("a call that fails, and one that is ended, say so", async () => {
    const failed = await record(
      [interim({ ok: form() }, STATE), { error: { code: -32603, message: `no ${PASSWORD} ${STATE}` } }],
      {
        responders: { form: async () => accept() },
      },
    );
    expect(failed.lines.at(-1)).toMatchObject({ type: "failed", code: "-32603" });
    expect(failed.text).not.toContain(STATE);
    const nobody = await record([interim({ ok: form() })], {
      responders: { form: () => Promise.reject(new Error("closed")) },
    });
    expect(nobody.lines.at(-1)).toMatchObject({ type: "failed", code: "unanswerable" });
  });
});

describe("readTranscript", () => {
  it("leaves out a last line that a crash cut short, and refuses any other that is wrong", async () => {
    const { text } = await record([interim({ ok: form() }, "s"), done()], {
      responders: { form: async () => accept() },
    });
    const whole = readTranscript(text);
    expect(whole.calls[0]).toMatchObject({ end: { type: "complete" }, rounds: [{ questions: [{ key: "ok" }] }] });
    const cut = readTranscript(text.slice(0, -5));
    expect(cut.calls[0]?.rounds).toEqual(whole.calls[0]?.rounds);
    expect(cut.calls[0]).not.toHaveProperty("end");
    const lines = text.trimEnd().split("\n");
    const without = (at: number, put?: string) =>
      `${lines.toSpliced(at, 1, ...(put === undefined ? [] : [put])).join("\n")}\n`;
    const cases: [string, RegExp][] = [
      ["", /line 1: there is none/],
      ["{}\n", /line 1: this is no transcript/],
      [without(0, '{"format":"mcp-parley/transcript","version":2}'), /line 1: its version is not 1/],
      [without(1), /line 2: it belongs to no call/],
      [without(3), /line 4: it answers no question/],
      [without(2, `{"secret":"${PASSWORD}"`), /line 3: it is not JSON/],
      [without(4, '{"type":"dance","call":1}'), /line 5: its type is unknown/],
      [
        without(3, '{"type":"interim","call":1,"questions":[{"key":"k","request":{"method":"no"}}]}'),
        /line 4: .*rule A8/,
      ],
      [without(1, '{"type":"call","call":1,"server":"s","method":"tools/list"}'), /line 2: its method/],
      [`${text}{"type":"aborted","call":1}\n`, /its call is over/],
    ];
    for (const [broken, message] of cases) {
      expect(() => readTranscript(broken)).toThrowError(
        expect.objectContaining({ code: "configuration", message: expect.stringMatching(message) }),
      );
      expect(() => readTranscript(broken)).not.toThrowError(PASSWORD);
    }
  });

  it("several calls at a time are told apart; a restarted call counts from where it started over", async () => {
    const refused = { error: { code: -32602, message: "no", data: { reason: "invalid_request_state" } } };
    const replies = [interim({ ok: form() }, "old"), refused, interim({ ok: form() }, "new"), done()];
    const { text } = await record(replies, { responders: { form: async () => accept() } });
    expect(readTranscript(text).calls[0]?.rounds).toHaveLength(1);

    const path = fresh();
    const peer = await scripted((request) =>
      "inputResponses" in request.params ? done(String(request.params["name"])) : interim({ ok: form() }),
    );
    const recorder = recordTo(path);
    const calls = peer.calls({ recorder, responders: { form: async () => accept() } });
    await Promise.all(["a", "b"].map((name) => calls.callTool({ name })));
    recorder.close();
    const both = readTranscript(readFileSync(path, "utf8")).calls;
    expect(both.map(({ params }) => params["name"])).toEqual(["a", "b"]);
    for (const { params, end } of both) {
      expect(end).toMatchObject({ result: { content: [{ type: "text", text: params["name"] }] } });
    }
  });
});
