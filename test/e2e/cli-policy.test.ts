/** Policies, transcripts and replays through the real command line, against our server and one by hand on the SDK. */
import { readFileSync, rmSync, statSync } from "node:fs";
import type { McpServer } from "@modelcontextprotocol/server";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { file, parley, type Serving, serving, YES } from "../helpers/cli.ts";
import { serveHttp, type TestServer } from "../helpers/http.ts";

const PASSWORD = "correct-horse-7";
const TOKEN = "tk-55aa-66bb";

/** The server by hand, over HTTP in this process; a test sets the variant. */
let hand: TestServer;
let variant: string | undefined;
/** What the command line calls it. */
const handName = () => new URL(hand.url).host;
beforeAll(async () => {
  const fixture = "../fixtures/cli/by-hand.mjs";
  const { byHand } = (await import(fixture)) as { byHand: (variant?: string) => McpServer };
  hand = await serveHttp(() => byHand(variant));
});
beforeEach(() => {
  variant = undefined;
});
afterAll(() => hand.close());

const LOGIN = {
  login: { action: "accept", content: { user: "ann", password: PASSWORD } },
  sure: { action: "accept", content: { sure: true } },
};
const policy = (...rules: object[]) => file({ version: 1, rules });
const json = (text: string) => JSON.parse(text);

/** A path where nothing is yet. */
function fresh(): string {
  const path = file("", "jsonl");
  rmSync(path);
  return path;
}

const lines = (path: string) => readFileSync(path, "utf8").trimEnd().split("\n").map(json);
const answersIn = (path: string) => lines(path).filter(({ type }) => type === "answer");

describe("--policy", () => {
  it("a named rule answers without a terminal, and is named wherever it is told (D1)", async () => {
    const rules = policy({
      name: "wiping is fine here",
      when: { server: handName(), tool: "wipe" },
      then: { action: "accept", content: {} },
    });
    const record = fresh();
    const { code, out, err } = await parley([
      "call",
      hand.url,
      "wipe",
      "--policy",
      rules,
      "--record",
      record,
      "--json",
    ]);
    expect({ code, err }).toEqual({
      code: 0,
      err: `parley: the policy's rule "wiping is fine here" says accept to "sure"\n`,
    });
    expect(json(out)).toMatchObject({
      result: { content: [{ text: "wipe: accept" }] },
      decisions: [{ rule: "wiping is fine here", action: "accept", key: "sure", target: "wipe", server: handName() }],
    });
    expect(answersIn(record)).toMatchObject([{ key: "sure", by: "policy:wiping is fine here" }]);
  });

  it("what may be harmful needs its name: a pattern asks, and with nobody to ask nothing is declared", async () => {
    const any = { name: "anything", when: { tool: { glob: "*" } }, then: { action: "accept", content: {} } };
    const destructive = await parley(["call", hand.url, "wipe", "--policy", policy(any)]);
    expect(destructive).toMatchObject({ code: 3, out: "" });
    expect(destructive.err).toMatch(
      /no rule of the policy answers it.+: add a rule, or run it where a person can be asked\n$/,
    );
    const trusting = (tool: string) =>
      parley(["call", hand.url, tool, "--policy", file({ version: 1, trustAnnotations: [handName()], rules: [any] })]);
    expect((await trusting("wipe")).code).toBe(3);
    // Harmless by its word and trusted; the answer does not fit, which is said, and nobody is there.
    const harmless = await trusting("login");
    expect(harmless.code).toBe(3);
    expect(harmless.err).toContain(
      'warning: the policy\'s rule "anything" does not answer "login", "user" is required',
    );
  });

  it("B32: no decline reaches the server without a rule that says so", async () => {
    const decline = { name: "never wipe", when: { tool: "wipe" }, then: { action: "decline" } };
    expect((await parley(["call", hand.url, "wipe", "--policy", policy(decline)])).out).toBe("wipe: decline\n");
    const fails = { ...decline, then: { action: "fail", reason: "not on this machine" } };
    const silent = async (...rules: object[]) => {
      const record = fresh();
      const { code, err } = await parley(["call", hand.url, "wipe", "--policy", policy(...rules), "--record", record]);
      expect({ code, declines: err.includes("decline"), answers: answersIn(record) }).toEqual({
        code: 3,
        declines: false,
        answers: [],
      });
    };
    await Promise.all([silent(), silent(fails), silent({ ...decline, when: { key: "other" } })]);
    // With somebody to ask the server may ask, and the rule ends the call all the same.
    const sure = file({ sure: { action: "accept", content: {} } });
    const failed = await parley(["call", hand.url, "wipe", "--policy", policy(fails), "--answers", sure]);
    expect(failed.code).toBe(3);
    expect(failed.err).toMatch(/"never wipe" says: not on this machine: change the policy, or answer without it\n$/);
  });

  it("F1 B35: a password is not answered by a rule that does not name the field; the answers file is asked instead", async () => {
    const rule = (more: object) => ({
      name: "login",
      when: { tool: "login" },
      then: { action: "accept", content: LOGIN.login.content, ...more },
    });
    const run = (more: object) =>
      parley(["call", hand.url, "login", "--policy", policy(rule(more)), "--answers", file(LOGIN)]);
    const silent = await run({});
    expect(silent).toMatchObject({ code: 0, out: `Welcome, ann with ${PASSWORD}\n` });
    expect(silent.err).toMatch(
      /"login" does not answer "login", "password" looks like a secret, and allowSecretFields does not/,
    );
    expect((await run({ allowSecretFields: ["password"] })).err).toContain(`rule "login" says accept to "login"`);
    expect(silent.err).not.toContain(PASSWORD);
  });

  it("2: a policy that is wrong is named by its place, and nothing is sent", async () => {
    const wrong = policy({ name: "a", when: { tool: 7 }, then: { action: "ask" } });
    const { code, err } = await parley(["call", hand.url, "wipe", "--policy", wrong]);
    expect({ code, err }).toEqual({
      code: 2,
      err: `parley: the policy ${wrong}, rules[0].when.tool is not text: write a string\n`,
    });
    expect((await parley(["call", hand.url, "wipe", "--record-keep", "state"])).err).toContain(
      "goes with --record only",
    );
    expect((await parley(["call", hand.url, "wipe", "--record", "x", "--record-keep", "all"])).err).toContain(
      "neither state nor secrets",
    );
  });
});

