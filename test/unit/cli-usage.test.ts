import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { EXIT } from "../../src/cli/exit.ts";
import type { Io } from "../../src/cli/io.ts";
import { run } from "../../src/cli/program.ts";
import { file } from "../helpers/cli.ts";

const cwd = fileURLToPath(new URL("../fixtures/cli/", import.meta.url));
const printed = { out: [] as string[], err: [] as string[] };
const io: Io = {
  out: (line) => void printed.out.push(line),
  err: (line) => void printed.err.push(line),
  claimOut: () => new PassThrough(),
  cwd,
};

/** Runs in this process: nothing here gets as far as a server. */
async function parley(...argv: string[]): Promise<{ code: number; err: string[]; out: string[] }> {
  const stop = new AbortController();
  const code = await run(argv, io, stop.signal);
  return { code, out: printed.out, err: printed.err.filter((line) => !line.startsWith("parley: warning: ")) };
}

const module = (source: string) => file(source, "mjs");
const URL_ = "http://127.0.0.1:1/mcp";
const SECRET = "s3cr3t-token";

describe("bad input gets one clear line and exit 2", () => {
  beforeEach(() => {
    printed.out = [];
    printed.err = [];
  });

  const cases: [what: string, argv: () => string[], line: RegExp][] = [
    ["no command", () => [], /a command is missing: see "parley --help"/],
    ["unknown command", () => ["dance"], /unknown command 'dance'/],
    ["unknown flag", () => ["call", "--fast"], /unknown option '--fast'/],
    ["excess argument", () => ["keygen", "x"], /too many arguments/],
    ["three operands", () => ["call", URL_, "a", "b"], /too many arguments for call/],
    ["-- where none belongs", () => ["keygen", "--", "x"], /nothing goes after -- here/],
    ["url without a tool", () => ["call", URL_], /the server or the name is missing: give <url>/],
    ["no url", () => ["call", "here", "deploy"], /here is not an http or https URL/],
    ["other scheme", () => ["call", "file:///etc/passwd", "deploy"], /is not an http or https URL/],
    ["credentials in the url", () => ["call", `http://me:${SECRET}@x/mcp`, "t"], /carries a user name or password/],
    ["empty command", () => ["call", "deploy", "--"], /no command after --/],
    ["name and url before --", () => ["call", URL_, "t", "--", "node"], /exactly one name goes before --/],
    ["header for a command", () => ["call", "t", "--header", "A: b", "--", "node"], /--header goes with a URL only/],
    ["header without colon", () => ["call", URL_, "t", "--header", SECRET], /--header number 1 is not a header/],
    ["header with newline", () => ["call", URL_, "t", "--header", `A: ${SECRET}\nB: c`], /--header number 1/],
    ["args not JSON", () => ["call", URL_, "t", "--args", `{${SECRET}`], /--args is not JSON/],
    ["args not an object", () => ["call", URL_, "t", "--args", "[1]"], /--args is not a JSON object/],
    ["prompt args of numbers", () => ["prompt", URL_, "t", "--args", '{"n":1}'], /--args: "n" is not a string/],
    ["args for a resource", () => ["read", URL_, "t", "--args", "{}"], /unknown option '--args'/],
    ["model without address", () => ["call", URL_, "t", "--model", "m"], /--model needs --model-url: give/],
    ["model's address alone", () => ["call", URL_, "t", "--model-url", URL_], /--model-url needs --model: name/],
    [
      "model's address wrong",
      () => ["call", URL_, "t", "--model-url", "ftp://x", "--model", "m"],
      /--model-url must be an http or https URL: mend --model-url/,
    ],
    [
      "key in the model's address",
      () => ["call", URL_, "t", "--model-url", `https://me:${SECRET}@x/v1`, "--model", "m"],
      /--model-url carries a user name or password/,
    ],
    [
      "model with a file",
      () => ["call", URL_, "t", "--model-url", URL_, "--model", "m", "--answers", file({})],
      /--model-url does not go with --answers/,
    ],
    ["no answers file", () => ["call", URL_, "t", "--answers", "nope.json"], /answers file nope.json \(ENOENT\)/],
    ["answers not JSON", () => ["call", URL_, "t", "--answers", file(SECRET)], /answers file .* is not JSON/],
    ["answers a list", () => ["call", URL_, "t", "--answers", file([])], /is not a JSON object/],
    ["answer of no kind", () => ["call", URL_, "t", "--answers", file({ k: { yes: SECRET } })], /"k": is neither/],
    ["unknown action", () => ["call", URL_, "t", "--answers", file({ k: { action: "ok" } })], /"k": action must be/],
    [
      "second answer wrong",
      () => ["call", URL_, "t", "--answers", file({ k: [{ action: "cancel" }, 1] })],
      /"k", answer 2: is not an object/,
    ],
    ["empty list of answers", () => ["call", URL_, "t", "--answers", file({ k: [] })], /"k" has an empty list/],
    [
      "content of a decline",
      () => ["call", URL_, "t", "--answers", file({ k: { action: "decline", content: {} } })],
      /content does not go with decline/,
    ],
    [
      "misspelt member",
      () => ["call", URL_, "t", "--answers", file({ k: { action: "accept", contents: {} } })],
      /"contents" is not a member/,
    ],
    ["no policy file", () => ["call", URL_, "t", "--policy", "nope.json"], /policy nope.json \(ENOENT\)/],
    [
      "policy with a mistake",
      () => ["call", URL_, "t", "--policy", file({ version: 1, rules: [{ name: SECRET }] })],
      /rules\[0\].then is missing: write "then"/,
    ],
    ["policy without a command", () => ["policy"], /a command is missing/],
    ["policy check of nothing", () => ["policy", "check"], /missing required argument 'file'/],
    ["policy check of text", () => ["policy", "check", file(SECRET)], /is not JSON/],
    ["policy check with a command", () => ["policy", "check", "x", "--", "y"], /nothing goes after -- here/],
    [
      "tool and prompt",
      () => ["policy", "check", "x", "--tool", "a", "--prompt", "b"],
      /option '--tool <name>' cannot be used with option '--prompt <name>'/,
    ],
    ["keep without a transcript", () => ["call", URL_, "t", "--record-keep", "state"], /goes with --record only/],
    ["keep what?", () => ["call", URL_, "t", "--record-keep", "all"], /neither state nor secrets/],
    ["replay without a server", () => ["replay", "x.jsonl"], /the server or the name is missing/],
    ["replay of nothing", () => ["replay", "x.jsonl", URL_], /transcript x.jsonl \(ENOENT\)/],
    ["replay of text", () => ["replay", file(`${SECRET}\n`), URL_], /cannot be read, line 1: it is not JSON/],
    [
      "replay of a header",
      () => ["replay", file('{"format":"mcp-parley/transcript","version":1,"startedAt":0,"keep":[]}\n'), URL_],
      /has no call: record one/,
    ],
    ["port out of range", () => ["serve", "flows.mjs", "--port", "65536"], /not a number from 0 to 65535/],
    ["port a word", () => ["serve", "flows.mjs", "--port", "http"], /not a number from 0 to 65535/],
    ["no host", () => ["serve", "flows.mjs", "--host", ""], /not a host name or address/],
    ["port over stdio", () => ["serve", "flows.mjs", "--stdio", "--port", "1"], /cannot be used with option '--stdio'/],
    ["tokens over stdio", () => ["serve", "flows.mjs", "--stdio", "--bearer-tokens", "x"], /cannot be used with/],
    ["no module", () => ["serve", "./nope.mjs"], /there is no module .\/nope.mjs: check the path/],
    ["no package", () => ["serve", "parley-no-such-package"], /does not load: Cannot find package/],
    ["module with a syntax error", () => ["serve", module("export const = 1")], /does not load: /],
    ["module that throws", () => ["serve", module('throw new Error("no\\ndatabase")')], /does not load: no database/],
    [
      "module without exports",
      () => ["serve", module("export const x = 1")],
      /exports nothing to serve: export what tool\(\)/,
    ],
    ["flows not an array", () => ["serve", module("export default {}")], /default is not an array of flows/],
    ["one entry not a flow", () => ["serve", module("export const flows = [{}]")], /flows\[0\] is not a flow/],
    ["register not a function", () => ["serve", module("export const register = 1")], /register is not a function/],
    [
      "options not an object",
      () => ["serve", module("export const options = 1; export const register = () => {}")],
      /options is not an object/,
    ],
    [
      "name not text",
      () => ["serve", module("export const name = 1; export const register = () => {}")],
      /name is not a non-empty string/,
    ],
    [
      "unknown limit",
      () => ["serve", module("export const options = { limits: { size: 1 } }; export const register = () => {}")],
      /limits.size is unknown/,
    ],
    [
      "register throws",
      () => ["serve", module('export const register = () => { throw new Error("twice") }')],
      /cannot be registered: twice/,
    ],
    [
      "authenticated callers, no tokens",
      () => ["serve", module('export const options = { callers: "authenticated" }; export const register = () => {}')],
      /give --bearer-tokens FILE/,
    ],
    [
      "no tokens file",
      () => ["serve", "flows.mjs", "--bearer-tokens", "nope.json"],
      /bearer tokens file nope.json \(ENOENT\)/,
    ],
    ["tokens file empty", () => ["serve", "x", "--bearer-tokens", file({})], /has no token/],
    [
      "token with a space",
      () => ["serve", "x", "--bearer-tokens", file({ [`${SECRET} x`]: {} })],
      /entry 1: the token has characters/,
    ],
    [
      "token of nobody",
      () => ["serve", "x", "--bearer-tokens", file({ [SECRET]: { clientId: "c" } })],
      /entry 1: subject must be/,
    ],
    [
      "token without client",
      () => ["serve", "x", "--bearer-tokens", file({ [SECRET]: { subject: "s" } })],
      /entry 1: clientId must be/,
    ],
    [
      "scopes as text",
      () => ["serve", "x", "--bearer-tokens", file({ [SECRET]: { subject: "s", clientId: "c", scopes: "a b" } })],
      /scopes must be a list/,
    ],
    [
      "unknown field",
      () => ["serve", "x", "--bearer-tokens", file({ [SECRET]: { subject: "s", clientId: "c", admin: true } })],
      /admin is unknown/,
    ],
  ];
  it.each(cases)("%s", async (_what, argv, line) => {
    const { code, err, out } = await parley(...argv());
    expect(err).toHaveLength(1);
    expect(err[0]).toMatch(/^parley: .+: .+$/);
    expect(err[0]).toMatch(line);
    expect(code).toBe(EXIT.usage);
    expect(out).toEqual([]);
    // What was typed or read may be a secret and is not repeated.
    expect(err[0]).not.toContain(SECRET);
  });

  it("with --json the error is one object on standard output as well", async () => {
    const { code, out } = await parley("call", URL_, "t", "--json", "--args", "1");
    expect(code).toBe(EXIT.usage);
    expect(JSON.parse(out.join(""))).toEqual({
      error: { code: "usage", message: "--args is not a JSON object" },
      rounds: [],
    });
  });

  it("--help and --version are no errors", async () => {
    expect((await parley("call", "--help")).code).toBe(EXIT.complete);
    expect(printed.out.join("\n")).toContain("3  refused");
    expect((await parley("--version")).out.at(-1)).toMatch(/^\d+\.\d+\.\d+$/);
    expect(printed.err).toEqual([]);
  });

  it("a key in PARLEY_KEYS that is none is named by position (B44)", async () => {
    const before = process.env["PARLEY_KEYS"];
    process.env["PARLEY_KEYS"] = SECRET;
    try {
      const { code, err } = await parley("serve", join(cwd, "mixed.mjs"));
      expect(code).toBe(EXIT.usage);
      expect(err).toHaveLength(1);
      expect(err[0]).toMatch(/Key 1 of PARLEY_KEYS/);
      expect(err[0]).not.toContain(SECRET);
    } finally {
      if (before === undefined) delete process.env["PARLEY_KEYS"];
      else process.env["PARLEY_KEYS"] = before;
    }
  });
});
