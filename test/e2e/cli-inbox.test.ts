/** `parley inbox` as its users run it: flags, servers of both kinds, policy and model. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DecisionRequest } from "../../src/inbox/api.ts";
import { FIXTURES, file, MAIN, YES as ok, parley, running, serving } from "../helpers/cli.ts";
import { completion, modelServer } from "../helpers/model-server.ts";
import { Browser, over } from "./inbox-browser.ts";
import { type HandServer, handServer } from "./inbox-server.ts";

const YES = ok as DecisionRequest;
const yes = { action: "accept", content: { yes: true } } as const;

async function start(): Promise<HandServer> {
  const server = await handServer();
  onTestFinished(() => server.close());
  return server;
}

describe("parley inbox", () => {
  it("names the flag that is wrong, and starts nothing", async () => {
    const server = await start();
    const ok = ["--server", `desk=${server.url}`];
    for (const [args, what] of [
      [[], "--server is missing"],
      [["--server", server.url], "--server"],
      [[...ok, ...ok], "given twice"],
      [[...ok, "--header", "other=A: b"], '"other"'],
      [[...ok, "--header", "secret-value"], "--header number 1"],
      [[...ok, "--start", "confirm"], "--start"],
      [[...ok, "--start", "other:confirm"], "--start"],
      [[...ok, "--args", "{}"], "--args"],
      [[...ok, "--start", "desk:confirm", "--args", "{"], "--args"],
      [[...ok, "--port", "70000"], "--port"],
      [[...ok, "--roots", "/no/such/folder"], "--roots /no/such/folder"],
      [[...ok, "--model", "m"], "--model-url"],
      [[...ok, "--model-url", "http://127.0.0.1:1/v1"], "--model"],
      [[...ok, "--policy", "/no/such/policy.json"], "policy"],
      [[...ok, "--host", "0.0.0.0"], "0.0.0.0"],
      [[...ok, "--store", "/no/such/folder/file"], "--store"],
    ] as const) {
      const { code, out, err } = await parley(["inbox", ...args]);
      expect([code, out], err).toEqual([2, ""]);
      expect(err).toContain(what);
      expect(err).not.toContain("secret-value");
    }
    expect(server.legs).toHaveLength(0);
  });

  it("a command that ends at once is named, with how it ended, in the list of servers and as the end of its call", async () => {
    const inbox = await running(["inbox", "--server", `files=${process.execPath} -e "process.exit(7)"`]);
    onTestFinished(async () => void (await inbox.stop("SIGKILL")));
    const page = await Browser.open(inbox.url);
    const why = expect.stringMatching(/The command "node" ended before it answered \(exit code 7\)/);
    const { id } = await page.start("files", "read");
    expect(await page.until(id, over)).toMatchObject({ state: "failed", problem: why });
    expect((await page.inbox()).servers[0]).toMatchObject({ status: "unreachable", problem: why });
  });

  it("asks the policy of a file first, under the name given here, and uses a model by flag", async () => {
    const server = await start();
    const models = await modelServer(() => completion({ content: "seven" }));
    onTestFinished(() => models.close());
    const when = '"when":{"server":"desk","tool":"confirm","key":"ok"}';
    const policy = file(`{"version":1,"rules":[{"name":"go ahead",${when},"then":${JSON.stringify(yes)}}]}`);
    const model = ["--model-url", models.url, "--model", "tiny"];
    const inbox = await running(["inbox", "--server", `desk=${server.url}`, "--policy", policy, ...model]);
    onTestFinished(async () => void (await inbox.stop("SIGKILL")));
    const page = await Browser.open(inbox.url);
    const confirm = await page.start("desk", "confirm");
    const decided = (await page.until(confirm.id, over)).history.find(({ type }) => type === "decided");
    expect(decided).toMatchObject({ action: "accept", by: { type: "policy", rule: "go ahead" } });
    const sum = await page.asked("desk", "sum");
    const stage = sum.questions[0]?.sampling;
    if (stage?.stage !== "request") throw new Error("no request to review");
    expect(models.requests, "nothing is run unasked").toHaveLength(0);
    await page.decide(sum, { action: "run", params: stage.params });
    const ready = await page.until(sum.id, ({ questions }) => questions[0]?.sampling?.stage === "response");
    const answer = ready.questions[0]?.sampling;
    if (answer?.stage !== "response") throw new Error("no response to review");
    await page.decide(ready, { action: "send", result: answer.result });
    expect((await page.until(sum.id, over)).result?.text.text).toContain("seven");
  });

  it("prints a link that works once, and another one for Enter", async () => {
    const server = await start();
    const child = spawn(process.execPath, [MAIN, "inbox", "--server", `desk=${server.url}`], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const [first, second] = [await lines.next(), child.stdin.write("\n") && (await lines.next())];
    const links = [first, second].map((line) => String((line as { value: string }).value).replace("Inbox: ", ""));
    expect(new Set(links).size).toBe(2);
    for (const link of links) expect((await (await Browser.open(link)).inbox()).total).toBe(0);
    const closed = once(child, "close");
    child.kill("SIGTERM");
    expect((await closed)[0]).toBe(0);
  });

  it("the model's key is not given to a server that is a command", async () => {
    const server = await start();
    const script = file(
      'process.stderr.write("key: " + process.env.PARLEY_MODEL_KEY + ", " + process.env.MARK);',
      "mjs",
    );
    const args = ["inbox", "--server", `desk=${server.url}`, "--server", `local=node ${script}`];
    const inbox = await running(args, { PARLEY_MODEL_KEY: "sk-hush", MARK: "here" });
    onTestFinished(async () => void (await inbox.stop("SIGKILL")));
    const page = await Browser.open(inbox.url);
    const { id } = await page.start("local", "confirm");
    expect((await page.until(id, over)).state).toBe("failed");
    expect(inbox.err()).toContain("key: undefined, here");
  });

  it("asks a server that is a command, and one that wants a header", async () => {
    const flows = join(FIXTURES, "flows.mjs");
    const tokens = file({ "a-token": { subject: "ada", clientId: "cli", scopes: [] } });
    const http = await serving("flows.mjs", ["--bearer-tokens", tokens]);
    onTestFinished(async () => void (await http.stop("SIGKILL")));
    const inbox = await running([
      ...["inbox", "--server", `local="${process.execPath}" ${MAIN} serve "${flows}" --stdio`],
      ...["--server", `desk=${http.url}`, "--header", "desk=Authorization: Bearer a-token"],
    ]);
    onTestFinished(async () => void (await inbox.stop("SIGKILL")));
    expect(inbox.err(), "without a store it says so").toContain("--store");
    const page = await Browser.open(inbox.url);
    for (const server of ["local", "desk"]) {
      const call = await page.asked(server, "deploy");
      await page.decide(call, YES, 0);
      await page.decide(call, { action: "accept", content: { word: "now" } }, 1);
      const next = await page.until(call.id, ({ round, state }) => round === 2 && state === "waiting");
      await page.decide(next, YES);
      const done = await page.until(call.id, over);
      expect(done.result?.text.text).toContain(server === "desk" ? "for ada" : "for anybody");
    }
    expect(await inbox.stop("SIGINT")).toBe(0);
  });
});