describe("policy check", () => {
  const rules = policy(
    { name: "prod is for people", when: { tool: "deploy", arguments: { "/env": "prod" } }, then: { action: "ask" } },
    {
      name: "staging",
      when: { server: "deployer", tool: "deploy", key: "ok" },
      then: { action: "accept", content: { confirm: true } },
    },
    { name: "anything", then: { action: "decline" } },
  );
  const question = file({
    method: "elicitation/create",
    params: { message: "?", requestedSchema: { type: "object", properties: { confirm: { type: "boolean" } } } },
  });
  const check = (...more: string[]) => parley(["policy", "check", rules, ...more]);
  const about = ["--server", "deployer", "--tool", "deploy", "--key", "ok", "--question", question];

  it("says which rule would decide, and why the others do not", async () => {
    expect(await check()).toEqual({ code: 0, out: `${rules}: 3 rules, no mistake\n`, err: "" });
    const { code, out } = await check(...about, "--args", '{"env":"staging"}');
    expect(code).toBe(0);
    expect(out.split("\n").slice(1)).toEqual([
      '"ok", a form question of tools/call deploy at deployer:',
      '  differs "prod is for people": when.arguments["/env"] is another',
      '  decides "staging"',
      '  later   "anything"',
      '  => accept, by rule "staging"',
      "",
    ]);
    expect((await check(...about, "--args", '{"env":"prod"}')).out).toContain('=> ask, by rule "prod is for people"');
    expect((await check(...about.with(1, "other"))).out).toContain('=> decline, by rule "anything"');
  });

  it("--json, and the questions of a transcript", async () => {
    const record = fresh();
    await parley(["call", hand.url, "login", "--answers", file(LOGIN), "--record", record]);
    const { out } = await check("--transcript", record, "--json");
    expect(json(out)).toMatchObject({
      rules: 3,
      questions: [
        { key: "login", decision: { type: "answer", rule: "anything", action: "decline" } },
        { key: "sure", target: "login" },
      ],
    });
  });

  it("2: half a question, a question that is none, a file that is wrong", async () => {
    expect(await check("--server", "x")).toMatchObject({
      code: 2,
      err: expect.stringContaining("in part only: give --server, --question"),
    });
    expect(await check(...about.with(-1, file({ method: "dance" })))).toMatchObject({
      code: 2,
      err: expect.stringContaining("rule A8"),
    });
    expect(await check("--transcript", question)).toMatchObject({
      code: 2,
      err: expect.stringContaining("no transcript"),
    });
    const twice = policy({ name: "a", then: { action: "ask" } }, { name: "a", then: { action: "ask" } });
    expect(await parley(["policy", "check", twice])).toMatchObject({
      code: 2,
      err: expect.stringContaining("rules[1].name is the name of rules[0], too"),
    });
  });
});

