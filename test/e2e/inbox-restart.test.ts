/** B30, B33: calls outlast the process that asked, and the server's; several processes share one file. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { createInbox } from "../../src/inbox/inbox.ts";
import { sqlitePending } from "../../src/pending/sqlite.ts";
import { parley, running } from "../helpers/cli.ts";
import { connect } from "../helpers/http.ts";
import { Browser, over } from "./inbox-browser.ts";
import { type HandServer, handServer, STATE } from "./inbox-server.ts";
import { world } from "./inbox-world.ts";

const folder = mkdtempSync(join(tmpdir(), "parley-inbox-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${files++}.sqlite`);
const yes = { action: "accept", content: { yes: true } } as const;
const answersOf = ({ legs }: HandServer) => legs.map(({ params }) => params["inputResponses"]);

async function start(port = 0): Promise<HandServer> {
  const server = await handServer(port);
  onTestFinished(() => server.close());
  return server;
}

async function inboxCommand(path: string, url: string, ...args: string[]) {
  const inbox = await running(["inbox", "--server", `desk=${url}`, "--store", path, ...args]);
  onTestFinished(async () => void (await inbox.stop("SIGKILL")));
  return { ...inbox, page: await Browser.open(inbox.url) };
}

describe("an inbox that ends", () => {
  it("killed between question and answer, with the server restarted too: the call goes on and completes", async () => {
    const path = newFile();
    const server = await start();
    const first = await inboxCommand(path, server.url, "--start", "desk:confirm", "--args", '{"what":"lamp"}');
    await expect.poll(async () => (await first.page.inbox()).waiting).toBe(1);
    await first.stop("SIGKILL");
    const port = Number(new URL(server.url).port);
    await server.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);

    const restarted = await start(port);
    const second = await inboxCommand(path, restarted.url);
    const [item] = (await second.page.inbox()).calls;
    const call = await second.page.until(item?.id ?? "", ({ state }) => state === "waiting");
    expect(call.arguments?.text).toContain("lamp");
    await second.page.decide(call, yes);
    expect((await second.page.until(call.id, over)).state).toBe("complete");
    expect(restarted.legs.map(({ params }) => [params["inputResponses"], params["requestState"]])).toEqual([
      [{ ok: yes }, `${STATE}:1`],
    ]);
    expect(await second.stop("SIGTERM"), "a clean end").toBe(0);
  });

  it("SIGTERM keeps calls, and sends nothing for them", async () => {
    const path = newFile();
    const server = await start();
    const first = await inboxCommand(path, server.url, "--start", "desk:two");
    await expect.poll(async () => (await first.page.inbox()).waiting).toBe(1);
    const started = performance.now();
    expect(await first.stop("SIGTERM")).toBe(0);
    expect(performance.now() - started, "nothing was on its way").toBeLessThan(2500);
    expect(answersOf(server)).toEqual([undefined]);
    const second = await inboxCommand(path, server.url);
    expect((await second.page.inbox()).waiting).toBe(1);
  });

  it("a file sealed with other keys is told of at the start, not call by call", async () => {
    const path = newFile();
    const server = await start();
    const first = await inboxCommand(path, server.url, "--start", "desk:confirm");
    await expect.poll(async () => (await first.page.inbox()).waiting).toBe(1);
    await first.stop("SIGTERM");
    const other = Buffer.from(Array.from({ length: 32 }, (_, at) => at + 9)).toString("base64url");
    const { code, err } = await parley(["inbox", "--server", `desk=${server.url}`, "--store", path], {
      PARLEY_KEYS: other,
    });
    expect([code, err]).toEqual([2, expect.stringContaining("PARLEY_KEYS")]);
  });

  /** A process with a short lease; the id of the call it started. */
  async function child(path: string, url: string, target?: string): Promise<{ process: ChildProcess; id: string }> {
    const args = [path, url, ...(target === undefined ? [] : [target])];
    const process = fork("test/fixtures/inbox-process.mjs", args, { stdio: ["ignore", "pipe", "inherit", "ipc"] });
    onTestFinished(() => void process.kill("SIGKILL"));
    if (target === undefined) return { process, id: "" };
    const lines = createInterface({ input: process.stdout as NodeJS.ReadableStream });
    const [id] = (await once(lines, "line")) as [string];
    return { process, id };
  }
  const kill = async (process: ChildProcess) => {
    const gone = once(process, "exit");
    process.kill("SIGKILL");
    await gone;
  };

  it("killed with the answers on their way: another process takes over when the lease is over, and sends them again", async () => {
    const path = newFile();
    const server = await start();
    const { process, id } = await child(path, server.url, "confirm");
    const store = sqlitePending({ path });
    await expect.poll(async () => (await store.get(id))?.state).toBe("waiting");
    let release = () => {};
    server.knobs.hold = new Promise<void>((resolve) => {
      release = resolve;
    });
    process.send({ call: id, question: "r1-0", decision: yes });
    await expect.poll(() => server.legs.length).toBe(2);
    await kill(process);
    release();
    const { browser } = await world({ server, store });
    const done = await (await browser()).until(id, over);
    expect(done.state).toBe("complete");
    expect(done.history.map(({ type }) => type)).toEqual([
      "started",
      "asked",
      "decided",
      "sent",
      "resumed",
      "sent",
      "ended",
    ]);
    expect(answersOf(server), "the same answers, decided once").toEqual([undefined, { ok: yes }, { ok: yes }]);
    await store.close();
  });

  it("killed with the first request on its way: the call is failed and not sent again by itself", async () => {
    const path = newFile();
    const server = await start();
    server.knobs.hold = new Promise(() => {});
    const { process, id } = await child(path, server.url, "confirm");
    await expect.poll(() => server.legs.length).toBe(1);
    await kill(process);
    const store = sqlitePending({ path });
    const { browser } = await world({ server, store });
    const ended = await (await browser()).until(id, over);
    expect(ended).toMatchObject({ state: "failed", problem: expect.stringContaining("may have reached the server") });
    expect(server.legs).toHaveLength(1);
    await store.close();
  });

  it("another process answers, even one that cannot reach the server: whoever can carries the call on", async () => {
    const path = newFile();
    const server = await start();
    const { id } = await child(path, server.url, "confirm");
    const store = sqlitePending({ path });
    await expect.poll(async () => (await store.get(id))?.state).toBe("waiting");
    const elsewhere = createInbox({ store, servers: { other: { connect: () => connect(server.url) } }, pollMs: 20 });
    const told: string[] = [];
    elsewhere.subscribe((event) => void (event.type === "call" && told.push(event.id)));
    expect((await elsewhere.decide(id, "r1-0", yes)).state).toBe("sending");
    await expect.poll(async () => (await elsewhere.call(id)).state, { timeout: 10_000 }).toBe("complete");
    await expect.poll(() => told.length, { message: "it hears of what the other did" }).toBeGreaterThan(1);
    await expect(elsewhere.decide(id, "r1-0", { action: "decline" })).rejects.toMatchObject({
      code: "already_decided",
    });
    expect(answersOf(server)).toEqual([undefined, { ok: yes }]);
    await elsewhere.close();
    await store.close();
  });
});
