import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { file, KEY, MAIN, parley, type Serving, serving, YES } from "../helpers/cli.ts";
import { listen } from "../helpers/http.ts";

const when = { action: "accept", content: { word: "tonight" } };
const ALL = { ok: YES, when, again: YES };
const json = (text: string) => JSON.parse(text);

describe("parley call, prompt and read", () => {
  let server: Serving;
  beforeAll(async () => {
    server = await serving("flows.mjs");
  });
  afterAll(async () => {
    await server.stop();
  });
  const call = (name: string, answers: unknown, ...more: string[]) =>
    parley(["call", server.url, name, "--answers", file(answers), ...more]);

  it("0: a call over three rounds from an answers file", async () => {
    const ended = await call("deploy", ALL, "--args", '{"env":"prod"}');
    expect(ended).toEqual({ code: 0, out: 'deployed tonight {"env":"prod"} for anybody\n', err: "" });
  });

  it("--json prints one object: the result, and each round's questions, state size and time", async () => {
    const { code, out, err } = await call("deploy", ALL, "--json");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const { result, rounds, ...others } = json(out);
    expect(others).toEqual({});
    expect(result.content[0].text).toContain("deployed tonight");
    expect(rounds.map(({ questions }: { questions: string[] }) => questions)).toEqual([["ok", "when"], ["again"], []]);
    const [first, second, last] = rounds;
    expect(first.stateBytes).toBeGreaterThan(100);
    expect(second.stateBytes).toBeGreaterThan(first.stateBytes);
    expect(last.stateBytes).toBe(0);
    expect(rounds.every(({ ms }: { ms: unknown }) => Number.isInteger(ms))).toBe(true);
  });

  it("1: the tool's own error, its words on standard output and one line on standard error", async () => {
    const { code, out, err } = await call("fails", {});
    expect({ code, out }).toEqual({ code: 1, out: "it broke\n" });
    expect(err).toMatch(/^parley: the tool fails reports an error: .+\n$/);
    expect(json((await call("fails", {}, "--json")).out).result.isError).toBe(true);
  });

  it("T1 a hostile result reaches the terminal in visible form", async () => {
    expect((await call("hostile", {})).out).toBe("a⟨U+001B⟩[2Jb⟨U+202E⟩c⟨U+009B⟩2Jd\n");
  });

  it("a decline is sent as one, and the server's word for it is a tool error", async () => {
    const { code, out } = await call("deploy", { ok: YES, when: { action: "decline" } });
    expect({ code, out }).toEqual({ code: 1, out: 'The request for "when" was declined.\n' });
  });

  it("B40 3: a question the file does not answer ends the call at once, by name", async () => {
    expect((await call("deploy", ALL)).code).toBe(0);
    const { code, out, err } = await call("deploy", { ok: YES, when }, "--json");
    expect(code).toBe(3);
    const { error, rounds } = json(out);
    expect(error).toMatchObject({ code: "unanswerable", message: expect.stringContaining('"again"') });
    expect(rounds).toHaveLength(2);
    expect(err).toMatch(/^parley: Nobody could answer "again" for "127\.0\.0\.1:\d+": .+\n$/);
  });

  it("B17 B32 3: without a terminal and without a file nothing is declared, and nothing is declined", async () => {
    const { code, out, err } = await parley(["call", server.url, "deploy"]);
    expect({ code, out }).toEqual({ code: 3, out: "" });
    expect(err).toMatch(/needs to ask \(elicitation\.form\), and nothing here can answer: give an answer .+\n$/);
    expect(err.split("\n")).toHaveLength(2);
  });

  it("D21 3: an answer that does not fit the form is not sent, and its field is named", async () => {
    const { code, err } = await call("deploy", { ...ALL, when: { action: "accept", content: { word: 7 } } });
    expect(code).toBe(3);
    expect(err).toMatch(/The answer to "when", field "word": .+: mend that answer\n$/);
  });

  it("url, sampling and roots are answered from the file", async () => {
    expect((await call("link", { go: { action: "accept" } })).out).toBe("linked\n");
    const sum = { role: "assistant", content: { type: "text", text: "short" }, model: "m" };
    expect((await call("summary", { sum })).out).toBe("summary: short\n");
    expect((await call("where", { roots: { roots: [{ uri: "file:///a" }] } })).out).toBe("file:///a\n");
  });

  it("prompts and resources ask as well", async () => {
    const who = { action: "accept", content: { word: "Bo" } };
    const args = ["--args", '{"lang":"en"}', "--answers", file({ who })];
    expect(await parley(["prompt", server.url, "greet", ...args])).toEqual({ code: 0, out: "user: en: Bo\n", err: "" });
    const read = await parley(["read", server.url, "note://one", "--answers", file({ read: YES }), "--json"]);
    expect(json(read.out)).toMatchObject({
      result: { contents: [{ text: "the note" }] },
      rounds: [{ questions: ["read"] }, {}],
    });
  });

  it("4: an unknown tool, a server that is not there, a path that is no MCP server", async () => {
    const unknown = await call("nope", {});
    expect(unknown.code).toBe(4);
    expect(unknown.err).toMatch(/^parley: 127.+ answered error -32602: .+: check the name and --args\n$/);
    const dead = await parley(["call", "http://127.0.0.1:2/mcp", "deploy", "--json"]);
    expect(dead.code).toBe(4);
    expect(json(dead.out)).toMatchObject({ error: { code: "ECONNREFUSED" }, rounds: [] });
    const elsewhere = await parley(["call", server.url.replace("/mcp", "/else"), "deploy"]);
    expect(elsewhere.code).toBe(4);
    expect(elsewhere.err).toMatch(/^parley: .+: .+\n$/);
  });
});

