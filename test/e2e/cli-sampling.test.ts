/** `parley call --model-url`: a person at a real terminal, a server on real HTTP, and a model that is one too. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { MAIN, parley, type Serving, serving } from "../helpers/cli.ts";
import {
  completion,
  type ModelReply,
  type ModelRequest,
  type ModelServer,
  modelServer,
  refusal,
} from "../helpers/model-server.ts";
import {
  CTRL_C,
  canHaveTerminal,
  ENTER,
  ESC,
  onTerminal,
  rawOn,
  readable,
  type Step,
  UP,
} from "../helpers/terminal.ts";

const KEY = "sk-only-in-the-environment";
/** From "Dismiss", where the highlight stands, to "Yes". */
const YES = [UP, UP, UP, ENTER];

let server: Serving;
let model: ModelServer;
beforeAll(async () => {
  server = await serving("sampling.mjs");
});
afterAll(() => server.stop());
afterEach(() => model.close());

async function modelSays(reply: (request: ModelRequest, count: number) => ModelReply): Promise<void> {
  model = await modelServer(reply);
}
const args = (tool: string) => ["call", server.url, tool, "--model-url", model.url, "--model", "mine"];
const play = (tool: string, steps: Step[]) =>
  onTerminal(steps, [process.execPath, MAIN, ...args(tool)], { env: { PARLEY_MODEL_KEY: KEY } });

describe.skipIf(!canHaveTerminal)("F13/S1: at a terminal", () => {
  test("a person approves the request and the answer; the key goes to the model and nowhere else", async () => {
    await modelSays(() => completion({ content: "Short\u001b]0;owned\u0007." }));
    const { screen, status, missed } = await play("summary", [
      ["Give this to your model?", YES],
      ["Send this answer to the server?", YES],
    ]);
    expect({ status, missed }).toEqual({ status: 0, missed: null });
    const read = readable(screen);
    for (const part of [
      "┃ Be brief.",
      "┃ Sum up: a⟨U+001B⟩[2Jb",
      "at most 40 tokens",
      "Short⟨U+001B⟩]0;owned⟨U+0007⟩.",
    ]) {
      expect(read).toContain(part);
    }
    expect(rawOn(screen)).toEqual([]);
    expect(read).toContain("served-model: Short");
    expect(screen).not.toContain(KEY);
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(model.requests[0]?.body).toMatchObject({ model: "mine", max_tokens: 40 });
  });

  test("a tool loop over two rounds: the server's tool, by its own name", async () => {
    await modelSays(({ body }, count) =>
      count === 1
        ? completion(
            {
              content: null,
              tool_calls: [
                { id: "c1", type: "function", function: { name: "notes_read", arguments: '{"day":"monday"}' } },
              ],
            },
            { finish: "tool_calls" },
          )
        : completion({ content: String(body.messages.at(-1)?.content) }),
    );
    const { screen, status } = await play("loop", [
      ["Give this to your model?", YES],
      // A use of tools is no text to rewrite: one way less to pass.
      ["Send this answer to the server?", [UP, UP, ENTER]],
      ["Give this to your model?", YES],
      ["Send this answer to the server?", YES],
    ]);
    expect(status).toBe(0);
    expect(readable(screen)).toContain("Rain on monday");
    expect(model.requests.map(({ body }) => body["tool_choice"])).toEqual(["required", "none"]);
    expect(model.requests[1]?.body.messages.at(-1)).toEqual({
      role: "tool",
      tool_call_id: "c1",
      content: "Rain on monday",
    });
  });

  test.each<[string, Step[], number, RegExp]>([
    ["refusing the request", [["Give this", [UP, ENTER]]], 0, /declined: you refused it/],
    ["leaving the request", [["Give this", [ESC]]], 0, /cancelled: call again/],
    [
      "refusing the answer",
      [
        ["Give this", YES],
        ["Send this answer", [UP, ENTER]],
      ],
      1,
      /declined: you refused it/,
    ],
    ["Ctrl-C", [["Give this", [CTRL_C]]], 0, /was interrupted/],
  ])("F21: %s ends the call with 3, and the server hears nothing", async (_name, steps, asked, line) => {
    await modelSays(() => completion({ content: "x" }));
    const { screen, status } = await play("summary", steps);
    expect(status).toBe(3);
    expect(readable(screen).trimEnd().split("\n").at(-1)).toMatch(line);
    expect(model.requests).toHaveLength(asked);
  });

  test("F14: what asks too much is not even shown; what the model refuses is said without the key", async () => {
    await modelSays(() => refusal(401, `no such key: ${KEY}`));
    const greedy = await play("greedy", []);
    expect(greedy.status).toBe(3);
    expect(readable(greedy.screen)).toMatch(/^parley: .+8192 tokens in one request.+raise maxTokensPerRequest/);
    expect(model.requests).toEqual([]);

    const refused = await play("summary", [["Give this to your model?", YES]]);
    expect(refused.status).toBe(3);
    expect(readable(refused.screen)).toMatch(
      /HTTP 401: it does not accept the key.*: check --model-url, --model and PARLEY_MODEL_KEY/,
    );
    expect(refused.screen).not.toContain(KEY);
  });
});

test("B30: without a terminal sampling is not declared, and no model is asked", async () => {
  await modelSays(() => completion({ content: "x" }));
  const { code, err } = await parley(args("summary"), { PARLEY_MODEL_KEY: KEY });
  expect(code).toBe(3);
  expect(err).toMatch(/needs to ask \(sampling\), and nothing here can answer/);
  expect(model.requests).toEqual([]);
});

test("the help names both flags and the variable", async () => {
  await modelSays(() => ({}));
  const { out } = await parley(["call", "--help"]);
  for (const text of ["--model-url <url>", "--model <name>", "PARLEY_MODEL_KEY"]) expect(out).toContain(text);
});