describe("--record and replay, a server by hand on the SDK", () => {
  const login = ["login", "--answers", file(LOGIN), "--args", JSON.stringify({ apiToken: TOKEN })];
  const replay = async (record: string, more: string[], version?: string) => {
    variant = version;
    return parley(["replay", record, hand.url, ...more]);
  };
  const anew = ["--answers", file(LOGIN), "--args", JSON.stringify({ apiToken: TOKEN })];
  let record: string;
  beforeAll(async () => {
    record = fresh();
    const { code } = await parley(["call", hand.url, ...login, "--record", record]);
    expect(code).toBe(0);
  });

  it("B35 M1: no secret and no state in transcript, log or standard error; kept only by name", async () => {
    const kept = fresh();
    await parley(["call", hand.url, ...login, "--record", kept, "--record-keep", "state", "--record-keep", "secrets"]);
    const needles = [PASSWORD, TOKEN, "plain-state-"];
    const hits = (text: string) => needles.filter((needle) => text.includes(needle));
    expect(hits(readFileSync(kept, "utf8"))).toEqual(needles);
    expect(hits(readFileSync(record, "utf8"))).toEqual([]);
    expect(statSync(record).mode & 0o777).toBe(0o600);
    const debug = await parley(
      ["call", hand.url, "login", "--answers", file({ login: LOGIN.login }), "--record", fresh(), "--json"],
      { PARLEY_DEBUG: "1" },
    );
    expect(debug.code).toBe(3);
    expect(hits(debug.err + debug.out)).toEqual([]);
    const again = await replay(record, anew, "text");
    expect(again.code).toBe(5);
    expect(hits(again.err + again.out)).toEqual([]);
  });

  it("2: what was masked must be given anew, and a transcript is never replaced", async () => {
    const plain = await replay(record, []);
    expect(plain).toMatchObject({
      code: 2,
      err: expect.stringContaining("/arguments/apiToken: it was masked: give the arguments anew (--args)"),
    });
    const half = await replay(record, anew.slice(2));
    expect(half).toMatchObject({
      code: 2,
      err: expect.stringMatching(/the answer to "login": it was masked: .+--answers FILE/),
    });
    const over = await parley(["call", hand.url, ...login, "--record", record]);
    expect(over).toMatchObject({
      code: 2,
      err: expect.stringMatching(/exists already: name another file, or remove it first\n$/),
    });
  });

  it("0: an unchanged server, whose states are others every time", async () => {
    expect(await replay(record, anew)).toEqual({ code: 0, out: "tools/call login: no difference\n", err: "" });
    expect(json((await replay(record, [...anew, "--json"])).out)).toEqual({
      changed: false,
      calls: [{ method: "tools/call", target: "login", changes: [] }],
    });
  });

  it("5: a changed text, a changed schema, a changed result, a round more: each by name", async () => {
    const text = await replay(record, anew, "text");
    expect(text.code).toBe(5);
    expect(text.out).toContain(
      '  ~ message of question "login" in round 1\n      - "Who are you?"\n      + "Who are you now?"\n',
    );
    const schema = await replay(record, anew, "schema");
    expect(schema).toMatchObject({ code: 5, out: expect.stringContaining('~ schema of question "login"') });
    expect(schema.out).toContain("      + /properties/user/minLength: 2\n");
    const result = await replay(record, anew, "result");
    expect(result.code).toBe(5);
    expect(result.out).toContain(
      '~ result\n      - /content/0/text: "Welcome, ann with [masked]"\n      + /content/0/text: "Hello, ann',
    );
    const round = await replay(record, anew, "round");
    expect(round.code).toBe(5);
    expect(round.out).toContain('+ question "really" in round 3\n  stopped at "really", to which nothing is recorded');
    expect(json((await replay(record, [...anew, "--json"], "result")).out)).toMatchObject({
      changed: true,
      calls: [{ changes: [{ type: "result_changed" }] }],
    });
  });

  it("an old consent is not given to a question that has changed, unless asked for", async () => {
    const open = fresh();
    const answers = file({ ...LOGIN, login: { action: "accept", content: { user: "bo" } } });
    variant = "open";
    await parley(["call", hand.url, "login", "--answers", answers, "--record", open]);
    expect((await replay(open, [], "open")).code).toBe(0);
    const changed = await replay(open, [], "text");
    expect(changed.out).toContain('stopped at "login", which has changed');
    const anyway = await replay(open, ["--answer-changed", "--answers", file(LOGIN)], "text");
    expect(anyway.code).toBe(5);
    expect(anyway.out).not.toContain("stopped");
  });
});