describe("over stdio, after --", () => {
  const stdio = [process.execPath, MAIN, "serve", "flows.mjs", "--stdio"];

  it("4: a server that has moved is not followed, and its new address is told", async () => {
    const http = createServer((_, res) => void res.writeHead(308, { location: "/new/mcp?token=secret" }).end());
    const moved = await listen(http);
    const { code, out, err } = await parley(["call", moved.url, "deploy"]);
    await moved.close();
    expect({ code, out }).toEqual({ code: 4, out: "" });
    expect(err).toContain(`redirects to ${new URL("/new/mcp", moved.url)}, which is not followed`);
  });

  it("0: the server's command gets the environment; what it prints elsewhere is shown escaped, never as a result", async () => {
    const { code, out, err } = await parley(["call", "deploy", "--answers", file(ALL), "--json", "--", ...stdio]);
    expect(code).toBe(0);
    expect(json(out).result.content[0].text).toBe("deployed tonight {} for anybody");
    // G33: the module wrote to standard output, and the protocol did not notice.
    expect(err).toContain("server: noise from the module\n");
    expect(err).toContain("server: parley: warning: callers are anonymous");
    expect(err).not.toContain("No key given");
    expect(err).not.toContain(KEY);
  });

  it("3 and 4: a server that asks what was not declared, and one whose question the file does not answer (A11, B40)", async () => {
    const rude = ["--", process.execPath, "rude-server.mjs"];
    const undeclared = await parley(["call", "t", ...rude]);
    expect(undeclared.code).toBe(4);
    expect(undeclared.err).toMatch(/parley: .+ broke rule A11 at "secret": .+\n$/);
    expect(undeclared.err).toContain("server: ⟨U+001B⟩[2Jcleared\n");
    const unanswered = await parley(["call", "t", "--answers", file({ other: YES }), ...rude]);
    expect(unanswered.code).toBe(3);
    expect(unanswered.err).toMatch(/Nobody could answer "secret" for "node rude-server.mjs"/);
  });

  it("4: a command that is not there, one that ends at once", async () => {
    const missing = await parley(["call", "t", "--", "parley-no-such-command"]);
    expect(missing).toMatchObject({ code: 4, err: expect.stringMatching(/ENOENT: check the command\n$/) });
    for (const [script, ending] of [
      ["0", "exit code 0"],
      ["process.exit(7)", "exit code 7"],
      ["process.kill(process.pid, 'SIGKILL')", "signal SIGKILL"],
    ] as const) {
      const short = await parley(["call", "t", "--", process.execPath, "-e", script]);
      expect(short.code).toBe(4);
      expect(short.err).toMatch(
        /^parley: The command "node" ended before it answered .+ Run it by itself to see why\.\n$/,
      );
      expect(short.err).toContain(`(${ending})`);
    }
  });

  it("3: ended by a signal while it waits, and the server's process ends with it", async () => {
    const silent = 'process.stderr.write("pid " + process.pid + "\\n"); process.stdin.resume()';
    const child = spawn(process.execPath, [MAIN, "call", "t", "--", process.execPath, "-e", silent]);
    let err = "";
    child.stderr.on("data", (chunk) => {
      err += chunk;
      if (/pid \d+/.test(err)) child.kill("SIGINT");
    });
    const [code] = await once(child, "close");
    expect(code).toBe(3);
    expect(err).toMatch(/parley: The call was aborted while connecting: .+\n$/);
    const pid = Number(/pid (\d+)/.exec(err)?.[1]);
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
  });
});