describe("--record and replay, our own server", () => {
  let server: Serving;
  beforeAll(async () => {
    server = await serving("flows.mjs");
  });
  afterAll(async () => {
    await server.stop();
  });

  it("B6 M1: sealed states never reach the transcript, and a replay on another server with its own key is the same", async () => {
    const record = fresh();
    const answers = file({ ok: YES, when: { action: "accept", content: { word: "tonight" } }, again: YES });
    const { code } = await parley([
      "call",
      server.url,
      "deploy",
      "--answers",
      answers,
      "--args",
      '{"env":"a"}',
      "--record",
      record,
    ]);
    expect(code).toBe(0);
    expect(readFileSync(record, "utf8")).not.toMatch(/p1\.[\w-]+\.[\w-]{20,}/);
    expect(
      lines(record)
        .filter(({ state }) => state !== undefined)
        .map(({ state }) => state.ordinal),
    ).toEqual([1, 1, 2, 2]);
    const other = await serving("flows.mjs", [], {
      PARLEY_KEYS: Buffer.from(Array.from({ length: 32 }, (_, at) => 99 - at)).toString("base64url"),
    });
    try {
      expect(await parley(["replay", record, other.url])).toEqual({
        code: 0,
        out: "tools/call deploy: no difference\n",
        err: "",
      });
    } finally {
      await other.stop();
    }
  });

  it("prompts and resources are recorded and replayed as well", async () => {
    const who = fresh();
    const note = fresh();
    await parley([
      "prompt",
      server.url,
      "greet",
      "--args",
      '{"lang":"en"}',
      "--answers",
      file({ who: { action: "accept", content: { word: "Bo" } } }),
      "--record",
      who,
    ]);
    await parley(["read", server.url, "note://one", "--answers", file({ read: YES }), "--record", note]);
    expect((await parley(["replay", who, server.url])).out).toBe("prompts/get greet: no difference\n");
    expect((await parley(["replay", note, server.url])).out).toBe("resources/read note://one: no difference\n");
  });

  it("4: a server that is not there; 2: a transcript that is none", async () => {
    const record = fresh();
    await parley(["call", server.url, "hostile", "--record", record]);
    expect((await parley(["replay", record, "http://127.0.0.1:2/mcp"])).code).toBe(4);
    expect((await parley(["replay", file({}), server.url])).code).toBe(2);
    // T1: the result's control characters stay visible in what is printed.
    expect((await parley(["replay", record, server.url])).code).toBe(0);
  });
});
